"""Residents inside a plan file: positions, people, names and areas, compressed."""

import base64
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from pyproj import CRS
from pyproj.exceptions import CRSError

from tkm_core.residents import OWN, Residents, from_wkb

MOST_CARRIED = 300_000  # residents; with more, the plan file would be too large to be opened again
LARGEST_PART = 60_000_000  # bytes of one part when unpacked
TEXTS = ("ids", "groups", "places")
KINDS = {
    str(kind): kind for kind in (pa.string(), pa.int64(), pa.float64(), pa.bool_())
}  # types of own columns
MOST_COLUMNS = 300
POLYGONS = (3, 6)


def packed(residents: Residents) -> dict[str, Any]:
    """Residents as plain types for JSON.

    Raises
    ------
    ValueError
        If there are too many.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], [3, 4], ids=["Centre", "Gare"])
    >>> unpacked("town", packed(town)).ids.tolist()
    ['Centre', 'Gare']
    """
    if len(residents) > MOST_CARRIED:
        msg = (
            f"A plan file carries at most {MOST_CARRIED:,} residents, and there are {len(residents):,}: save it "
            "without them and keep their file beside it."
        )
        raise ValueError(msg)
    parts: dict[str, Any] = {
        "count": len(residents),
        "source_epsg": None if residents.source_crs is None else residents.source_crs.to_epsg(),
        "lonlat": _squeezed(np.ascontiguousarray(residents.lonlat, "<f8").tobytes()),
        "weights": _squeezed(np.ascontiguousarray(residents.weights, "<f8").tobytes()),
    }
    for name in TEXTS:
        labels = getattr(residents, name)
        if labels is not None:
            text = pa.array([None if label is None else str(label) for label in labels], pa.string())
            parts[name] = _squeezed(_as_stream(text))
    if "areas" in residents.labels:
        shapes = [None if shape is None else bytes(shape) for shape in _listed(residents.labels["areas"])]
        parts["areas"] = _squeezed(_as_stream(pa.array(shapes, pa.binary())))
    parts["columns"] = [
        {"name": name, "kind": str(values.type), "values": _squeezed(_as_stream(values))}
        for name, values in residents.attributes.items()
    ]
    return parts


def unpacked(name: str, parts: Any) -> Residents:
    """Residents from the output of `packed`; anything inconsistent is a ValueError."""
    count = parts["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MOST_CARRIED:
        msg = "the number of residents in it is wrong"
        raise ValueError(msg)
    lonlat = np.frombuffer(_opened(parts["lonlat"]), "<f8").reshape(count, 2).astype(np.float64)
    weights = np.frombuffer(_opened(parts["weights"]), "<f8").reshape(count).astype(np.float64)
    texts = {key: _from_stream(parts[key], pa.string(), count) for key in TEXTS if key in parts}
    areas = _outlines(_from_stream(parts["areas"], pa.binary(), count)) if "areas" in parts else None
    code = parts.get("source_epsg")
    try:
        source = CRS.from_epsg(code) if isinstance(code, int) else None
    except CRSError:
        source = None
    own = _own_columns(parts.get("columns", []), count)
    return Residents.from_lonlat(
        lonlat, weights, name=name, source_crs=source, areas=areas, own=own, keep_suspect=True, **texts
    )


def _outlines(stored: pa.Array) -> pa.Array:
    """The areas that are polygons; others are left out, also those nested so deeply that reading them would not end."""
    shapes = from_wkb(stored.to_pylist())
    kept = np.isin(shapely.get_type_id(shapes), POLYGONS)
    return pa.array(
        [value if fits else None for value, fits in zip(stored.to_pylist(), kept, strict=True)], pa.binary()
    )


def _own_columns(stored: Any, count: int) -> dict[str, pa.Array]:
    """The columns of the residents' file, each of its stated type."""
    if not isinstance(stored, list) or len(stored) > MOST_COLUMNS:
        msg = "the columns in it cannot be read"
        raise ValueError(msg)
    own = {}
    for column in stored:
        name, kind = column["name"], KINDS.get(str(column["kind"]))
        if not isinstance(name, str) or kind is None:
            msg = "the columns in it cannot be read"
            raise ValueError(msg)
        own[OWN + name[:200]] = _from_stream(column["values"], kind, count)
    return own


def _listed(values: Any) -> list[Any]:
    """An Arrow or other array as a list."""
    return values.to_pylist() if isinstance(values, pa.Array) else list(values)


def _squeezed(content: bytes) -> str:
    """Compressed bytes as text."""
    return base64.b85encode(zlib.compress(content, 9)).decode("ascii")


def _opened(text: Any) -> bytes:
    """The unpacked content of a part, limited in size."""
    opener = zlib.decompressobj()
    try:
        content = opener.decompress(base64.b85decode(text), LARGEST_PART)
    except (zlib.error, TypeError, AttributeError) as problem:
        msg = "the residents in it cannot be unpacked"
        raise ValueError(msg) from problem
    if opener.unconsumed_tail or not opener.eof:
        msg = "the residents in it are too large or cut off"
        raise ValueError(msg)
    return content


def _as_stream(values: pa.Array) -> bytes:
    """A column in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["value"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _from_stream(text: Any, kind: pa.DataType, count: int) -> pa.Array:
    """A column from Arrow's stream format, validated so that its offsets lie within its own memory."""
    try:
        table = pa.ipc.open_stream(_opened(text)).read_all()
        table.validate(full=True)
        values = table.column(0).combine_chunks()
    except (pa.ArrowException, OSError) as problem:
        msg = "the names in it cannot be read"
        raise ValueError(msg) from problem
    if values.type != kind or len(values) != count:
        msg = "the names in it do not fit the residents"
        raise ValueError(msg)
    return values
