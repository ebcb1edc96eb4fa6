"""Polygons of a map file, simplified and in degrees, kept beside the point that stands for each."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely
from pyproj import CRS

from tkm_core.arrays import Floats, Ints
from tkm_core.residents import projection

MOST_AREAS = 20_000  # more are drawn as points: so many outlines would cover the map
FINENESS = 2_000  # details smaller than 1/2,000 of the extent are left out
FITTING = 0.95  # share of the areas that must contain their point once both are in degrees

Shapes = npt.NDArray[np.object_]


def areas_in_degrees(shapes: Shapes, lonlat: Floats, crs: CRS | None) -> pa.Array | None:
    """Polygons as well-known binary in degrees; null for a geometry that is not a polygon.

    Parameters
    ----------
    shapes : ndarray of shape (n,)
        Geometries as in the file; None where there is none.
    lonlat : ndarray of shape (n, 2)
        The point that stands for each, in degrees.
    crs : CRS or None
        Reference system of `shapes`; None if they are in degrees.

    Returns
    -------
    pyarrow.Array or None
        None if hardly any geometry is a polygon, if there are too many, or if they do not contain their points.

    Examples
    --------
    >>> square = shapely.box(1.0, 43.0, 1.5, 43.5)
    >>> areas_in_degrees(np.array([square], dtype=object), np.array([[1.2, 43.2]]), None).null_count
    0
    """
    areal = np.isin(shapely.get_type_id(shapes), (3, 6)) & ~shapely.is_empty(shapes)
    if len(shapes) > MOST_AREAS or areal.sum() < max(1, len(shapes) / 2):
        return None
    kept = np.where(areal, shapely.force_2d(shapes), None)
    if crs is not None and not crs.is_geographic:
        kept = shapely.transform(kept, lambda xy: projection.transform(xy, crs, projection.WGS84))
    west, south, east, north = shapely.total_bounds(kept)
    if not np.isfinite([west, south, east, north]).all():
        return None
    kept = shapely.simplify(kept, max(east - west, north - south) / FINENESS)
    kept = np.where(shapely.is_valid(kept), kept, shapely.make_valid(kept))
    holds = shapely.dwithin(
        kept[areal], shapely.points(lonlat[areal]), max(east - west, north - south) / FINENESS * 2
    )
    if holds.mean() < FITTING:
        return None
    return pa.array(shapely.to_wkb(kept).tolist(), pa.binary())


def outer_corners(areas: Shapes, to_xy: Callable[[Floats], Floats]) -> tuple[Floats, Ints]:
    """The outer corners of areas in metres, shape (c, 2), and the row of each: no place of an area is farther away.

    Examples
    --------
    >>> xy, row = outer_corners(np.array([None, shapely.box(0, 0, 1, 2)], dtype=object), lambda lonlat: lonlat)
    >>> sorted(map(tuple, xy.tolist())), row.tolist()
    ([(0.0, 0.0), (0.0, 2.0), (1.0, 0.0), (1.0, 2.0)], [1, 1, 1, 1])
    """
    hulls = shapely.convex_hull(areas)
    corners, row = shapely.get_coordinates(hulls, return_index=True)
    first = np.append(True, np.diff(row) != 0)  # a ring ends where it began
    return np.asarray(to_xy(corners[~first])), row[~first].astype(np.int64)
