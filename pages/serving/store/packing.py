"""Residents and existing facilities as bytes and back: Parquet, with everything a plan depends on."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyproj import CRS

from pages.serving.store.problems import StoreError
from tkm_core.residents import OWN, Column, Dropped, Existing, Report, Residents

FORMAT = b"evenreach"
LEVEL = 3  # of zstd: five million residents in a second or two
LABELS = {
    "ids": pa.large_string(),
    "groups": pa.large_string(),
    "places": pa.large_string(),
    "areas": pa.large_binary(),
}


def residents_bytes(found: Residents) -> bytes:
    """Residents with their names, areas, own columns, reference systems and report.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], [3, 4], ids=["Centre", "Gare"])
    >>> back = residents_from(residents_bytes(town))
    >>> back.fingerprint == town.fingerprint, back.ids.tolist(), back.crs == town.crs
    (True, ['Centre', 'Gare'], True)
    """
    columns: dict[str, Any] = {
        "lon": found.lonlat[:, 0],
        "lat": found.lonlat[:, 1],
        "people": found.weights,
    }
    for name, kind in LABELS.items():
        if name in found.labels:
            columns[name] = _labels(found.labels[name], kind)
    columns |= {OWN + name: values for name, values in found.attributes.items()}
    about = {
        "kind": "residents",
        "name": found.name,
        "crs": found.crs.to_json(),
        "source_crs": None if found.source_crs is None else found.source_crs.to_json(),
        "report": found.report.to_dict(),
    }
    return _written(columns, about)


def residents_from(content: bytes) -> Residents:
    """Residents as `residents_bytes` wrote them."""
    table, about = _read(content, "residents")
    source = about["source_crs"]
    return Residents(
        str(about["name"]),
        _floats(table, "lon", "lat"),
        _floats(table, "people")[:, 0],
        CRS.from_json(about["crs"]),
        None if source is None else CRS.from_json(source),
        _report(about["report"]),
        {
            name: table.column(name).combine_chunks()
            for name in table.column_names
            if name in LABELS or name.startswith(OWN)
        },
    )


def existing_bytes(found: Existing) -> bytes:
    """Existing facilities with their names.

    Examples
    --------
    >>> clinics = Existing(np.array([[1.44, 43.6]]), ("North",), Report())
    >>> existing_from(existing_bytes(clinics)).fingerprint == clinics.fingerprint
    True
    """
    columns: dict[str, Any] = {"lon": found.lonlat[:, 0], "lat": found.lonlat[:, 1]}
    if found.names:
        columns["name"] = pa.array([_text(name) for name in found.names], pa.large_string())
    about = {"kind": "existing", "pinned": found.pinned, "report": found.report.to_dict()}
    return _written(columns, about)


def existing_from(content: bytes) -> Existing:
    """Existing facilities as `existing_bytes` wrote them."""
    table, about = _read(content, "existing")
    names = table.column("name").to_pylist() if "name" in table.column_names else ()
    return Existing(
        _floats(table, "lon", "lat"), tuple(names), _report(about["report"]), int(about["pinned"])
    )


def _labels(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if pa.types.is_large_binary(kind):
        return pa.array([None if value is None else bytes(value) for value in values], kind)
    return pa.array([None if value is None else _text(value) for value in values], kind)


def _text(value: object) -> str:
    """Text that Arrow can hold, whatever was read from a file."""
    return str(value).encode("utf-8", "replace").decode()


def _written(columns: dict[str, Any], about: dict[str, Any]) -> bytes:
    table = pa.table(columns).replace_schema_metadata({FORMAT: json.dumps(about, default=str)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=LEVEL, use_dictionary=["groups"])
    return bytes(sink.getvalue())


def _read(content: bytes, kind: str) -> tuple[pa.Table, dict[str, Any]]:
    try:
        table = pq.read_table(pa.BufferReader(content))
        about = json.loads(table.schema.metadata[FORMAT])
        table.validate(full=True)
        if about["kind"] == kind:
            return table, about
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as problem:
        msg = "Saved data cannot be read: they were kept by another version of EvenReach, or are damaged."
        raise StoreError(msg) from problem
    msg = f"Saved data are not {kind}."
    raise StoreError(msg)


def _floats(table: pa.Table, *names: str) -> Any:
    columns = [table.column(name).to_numpy().astype(np.float64) for name in names]
    return np.ascontiguousarray(np.column_stack(columns))


def _report(told: dict[str, Any]) -> Report:
    """A report from plain types; what a later version adds is left out."""
    known = {part.name for part in fields(Report)} - {"preview"}
    kept = {name: value for name, value in told.items() if name in known}
    kept["dropped"] = [
        Dropped(**{**drop, "examples": tuple(tuple(one) for one in drop["examples"])})
        for drop in kept.get("dropped", [])
    ]
    kept["columns"] = [
        Column(
            **{**column, "candidate_for": tuple(column["candidate_for"]), "samples": tuple(column["samples"])}
        )
        for column in kept.get("columns", [])
    ]
    return Report(**kept)
