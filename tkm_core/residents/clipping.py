"""Clip residents to an area, given as a polygon, a layer of polygons or a file."""

from typing import Any

import numpy as np
import shapely

from tkm_core.arrays import Bools, Floats
from tkm_core.residents import projection
from tkm_core.residents.file_format import Asked
from tkm_core.residents.formats import FORMATS
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.opening import open_source

POLYGONS = (3, 6)


def area_of(within: Any) -> Any:
    """One polygon, or several as one, in degrees.

    Parameters
    ----------
    within : shapely geometry, GeoDataFrame, GeoSeries, or a file of polygons
        Geometries are in degrees, longitude first; layers and files in the reference system they state.

    Examples
    --------
    >>> area_of(shapely.box(1.4, 43.5, 1.5, 43.6)).bounds
    (1.4, 43.5, 1.5, 43.6)
    """
    if isinstance(within, shapely.Geometry):
        shapes = np.array([within], dtype=object)
    elif hasattr(within, "to_crs"):
        table = within if within.crs is None else within.to_crs(projection.WGS84)
        shapes = np.asarray(table.geometry.array, dtype=object)
    else:
        shapes = _from_file(within)
    shapes = shapes[np.isin(shapely.get_type_id(shapes), POLYGONS) & ~shapely.is_empty(shapes)]
    area = shapely.union_all(shapely.make_valid(shapely.force_2d(shapes)))
    west, south, east, north = area.bounds
    if shapely.is_empty(area) or shapely.area(area) == 0:
        msg = "The area to cut out has no polygon in it."
        raise ResidentsError(msg)
    if not (-180 <= west <= east <= 180 and -90 <= south <= north <= 90):
        msg = "The area to cut out is not in degrees. Give its reference system with it (GeoDataFrame, GeoPackage)."
        raise ResidentsError(msg)
    return area


def _from_file(file: Any) -> Any:
    """The geometries of a file of polygons, in degrees."""
    with open_source(file) as source:
        one = FORMATS.get(source.kind)
        table = one.read(source, Asked()) if one is not None and one.is_map else None
        if table is None or table.shapes is None:
            msg = (
                f"“{source.name}” is not a layer of polygons, such as GeoPackage, shapefile, GeoJSON or KML."
            )
            raise ResidentsError(msg)
        shapes, crs = table.shapes(), table.crs
    if crs is not None and not crs.is_geographic:
        shapes = shapely.transform(shapes, lambda xy: projection.transform(xy, crs, projection.WGS84))
    return shapes


def outside(lonlat: Floats, area: Any) -> Bools:
    """Which points lie neither inside an area nor on its edge; False for points without coordinates.

    Examples
    --------
    >>> outside(np.array([[1.45, 43.55], [2.0, 43.55], [np.nan, 0.0]]), shapely.box(1.4, 43.5, 1.5, 43.6)).tolist()
    [False, True, False]
    """
    shapely.prepare(area)
    placed = np.isfinite(lonlat).all(axis=1)
    return np.asarray(placed & ~shapely.intersects_xy(area, lonlat[:, 0], lonlat[:, 1]))
