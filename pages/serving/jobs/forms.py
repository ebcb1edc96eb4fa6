"""How each kind of result of a reader becomes plain data, and is checked and made anew in the server."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import shapely
from pyproj import CRS

from pages.serving.jobs.answers import Packed, require
from pages.serving.jobs.shapes import packed_shapes, plain, unpacked_shapes
from tkm_core.residents import OWN, Report, Residents, Zones, local_crs, survey

if TYPE_CHECKING:
    from tkm_core.export import PlanFile
    from tkm_core.sites import TravelTable
    from tkm_core.streets import Streets

F = TypeVar("F", bound=Callable[..., Any])
NAMES = ("ids", "groups", "places")
TEXTS = (pa.string(), pa.large_string())
COLUMNS = (*TEXTS, pa.int64(), pa.float64(), pa.bool_())
LONGEST_CELL, MOST_UNUSED = 1_000, 1_000
NETWORK = {
    "lonlat": np.float64,
    "start": np.int32,
    "end": np.int32,
    "metres": np.float64,
    "forward": np.float64,
    "backward": np.float64,
    "classes": np.int16,
    "shape": np.float64,
    "shape_starts": np.int64,
}
AREAS = {"lonlat": np.float32, "starts": np.int64, "polygon": np.int64, "kinds": np.int16}
PLACES = ("fixed_lonlat", "facilities_lonlat", "baseline")
PAIRS = ("lonlat", "shape")  # arrays of two columns


@dataclass(frozen=True)
class Form:
    """One kind of result: how a reader packs it, and how the server makes it anew."""

    pack: Callable[[Any], Packed]
    unpack: Callable[[Packed], Any]


def returns(form: Form) -> Callable[[F], F]:
    """Say which form the result of a function has when it comes from a reader."""

    def mark(function: F) -> F:
        function.form = form  # type: ignore[attr-defined]
        return function

    return mark


def form_of(function: Callable[..., Any]) -> Form:
    """The form of a function's result; by default it is a plain value."""
    return getattr(function, "form", PLAIN)


def fields_of(kind: type, value: Any, *without: str) -> dict[str, Any]:
    """The fields of a dataclass from plain data, each of its type.

    Examples
    --------
    >>> from tkm_core.residents import Dropped
    >>> fields_of(Dropped, {"reason": "no place", "count": 1, "examples": [[2, "x"]], "code": ""})["examples"]
    ((2, 'x'),)
    """
    return dict(_checker(kind, without).model_validate(value))


@cache
def _checker(kind: type, without: tuple[str, ...]) -> Any:
    from pydantic import ConfigDict, create_model  # readers do not need it, and it takes a while

    hints = get_type_hints(kind)
    parts: dict[str, Any] = {
        part.name: (hints[part.name], ...) for part in fields(kind) if part.name not in without
    }
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **parts)


# residents


def packed_residents(found: Residents) -> Packed:
    """Residents with their names, areas, own columns and report.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], [3, 4], ids=["Centre", "Gare"])
    >>> back = unpacked_residents(packed_residents(town))
    >>> back.fingerprint == town.fingerprint, back.ids.tolist(), back.crs == town.crs
    (True, ['Centre', 'Gare'], True)
    """
    arrays = {"lonlat": _flat(found.lonlat), "weights": _flat(found.weights)}
    labels = {name: _text(found.labels[name]) for name in NAMES if name in found.labels}
    labels |= {OWN + name: values for name, values in found.attributes.items()}
    if found.areas is not None:
        arrays |= packed_shapes(found.areas, "area ")
    about = {
        "name": found.name,
        "source_crs": None if found.source_crs is None else json.loads(found.source_crs.to_json()),
        "report": packed_report(found.report),
    }
    return Packed(about, {**arrays, **{"label " + name: values for name, values in labels.items()}})


def unpacked_residents(packed: Packed) -> Residents:
    """Residents from the output of `packed_residents`."""
    about, arrays = packed.about, packed.arrays
    weights = plain(arrays, "weights", np.float64)
    count = len(weights)
    lonlat = plain(arrays, "lonlat", np.float64).reshape(-1, 2)
    require(len(lonlat) == count > 0 and bool((weights >= 0).all()) and bool(weights.any()), "nobody")
    require(bool((np.abs(lonlat) <= (180, 90)).all()), "residents who are not on earth")
    labels: dict[str, Any] = {}
    for name, values in arrays.items():
        if name.startswith("label "):
            kind = name.removeprefix("label ")
            require(kind in NAMES or kind.startswith(OWN), "an unknown label")
            require(values.type in (TEXTS if kind in NAMES else COLUMNS), "a label of another kind")
            require(len(values) == count, "labels that do not fit")
            labels[kind] = values
    if "area points" in arrays:
        shapes = unpacked_shapes(arrays, "area ", count)
        labels["areas"] = pa.array(
            [None if one is None else shapely.to_wkb(one) for one in shapes], pa.binary()
        )
    source = about["source_crs"]
    return Residents(
        str(about["name"]),
        lonlat,
        weights,
        local_crs(survey(lonlat)),
        None if source is None else CRS.from_json_dict(source),
        unpacked_report(about["report"]),
        labels,
    )


def packed_report(report: Report) -> dict[str, Any]:
    """A report as plain types, with the first rows of the file."""
    shown = report.preview
    preview = {
        "columns": [str(name) for name in shown.columns],
        "first": int(shown.index[0]) if len(shown) else 0,
        "cells": [[_cell(value) for value in shown[name]] for name in shown.columns],
    }
    return {**report.to_dict(), "preview": preview}


def unpacked_report(told: Mapping[str, Any]) -> Report:
    """A report from the output of `packed_report`."""
    rest = dict(told)
    shown = rest.pop("preview")
    names, cells, first = shown["columns"], shown["cells"], int(shown["first"])
    require(
        all(isinstance(value, str | None) for column in cells for value in column), "cells that are no text"
    )
    require(
        len(set(names)) == len(names) == len(cells) and len(set(map(len, cells))) <= 1, "rows that do not fit"
    )
    preview = pd.DataFrame(dict(zip(map(str, names), cells, strict=True)), dtype=object)
    preview.index = pd.RangeIndex(first, first + len(preview))
    return Report(**fields_of(Report, rest, "preview"), preview=preview)


# streets


def packed_streets(found: "Streets") -> Packed:
    """Streets with their water and parks, and their report."""
    arrays = {name: _flat(getattr(found.network, name)) for name in NETWORK}
    ground = found.areas
    if ground is not None:
        arrays |= {"area " + name: _flat(getattr(ground, name), kind) for name, kind in AREAS.items()}
    about = {
        "mode": found.mode,
        "name": found.name,
        "pace": found.pace,
        "class_names": found.class_names,
        "report": vars(found.report),
        "areas": None if ground is None else {"origin": ground.origin, "kind_names": ground.kind_names},
    }
    return Packed(about, arrays)


def unpacked_streets(packed: Packed) -> "Streets":
    """Streets from the output of `packed_streets`."""
    from tkm_core.streets import Areas, Network, Streets, StreetsReport, check_areas, check_network

    about, arrays = packed.about, packed.arrays
    network = Network(**{name: _shaped(arrays, name, kind) for name, kind in NETWORK.items()})
    names = tuple(map(str, about["class_names"]))
    check_network(network, len(names))
    ground = None
    if about["areas"] is not None:
        parts = {name: _shaped(arrays, "area " + name, kind) for name, kind in AREAS.items()}
        lon, lat = map(float, about["areas"]["origin"])
        require(abs(lon) <= 180 and abs(lat) <= 90, "areas that are not on earth")
        ground = Areas(**parts, origin=(lon, lat), kind_names=tuple(map(str, about["areas"]["kind_names"])))
        check_areas(ground)
    report = StreetsReport.__new__(StreetsReport)  # whose sentences have been written already
    vars(report).update(fields_of(StreetsReport, about["report"]))
    pace = float(about["pace"])
    require(1e-3 <= pace <= 1e3, "a pace that is none")
    return Streets(
        network, mode=str(about["mode"]), name=str(about["name"]), pace=pace, class_names=names, report=report,
        areas=ground,
    )  # fmt: skip


# zones and travel tables


def packed_zones(found: Zones) -> Packed:
    """Zones with their names."""
    return Packed(
        {"name": found.name, "names": found.names, "count": len(found)}, packed_shapes(found.shapes, "")
    )


def unpacked_zones(packed: Packed) -> Zones:
    """Zones from the output of `packed_zones`."""
    about = packed.about
    shapes = unpacked_shapes(packed.arrays, "", int(about["count"]))
    return Zones(tuple(shapes), tuple(map(str, about["names"])), str(about["name"]))


def packed_table(found: "TravelTable") -> Packed:
    """A travel table; of the names that it does not need, the first."""
    values = np.asarray(found.values)
    about = {"shape": values.shape, "unit": found.unit, "unused": found.unused[:MOST_UNUSED]}
    return Packed(about, {"values": _flat(values)})


def unpacked_table(packed: Packed) -> "TravelTable":
    """A travel table from the output of `packed_table`."""
    from tkm_core.sites import TravelTable

    values = np.array(packed.arrays["values"].to_numpy()).reshape(
        [int(size) for size in packed.about["shape"]]
    )
    require(values.dtype == np.float64 and values.ndim == 2 and bool((values >= 0).all()), "no distances")
    require(packed.about["unit"] in ("m", "min"), "an unknown unit")
    endless = np.isinf(values)
    return TravelTable(
        values,
        packed.about["unit"],
        int(endless.sum()),
        np.flatnonzero(endless.all(axis=1)),
        tuple(map(str, packed.about["unused"])),
    )


# plan files


def packed_plan_file(found: "PlanFile") -> Packed:
    """A plan file with its residents, its rules and its path."""
    arrays = {name: _flat(getattr(found, name)) for name in PLACES}
    arrays |= {"path " + name: _flat(values) for name, values in vars(found.path).items()}
    arrays["reference"] = _flat(found.reference.lonlat)
    home = None
    if found.residents is not None:
        carried = packed_residents(found.residents)
        home = carried.about
        arrays |= {"home " + name: values for name, values in carried.arrays.items()}
    rules = None if found.rules is None else dict(found.rules)
    for side in () if rules is None else SIDES:
        zones = found.rules[side] if found.rules is not None else None
        if rules is not None and zones is not None:
            arrays |= packed_shapes(shapely.from_wkb(zones["shapes"]), side + " ")
            rules[side] = {**zones, "shapes": len(zones["shapes"])}
    about = {
        "plan": {
            **{part.name: getattr(found, part.name) for part in fields(found) if part.name not in APART},
            "shown": None if found.shown is None else vars(found.shown),
            "rules": rules,
        },
        "shape": found.path.centers.shape,
        "reference": {name: value for name, value in vars(found.reference).items() if name != "lonlat"},
        "home": home,
    }
    return Packed(about, arrays)


def unpacked_plan_file(packed: Packed) -> "PlanFile":
    """A plan file from the output of `packed_plan_file`."""
    from tkm_core.clustering import TiltedPath
    from tkm_core.export import PlanFile, check_plan_file
    from tkm_core.planning import Reference

    about, arrays = packed.about, packed.arrays
    told = fields_of(PlanFile, about["plan"], *APART)
    for side in () if told["rules"] is None else SIDES:
        zones = told["rules"][side]
        if zones is not None:
            shapes = unpacked_shapes(arrays, side + " ", int(zones["shapes"]))
            told["rules"][side] = {**zones, "shapes": [shapely.to_wkb(shape, hex=True) for shape in shapes]}
    path = {name.removeprefix("path "): values for name, values in arrays.items() if name.startswith("path ")}
    path = {name: np.array(values.to_numpy()) for name, values in path.items()}
    path["centers"] = path["centers"].reshape([int(size) for size in about["shape"]])
    home = None
    if about["home"] is not None:
        own = {
            name.removeprefix("home "): values for name, values in arrays.items() if name.startswith("home ")
        }
        home = unpacked_residents(Packed(about["home"], own))
    reference = fields_of(Reference, about["reference"], "lonlat")
    found = PlanFile(
        **told,
        **{name: plain(arrays, name, np.float64).reshape(-1, 2) for name in PLACES},
        path=TiltedPath(**path),
        reference=Reference(**reference, lonlat=plain(arrays, "reference", np.float64).reshape(-1, 2)),
        residents=home,
    )
    check_plan_file(found)
    return found


SIDES = ("only_in", "not_in")
APART = (*PLACES, "path", "reference", "residents")


def _flat(values: Any, kind: Any = None) -> pa.Array:
    return pa.array(np.ascontiguousarray(values, dtype=kind).ravel())


def _shaped(arrays: Mapping[str, pa.Array], name: str, kind: Any) -> Any:
    values = plain(arrays, name, kind)
    return values.reshape(-1, 2) if name.removeprefix("area ") in PAIRS else values


def _text(values: Any) -> pa.Array:
    """Labels as text that Arrow can hold, whatever was read from a file."""
    if isinstance(values, pa.Array) and values.type in TEXTS:
        return values
    listed = values.to_pylist() if isinstance(values, pa.Array) else list(values)
    return pa.array([None if one is None else str(one).encode("utf-8", "replace").decode() for one in listed])


def _cell(value: Any) -> str | None:
    return None if value is None else str(value)[:LONGEST_CELL]


def _count(packed: Packed) -> int:
    require(type(packed.about) is int and packed.about >= 0, "no number")
    return int(packed.about)


PLAIN = Form(lambda value: Packed(value, {}), lambda packed: packed.about)
COUNT = Form(PLAIN.pack, _count)
RESIDENTS = Form(packed_residents, unpacked_residents)
STREETS = Form(packed_streets, unpacked_streets)
ZONES = Form(packed_zones, unpacked_zones)
TABLE = Form(packed_table, unpacked_table)
PLAN_FILE = Form(packed_plan_file, unpacked_plan_file)
