"""Geometry of a map: the fitting view, the grid, the scale bar, and cells of many residents."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats
from tkm_core.residents import Residents, nearby
from tkm_core.units import METRES, nice_step

METRES_PER_DEGREE = 111_320.0
TILE = 512
CELLS_ACROSS = 260
MARGIN = 0.09  # share of the extent added on each side


@dataclass(frozen=True)
class View:
    """The position of the camera; constant for a data set, so that the map never jumps."""

    longitude: float
    latitude: float
    zoom: float
    west: float
    south: float
    east: float
    north: float

    @property
    def metres_wide(self) -> float:
        """Width of the fitted area on the ground."""
        return (self.east - self.west) * METRES_PER_DEGREE * math.cos(math.radians(self.latitude))


def mercator(lonlat: npt.ArrayLike) -> Floats:
    """Web Mercator in units of the world's width, y to the north, shape (..., 2)."""
    points = np.asarray(lonlat, dtype=np.float64)
    lat = np.radians(np.clip(points[..., 1], -85.0, 85.0))
    return np.stack([points[..., 0] / 360, np.log(np.tan(np.pi / 4 + lat / 2)) / (2 * np.pi)], axis=-1)


def from_mercator(xy: npt.ArrayLike) -> Floats:
    """Undo `mercator`."""
    points = np.asarray(xy, dtype=np.float64)
    lat = np.degrees(2 * np.arctan(np.exp(points[..., 1] * 2 * np.pi)) - np.pi / 2)
    return np.stack([points[..., 0] * 360, lat], axis=-1)


def fit(lonlat: npt.ArrayLike, *, width: int = 690, height: int = 600) -> View:
    """The view that shows all points in a picture of the given size.

    Examples
    --------
    >>> view = fit([[1.0, 43.0], [2.0, 44.0]])
    >>> round(view.longitude, 3), round(view.zoom, 1)
    (1.5, 8.0)
    """
    points = mercator(lonlat)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.maximum(high - low, 2e-6) * (1 + 2 * MARGIN)
    zoom = float(min(np.log2(width / TILE / span[0]), np.log2(height / TILE / span[1]), 18.0))
    middle = (low + high) / 2
    half = np.array([width, height]) / TILE / 2**zoom / 2
    (west, south), (east, north) = from_mercator(middle - half), from_mercator(middle + half)
    lon, lat = from_mercator(middle)
    return View(float(lon), float(lat), zoom, float(west), float(south), float(east), float(north))


def view_of(
    residents: Residents,
    existing_lonlat: Floats | None = None,
    *,
    with_areas: bool,
    width: int = 690,
    height: int = 600,
) -> View:
    """The view that shows all residents, existing facilities near them and, if asked for, whole areas."""
    shown = np.array(residents.box)
    if existing_lonlat is not None and len(existing_lonlat):
        shown = np.concatenate([shown, existing_lonlat[nearby(residents, existing_lonlat)]])
    if with_areas and residents.areas is not None:
        west, south, east, north = shapely.total_bounds(residents.areas)
        shown = np.concatenate([shown, [[west, south], [east, north]]])
    return fit(shown, width=width, height=height)


def grid(view: View, unit: str) -> tuple[float, list[list[list[float]]]]:
    """The step in `unit` and the lines of a grid that extends well beyond the view."""
    step = nice_step(view.metres_wide / METRES[unit], 9)
    metres = step * METRES[unit]
    d_lat = metres / METRES_PER_DEGREE
    d_lon = metres / (METRES_PER_DEGREE * math.cos(math.radians(view.latitude)))
    columns = math.ceil((view.east - view.west) / d_lon)
    rows = math.ceil((view.north - view.south) / d_lat)
    lons = view.longitude + d_lon * np.arange(-columns - 0.5, columns + 1)
    lats = np.clip(view.latitude + d_lat * np.arange(-rows - 0.5, rows + 1), -85, 85)
    upright = [[[lon, lats[0]], [lon, lats[-1]]] for lon in np.round(lons, 6).tolist()]
    level = [[[lons[0], lat], [lons[-1], lat]] for lat in np.round(lats, 6).tolist()]
    return step, upright + level


@dataclass(frozen=True)
class ScaleBar:
    """A bar of `length` units, with its line and the position of its label in degrees."""

    length: float
    line: list[list[float]]
    ticks: list[list[list[float]]]
    label: list[float]


def scale_bar(view: View, unit: str) -> ScaleBar:
    """A scale bar in the lower right corner of the view."""
    length = nice_step(view.metres_wide / METRES[unit], 9)
    d_lon = length * METRES[unit] / (METRES_PER_DEGREE * math.cos(math.radians(view.latitude)))
    right = view.east - (view.east - view.west) * 0.06
    low = view.south + (view.north - view.south) * 0.055
    tick = (view.north - view.south) * 0.006
    ends = (right - d_lon, right)
    return ScaleBar(
        length,
        [[ends[0], low], [ends[1], low]],
        [[[end, low - tick], [end, low + tick]] for end in ends],
        [(ends[0] + ends[1]) / 2, low + tick],
    )


@dataclass(frozen=True)
class Cells:
    """Residents merged into square cells on the map: the cell of each resident, and the extent of the grid."""

    index: npt.NDArray[np.int64]
    rows: int
    columns: int
    bounds: tuple[float, float, float, float]
    weight: Floats
    metres: float

    @property
    def count(self) -> int:
        """Number of cells, including empty ones."""
        return self.rows * self.columns

    def total(self, values: npt.ArrayLike, weights: Floats) -> Floats:
        """Weighted sum of a value per cell, row by row from the north."""
        summed = np.bincount(self.index, np.asarray(values, dtype=float) * weights, minlength=self.count)
        return summed.astype(np.float64)


def gather(residents: Residents, across: int = CELLS_ACROSS) -> Cells:
    """Merge residents into cells, about `across` along the longer side."""
    points = mercator(residents.lonlat)
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(max((high - low).max() / across, 1e-9))
    columns, rows = (np.floor((high - low) / size).astype(int) + 1).tolist()
    column = np.minimum(((points[:, 0] - low[0]) / size).astype(np.int64), columns - 1)
    row = rows - 1 - np.minimum(((points[:, 1] - low[1]) / size).astype(np.int64), rows - 1)
    index = row * columns + column
    (west, south), (east, north) = (
        from_mercator(low),
        from_mercator(low + size * np.array([columns, rows])),
    )
    weight = np.bincount(index, residents.weights, minlength=rows * columns).astype(np.float64)
    metres = size * 360 * METRES_PER_DEGREE * math.cos(math.radians((south + north) / 2))
    return Cells(index, rows, columns, (float(west), float(south), float(east), float(north)), weight, metres)
