"""A plan as tables with geometry: facilities, where each resident goes, and service areas."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely
from pyproj import CRS
from pyproj.exceptions import CRSError

from tkm_core.arrays import Floats, Ints
from tkm_core.evaluation import Trips, compare_trips
from tkm_core.export.pieces import Pieces
from tkm_core.planning import Plan, catchments, stands_in

WGS84 = CRS.from_epsg(4326)
TABLES = ("facilities", "allocations", "areas")
# Control characters and lone surrogates: XML forbids them, and they end or garble strings in C.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def table(plan: Plan, i: int, what: str = "facilities", *, crs: str | CRS | None = None) -> gpd.GeoDataFrame:
    """One of the tables of a plan by its name.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    what : {"facilities", "allocations", "areas"}
    crs : str or CRS, optional
        "wgs84" (the default), "source" for the system of the residents' file, or any system PROJ knows
        ("EPSG:2154").

    Returns
    -------
    geopandas.GeoDataFrame

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=200), 3, t=[0, 1])
    >>> table(plan, 1, crs="EPSG:3857").crs.to_epsg()
    3857
    """
    if what not in TABLES:
        msg = f"A plan has the tables {', '.join(TABLES)}, not {what!r}."
        raise ValueError(msg)
    make = {"facilities": facilities, "allocations": allocations, "areas": service_areas}[what]
    return make(plan, i, crs=crs)


def facilities(plan: Plan, i: int, *, crs: str | CRS | None = None) -> gpd.GeoDataFrame:
    """One row for each facility: where it is, whom it serves and how far they travel.

    Existing facilities come last, under the numbers and names of their file. Distances are in metres; where the plan
    uses travel times, columns are in minutes and end in `_min`. `moved_m` is how far the facility is from its
    counterpart in the lowest-average plan, if that is the reference. `stands_in` is the place it stands in, if the
    file names places.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    crs : str or CRS, optional
        As for `table`.

    Returns
    -------
    geopandas.GeoDataFrame
    """
    found, unit = plan.evaluation(i), plan.kind.suffix
    trips = found.trips(plan.residents.weights)
    travelled = np.bincount(trips.facility, trips.people * trips.distance, minlength=len(found.population))
    mean = np.divide(travelled, found.population, out=np.zeros_like(travelled), where=found.population > 0)
    moved = np.linalg.norm(plan.centers_xy(i) - plan.baseline_xy, axis=1).round(3)
    lonlat = plan.centers_lonlat(i)
    where = stands_in(plan, i)
    columns = {
        "facility": plan.numbers.astype(np.int32),
        **_kinds(plan, i),
        "people": _people(found.population),
        f"mean_distance_{unit}": mean.round(3),
        f"max_distance_{unit}": found.max_distance.round(3),
        **({"moved_m": moved} if plan.reference.kind == "average" else {}),
        **({"stands_in": where} if any(where) else {}),
        "t": np.full(len(lonlat), plan.t[i]),
        **_measured_by(plan, len(lonlat)),
    }
    return _placed(columns, lonlat, plan, crs)


def allocations(plan: Plan, i: int, *, crs: str | CRS | None = None) -> gpd.GeoDataFrame:
    """One row for each resident point and facility its people go to: how many, how far it is, and the change.

    Without limits on room, all people of a point go to one facility. `change_m` is how much longer the trip is
    (negative: shorter) than in the reference named by `compared_with`, where it is `reference_distance_m`. `resident`
    is the file's id, or the number of the point; residents from a DataFrame keep its index.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    crs : str or CRS, optional
        As for `table`.

    Returns
    -------
    geopandas.GeoDataFrame
    """
    return _allocated(plan, i, crs)[0].whole()


def _allocated(plan: Plan, i: int, crs: str | CRS | None) -> tuple[Pieces, Ints]:
    """The table `allocations` in pieces, and which resident each of its rows is about."""
    home, unit = plan.residents, plan.kind.suffix
    trips = plan.trips(i)
    usual, people = _usual(trips, plan.reference_trips()), _people(trips.people)

    def make(rows: slice) -> gpd.GeoDataFrame:
        """Some rows of the table."""
        who = trips.resident[rows]
        distance, before = trips.distance[rows].round(3), usual[rows].round(3)
        ids, groups = home.labels_at("ids", who), home.labels_at("groups", who)
        columns: dict[str, Any] = {"resident": (who + 1).astype(np.int32) if ids is None else _text(ids)}
        if groups is not None:
            columns["group"] = _text(groups)
        columns |= {
            "people": people[rows],
            "facility": plan.numbers[trips.facility[rows]].astype(np.int32),
            f"distance_{unit}": distance,
            f"reference_distance_{unit}": before,
            f"change_{unit}": (distance - before).round(3) + 0.0,
            "compared_with": _text([plan.reference.technical]) * len(who),
            **_measured_by(plan, len(who)),
        }
        placed = _placed(columns, home.lonlat[who], plan, crs)
        return placed if home.index is None else placed.set_index(home.index[who])

    return Pieces(len(trips.resident), _system(plan, crs), make, points=True), trips.resident


def _usual(trips: Trips, before: Trips) -> Floats:
    """How far the people of each row went in the reference, on average."""
    found = compare_trips(before, trips)
    many = np.bincount(found.trip, minlength=len(trips.people))
    weights = np.where(many[found.trip] > 1, found.people, 1.0)  # most rows are one group, which may be empty
    return np.bincount(found.trip, weights * found.before) / np.bincount(found.trip, weights)


def layers(
    plan: Plan, i: int, what: str = "all", *, crs: str | CRS | None = None
) -> dict[str, gpd.GeoDataFrame | Pieces]:
    """Prepare the tables of a plan to be written: one by its name, or all; that of residents is made piece by piece.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    what : {"all", "facilities", "allocations", "areas"}
    crs : str or CRS, optional
        As for `table`.

    Returns
    -------
    dict of str to GeoDataFrame or Pieces
        For `write` and `to_bytes`.
    """
    if what == "allocations":
        return {"plan": _allocated(plan, i, crs)[0]}
    if what != "all":
        return {"plan": table(plan, i, what, crs=crs)}
    return {
        "facilities": facilities(plan, i, crs=crs),
        "who_goes_where": _allocated_with_own(plan, i, crs),
        "service_areas": service_areas(plan, i, crs=crs),
        **({"catchments": reached(plan, i, crs=crs)} if plan.rules.travel.has_catchments else {}),
    }


def all_layers(plan: Plan, i: int, *, crs: str | CRS | None = None) -> dict[str, gpd.GeoDataFrame]:
    """Everything about setting i of a plan, as the layers of one GeoPackage.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    crs : str or CRS, optional
        As in `table`.

    Returns
    -------
    dict of str to GeoDataFrame
        "facilities", "who_goes_where" (with the file's own columns, and its areas if it had any) and
        "service_areas"; for plans along streets also "catchments".

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> list(all_layers(make_plan(load_sample("generated", n=200), 3, t=[0, 1]), 1))
    ['facilities', 'who_goes_where', 'service_areas']
    """
    made = layers(plan, i, crs=crs)
    return {name: one.whole() if isinstance(one, Pieces) else one for name, one in made.items()}


def _allocated_with_own(plan: Plan, i: int, crs: str | CRS | None) -> Pieces:
    """The table `allocations` with the file's own columns and areas, in pieces."""
    (ours, who), areas = _allocated(plan, i, crs), plan.residents.areas
    own: dict[str, Any] | None = None

    def make(rows: slice) -> gpd.GeoDataFrame:
        """Some rows of the table."""
        nonlocal own
        where = ours.make(rows)
        if own is None:
            own = _own_columns(plan, where.columns)
        parts = pd.DataFrame(
            {
                name: np.asarray(column, dtype=object if isinstance(column, list) else None)[who[rows]]
                for name, column in own.items()
            },
            index=where.index,
        )
        both = pd.concat([where.drop(columns="geometry"), parts], axis=1)
        where = gpd.GeoDataFrame(both, geometry=where.geometry, crs=where.crs)
        if areas is None:
            return where
        shapes = gpd.GeoSeries(areas[who[rows]], crs=WGS84, index=where.index).to_crs(where.crs)
        return where.set_geometry(shapes.where(shapes.notna(), where.geometry))

    return replace(ours, make=make, points=areas is None)


def reached(plan: Plan, i: int, *, crs: str | CRS | None = None) -> gpd.GeoDataFrame:
    """The areas within 5, 10, 15 and 20 minutes of the nearest facility along the streets, with their people.

    Parameters
    ----------
    plan : Plan
        Along streets.
    i : int
        Setting of the dial.
    crs : str or CRS, optional
        As for `table`.

    Returns
    -------
    geopandas.GeoDataFrame
    """
    found = catchments(plan, i)
    columns = {
        "within_min": [one.minutes for one in found],
        "people": [round(one.people, 3) for one in found],
        "share": [round(one.share, 6) for one in found],
        "streets_km": [round(one.km, 3) for one in found],
        **_measured_by(plan, len(found)),
    }
    frame = gpd.GeoDataFrame(columns, geometry=[one.shape for one in found], crs=WGS84)
    system = _system(plan, crs)
    return frame if system == WGS84 else frame.to_crs(system)


def _own_columns(plan: Plan, ours: Iterable[Any]) -> dict[str, Any]:
    """The columns of the residents' file; if a name is among `ours`, theirs ends in "of the file"."""
    taken = {"fid", "geom", "ogc_fid"} | {str(name).casefold() for name in ours}
    own: dict[str, Any] = {}
    for name, values in plan.residents.attributes.items():
        kept = _text([name])[0] or "column"
        while kept.casefold() in taken:  # databases ignore case
            kept += " of the file"
        taken.add(kept.casefold())
        column = values.to_pandas()
        own[kept] = (
            _text(column) if column.dtype == object or str(column.dtype) == "str" else column.to_numpy()
        )
    return own


def service_areas(plan: Plan, i: int, *, crs: str | CRS | None = None) -> gpd.GeoDataFrame:
    """One polygon for each facility: its service area, with the people who live there.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    crs : str or CRS, optional
        As for `table`.

    Returns
    -------
    geopandas.GeoDataFrame
    """
    areas = plan.service_areas(i)
    places = gpd.GeoSeries(areas, crs=WGS84)
    columns = {
        "facility": plan.numbers.astype(np.int32),
        **_kinds(plan, i),
        "people": _people(plan.evaluation(i).population),
        "area_km2": (places.to_crs(plan.residents.crs).area.to_numpy() / 1e6).round(6),
        **_measured_by(plan, len(places)),
    }
    system = _system(plan, crs)
    if system != WGS84:
        places = places.to_crs(system)
    digits = _digits(system)
    rounded = shapely.transform(places.to_numpy(), lambda corners: corners.round(digits))
    return gpd.GeoDataFrame(columns, geometry=rounded, crs=system)


def _placed(columns: dict[str, Any], lonlat: Floats, plan: Plan, crs: str | CRS | None) -> gpd.GeoDataFrame:
    """A table of points, rounded to a tenth of a millimetre so that every format stores the same."""
    system = _system(plan, crs)
    lonlat = lonlat.round(9)
    points = gpd.GeoSeries.from_xy(lonlat[:, 0], lonlat[:, 1], crs=WGS84)
    columns |= {"lon": lonlat[:, 0], "lat": lonlat[:, 1]}
    if system != WGS84:
        points = points.to_crs(system)
        digits = _digits(system)
        columns |= {"x": points.x.to_numpy().round(digits), "y": points.y.to_numpy().round(digits)}
        points = gpd.GeoSeries.from_xy(columns["x"], columns["y"], crs=system)
    return gpd.GeoDataFrame(columns, geometry=points)


def _measured_by(plan: Plan, rows: int) -> dict[str, Any]:
    """Columns on how trips were measured, with the credit for streets; none for straight lines."""
    travel = plan.rules.travel
    told = {} if plan.rules.straight else {"measured": travel.words, "attribution": travel.attribution}
    return {name: _text([words]) * rows for name, words in told.items() if words}


def _kinds(plan: Plan, i: int) -> dict[str, Any]:
    """Columns with the kind of each facility (new, existing) and its name or that of its site."""
    names = plan.names_at(i)
    named = {"name": _text(name or None for name in names)} if any(names) else {}
    return {"kind": plan.kinds, **named}


def _text(labels: Iterable[Any]) -> list[str | None]:
    """Labels from files as text that every format can store."""
    return [None if pd.isna(label) else UNPRINTABLE.sub("\ufffd", str(label)) for label in labels]


def _people(weights: Floats) -> npt.NDArray[Any]:
    """People as integers if all are whole numbers: 4088, not 4088.0."""
    whole = weights.round()
    return whole.astype(np.int32) if (whole == weights).all() and whole.max() < 2**31 else weights


def _digits(system: CRS) -> int:
    """Decimals for a tenth of a millimetre."""
    return 9 if system.is_geographic else 4


def _system(plan: Plan, crs: str | CRS | None) -> CRS:
    """The reference system asked for."""
    if crs is None or (isinstance(crs, str) and crs.lower() == "wgs84"):
        return WGS84
    if isinstance(crs, str) and crs.lower() == "source":
        return WGS84 if plan.residents.source_crs is None else plan.residents.source_crs
    try:
        return CRS.from_user_input(crs)
    except CRSError:
        msg = f"{crs!r} is not a reference system. Say wgs84, source, or a code like EPSG:2154."
        raise ValueError(msg) from None
