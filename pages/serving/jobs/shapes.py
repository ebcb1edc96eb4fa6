"""Polygons as arrays of coordinates and back: the server reads no geometry that another process has written."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from pages.serving.jobs.answers import require

POLYGON, MULTI = 3, 6
SMALLEST = 4  # points of a ring, the first of which is also the last


def packed_shapes(shapes: Iterable[Any], prefix: str) -> dict[str, pa.Array]:
    """Polygons as arrays whose names begin with a prefix; whatever else a geometry holds is left out.

    Examples
    --------
    >>> arrays = packed_shapes([shapely.box(0, 0, 1, 1), None, shapely.Point(0, 0)], "zone ")
    >>> [None if shape is None else shape.area for shape in unpacked_shapes(arrays, "zone ", 3)]
    [1.0, None, None]
    """
    whole = np.array([None, *shapes], dtype=object)[1:]  # an array, whatever they are
    parts, owner = shapely.get_parts(whole, return_index=True)
    parts, inner = shapely.get_parts(parts, return_index=True)  # of what a collection holds
    kept = (shapely.get_type_id(parts) == POLYGON) & ~shapely.is_empty(parts)
    parts, owner = shapely.force_2d(parts[kept]), owner[inner][kept]
    rings, polygon = shapely.get_rings(parts, return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    return {
        prefix + "points": pa.array(points.ravel()),
        prefix + "rings": _starts(ring, len(rings)),
        prefix + "polygons": _starts(polygon, len(parts)),
        prefix + "shapes": _starts(owner, len(whole)),
        prefix + "several": pa.array(shapely.get_type_id(whole) == MULTI),
    }


def unpacked_shapes(arrays: Mapping[str, pa.Array], prefix: str, count: int) -> list[Any]:
    """Polygons from the output of `packed_shapes`; None where there is none.

    Raises
    ------
    AnswerError
        If the arrays do not fit together, or are no polygons on earth.
    """
    points = plain(arrays, prefix + "points", np.float64).reshape(-1, 2)
    require(bool((np.abs(points) <= (180, 90)).all()), "a polygon that is not on earth")
    rings = _checked(plain(arrays, prefix + "rings", np.int64), len(points), SMALLEST)
    polygons = _checked(plain(arrays, prefix + "polygons", np.int64), len(rings) - 1, 1)
    owners = _checked(plain(arrays, prefix + "shapes", np.int64), len(polygons) - 1, 0)
    several = arrays[prefix + "several"]
    require(several.type == pa.bool_() and several.null_count == 0, "no truth")
    require(len(several) == len(owners) - 1 == count, "another number of polygons")
    closed = (points[rings[:-1]] == points[rings[1:] - 1]).all()
    require(bool(closed), "a ring that is not closed")
    made = shapely.from_ragged_array(shapely.GeometryType.POLYGON, points, (rings, polygons))
    return [
        None
        if last == first
        else shapely.multipolygons(made[first:last])
        if many or last - first > 1
        else made[first]
        for first, last, many in zip(
            owners[:-1].tolist(), owners[1:].tolist(), several.to_pylist(), strict=True
        )
    ]


def plain(arrays: Mapping[str, pa.Array], name: str, kind: Any) -> Any:
    """One of the arrays, of finite numbers of a kind, that can be written to."""
    found = arrays[name]
    require(found.type == pa.from_numpy_dtype(kind) and found.null_count == 0, f"{name} of another kind")
    values = np.array(found.to_numpy())
    require(bool(np.isfinite(values).all()), f"{name} that is no number")
    return values


def _starts(owner: Any, count: int) -> pa.Array:
    """Where the things of each owner begin, and where the last ones end."""
    return pa.array(np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64))


def _checked(starts: Any, end: int, least: int) -> Any:
    """Starts that follow one another from 0 to an end, at least so far apart."""
    sound = (
        len(starts) > 0 and starts[0] == 0 and starts[-1] == end and bool((np.diff(starts) >= least).all())
    )
    require(sound, "parts that do not fit")
    return starts
