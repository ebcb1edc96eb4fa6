"""Service areas as polygons: the area nearest to each facility, or the area of the residents it serves."""

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats, Ints, Labels
from tkm_core.planning.trade_off import gather
from tkm_core.residents import Residents

MARGIN = 0.05  # how far areas extend beyond the outermost resident, as a share of the city's width
CELLS = 4_000  # the most pieces of ground; more residents are merged into cells


def service_areas(residents: Residents, centers_xy: Floats) -> list[shapely.Geometry]:
    """Divide the city into the areas nearest to each facility, clipped to its outline if residents are areas.

    Parameters
    ----------
    residents : Residents
    centers_xy : ndarray of shape (k, 2)
        Facilities in metres.

    Returns
    -------
    list of shapely.Polygon or shapely.MultiPolygon
        One for each facility, in degrees; empty for a facility at exactly the same place as an earlier one.
        Areas across the antimeridian are split there, as GeoJSON requires.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.50, 43.60]])
    >>> [area.geom_type for area in service_areas(town, town.xy[:2])]
    ['Polygon', 'Polygon']
    """
    ground = shapely.convex_hull(
        shapely.union(residents.hull, shapely.convex_hull(shapely.multipoints(centers_xy)))
    )
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
    # extra points: a line that is straight in metres is curved in degrees
    within = ground if residents.outline is None else residents.outline
    cut = shapely.segmentize(shapely.intersection(cells, within), width / 50)
    for area, facility in zip(_to_degrees(residents, cut), first, strict=True):
        areas[facility] = area
    return areas


def served_areas(residents: Residents, labels: Labels | Ints, k: int) -> list[shapely.Geometry]:
    """Divide the city into the areas that each facility serves: the residents' own ground, merged by facility.

    If residents are areas, these are the ground; otherwise it is what lies nearer to a resident than to any other.
    More than a few thousand residents are merged into cells, each of which goes where most of its people go.

    Parameters
    ----------
    residents : Residents
    labels : ndarray of shape (n,)
        The facility that serves each resident.
    k : int
        Number of facilities.

    Returns
    -------
    list of shapely.Polygon or shapely.MultiPolygon
        One for each facility, in degrees; empty for one that serves nobody.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.50, 43.60]])
    >>> [area.is_empty for area in served_areas(town, np.array([0, 0, 2]), 3)]
    [False, True, False]
    """
    west, south, east, north = residents.hull.bounds
    width = max(east - west, north - south) or 1000.0
    ground = residents.hull.buffer(MARGIN * width)
    if residents.areas is not None:
        known = np.flatnonzero(~shapely.is_missing(residents.areas))
        shapes = shapely.make_valid(shapely.transform(residents.areas[known], residents.lonlat_to_xy))
        owner = np.asarray(labels)[known]
    else:
        shapes, owner = _own_ground(residents, ground, labels, k)
    merged = [
        shapely.union_all(shapes[owner == j]) if (owner == j).any() else shapely.Polygon() for j in range(k)
    ]
    return _to_degrees(residents, shapely.segmentize(np.array(merged, dtype=object), width / 50))


def _own_ground(
    residents: Residents, ground: shapely.Geometry, labels: Labels | Ints, k: int
) -> tuple[npt.NDArray[np.object_], Ints]:
    """A piece of ground for every place where somebody lives, and the facility that serves most people there."""
    peopled = residents.weights > 0
    xy, people, owner = (
        residents.xy[peopled],
        residents.weights[peopled],
        np.asarray(labels, np.int64)[peopled],
    )
    if len(xy) > CELLS:
        cells = gather(xy, people, CELLS)
        cell = np.empty(len(xy), np.int64)
        cell[cells.order] = np.repeat(np.arange(len(cells.xy)), np.diff(cells.start))
        spots = cells.xy
    else:
        spots, cell = np.unique(xy, axis=0, return_inverse=True)
        cell = cell.ravel()
    most = np.bincount(cell * k + owner, people, len(spots) * k).reshape(-1, k).argmax(axis=1)
    if len(spots) == 1:
        return np.array([ground], dtype=object), most
    pieces = shapely.voronoi_polygons(shapely.multipoints(spots), extend_to=ground, ordered=True).geoms
    return np.asarray(shapely.intersection(np.array(list(pieces), dtype=object), ground)), most


def _to_degrees(residents: Residents, areas: npt.NDArray[np.object_]) -> list[shapely.Geometry]:
    """Transform areas to degrees, split at the antimeridian."""
    middle = float(residents.to_lonlat(residents.origin)[0])

    def unrolled(xy: Floats) -> Floats:
        """Degrees without a jump at the antimeridian."""
        lonlat = residents.to_lonlat(xy)
        lonlat[:, 0] = middle + (lonlat[:, 0] - middle + 180) % 360 - 180
        return lonlat

    return [_split(area) for area in shapely.make_valid(shapely.transform(areas, unrolled))]


def _split(area: shapely.Geometry) -> shapely.Geometry:
    """Move the part beyond the antimeridian to the other side."""
    west, _, east, _ = area.bounds
    if area.is_empty or (west >= -180 and east <= 180):
        return area
    pieces = []
    for turn in (-360, 0, 360):
        window = shapely.box(turn - 180, -90, turn + 180, 90)
        shifted = shapely.transform(area.intersection(window), lambda lonlat, turn=turn: lonlat - [turn, 0])
        pieces += [piece for piece in shapely.get_parts(shifted) if piece.geom_type == "Polygon"]
    return shapely.multipolygons(pieces)
