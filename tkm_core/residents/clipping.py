"""Clip residents to an area (a polygon, a layer of polygons or a file), or to some of their rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import shapely

from tkm_core.arrays import Bools, Floats
from tkm_core.residents import projection
from tkm_core.residents.file_format import Asked
from tkm_core.residents.formats import FORMATS
from tkm_core.residents.model import Residents, ResidentsError, filter_labels
from tkm_core.residents.opening import open_source
from tkm_core.residents.report import Dropped

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


def keep_rows(residents: Residents, keep: Bools, reason: str) -> Residents:
    """Residents of some rows only; the report says how many others were left out, and why.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.42, 43.62]], ids=["a", "b", "c"])
    >>> part = keep_rows(town, np.array([True, False, True]), "far from any street")
    >>> part.ids.tolist(), part.report.summary
    (['a', 'c'], '3 rows read, 2 kept, 1 left out (33 %).')
    """
    left = Dropped(reason, int((~keep).sum()))
    report = replace(
        residents.report,
        dropped=[*residents.report.dropped, left],
        notes=[*residents.report.notes],
        warnings=[*residents.report.warnings],
    )
    labels = {kind: filter_labels(part, keep) for kind, part in residents.labels.items()}
    return Residents.build(
        residents.lonlat[keep],
        residents.weights[keep],
        residents.name,
        residents.source_crs,
        report,
        labels,
        None if residents.index is None else residents.index[keep],
        keep_suspect=True,
    )
