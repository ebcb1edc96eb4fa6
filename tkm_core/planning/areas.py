"""Service areas: the ground that is nearest to each facility, as polygons."""

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats
from tkm_core.residents import Residents

MARGIN = 0.05  # of the city's width: how far the areas reach beyond the outermost resident


def service_areas(residents: Residents, hull: shapely.Geometry, centers_xy: Floats) -> list[shapely.Geometry]:
    """Cut the city into the areas nearest to each facility.

    Parameters
    ----------
    residents : Residents
    hull : shapely.Geometry
        Convex hull of the residents, in metres.
    centers_xy : ndarray of shape (k, 2)
        Facilities in metres.

    Returns
    -------
    list of shapely.Polygon or shapely.MultiPolygon
        One for each facility, in degrees; empty for a facility that stands exactly where an earlier one does.
        Areas across the antimeridian are split there, as GeoJSON asks.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.50, 43.60]])
    >>> hull = shapely.multipoints(town.xy).convex_hull
    >>> [area.geom_type for area in service_areas(town, hull, town.xy[:2])]
    ['Polygon', 'Polygon']
    """
    ground = shapely.convex_hull(shapely.union(hull, shapely.convex_hull(shapely.multipoints(centers_xy))))
    west, south, east, north = ground.bounds
    width = max(east - west, north - south) or 1000.0
    ground = ground.buffer(MARGIN * width)
    sites, first = np.unique(centers_xy, axis=0, return_index=True)
    areas: list[shapely.Geometry] = [shapely.Polygon()] * len(centers_xy)
    cells = [ground]
    if len(sites) > 1:
        cells = list(
            shapely.voronoi_polygons(shapely.multipoints(sites), extend_to=ground, ordered=True).geoms
        )
    # straight in metres is not in degrees
    cut = shapely.segmentize(shapely.intersection(cells, ground), width / 50)
    for area, facility in zip(_to_degrees(residents, cut), first, strict=True):
        areas[facility] = area
    return areas


def _to_degrees(residents: Residents, areas: npt.NDArray[np.object_]) -> list[shapely.Geometry]:
    """Carry areas to degrees; where one crosses the antimeridian, split it there."""
    middle = float(residents.to_lonlat(residents.origin)[0])

    def unrolled(xy: Floats) -> Floats:
        lonlat = residents.to_lonlat(xy)
        lonlat[:, 0] = middle + (lonlat[:, 0] - middle + 180) % 360 - 180
        return lonlat

    return [_split(area) for area in shapely.make_valid(shapely.transform(areas, unrolled))]


def _split(area: shapely.Geometry) -> shapely.Geometry:
    """Bring what lies beyond the antimeridian to its other side."""
    west, _, east, _ = area.bounds
    if west >= -180 and east <= 180:
        return area
    pieces = []
    for turn in (-360, 0, 360):
        window = shapely.box(turn - 180, -90, turn + 180, 90)
        shifted = shapely.transform(area.intersection(window), lambda lonlat, turn=turn: lonlat - [turn, 0])
        pieces += [piece for piece in shapely.get_parts(shifted) if piece.geom_type == "Polygon"]
    return shapely.multipolygons(pieces)
