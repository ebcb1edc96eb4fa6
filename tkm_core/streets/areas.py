"""Read water and parks from an OpenStreetMap file, for the background of a map."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Ints
from tkm_core.residents import ResidentsError, Source, open_source
from tkm_core.streets.osm import OSM, TITLE, in_sentences, open_osm
from tkm_core.streets.rules import Rules, StreetsError, load_rules
from tkm_core.streets.ways import check_size

METRES_PER_DEGREE = 111_320.0


@dataclass(frozen=True)
class Areas:
    """Polygons in flat arrays, each an outline followed by its holes.

    Attributes
    ----------
    lonlat : ndarray of float32, shape (q, 2)
        Points of all rings, relative to `origin` so that 32 bits are exact to a centimetre.
    origin : tuple of float
        Longitude and latitude to add to every point.
    starts : ndarray of shape (r + 1,)
        Where in `lonlat` each ring begins.
    polygon : ndarray of shape (r,)
        Index of the polygon that each ring belongs to; a polygon's first ring is its outline.
    kinds : ndarray of shape (p,)
        Index of each polygon's kind in `kind_names`.
    kind_names : tuple of str
        "water" and "park".
    """

    lonlat: npt.NDArray[np.float32]
    origin: tuple[float, float]
    starts: Ints
    polygon: Ints
    kinds: npt.NDArray[np.int16]
    kind_names: tuple[str, ...]


def load_areas(
    file: Any,
    *,
    simplify: float = 0.0,
    rules: str | Path | Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Areas:
    """Read water and parks from an OpenStreetMap file; other road files have none.

    Parameters
    ----------
    file : path, bytes or file-like
        An OpenStreetMap extract.
    simplify : float
        Metres by which an outline may be off.
    rules : path or mapping, optional
        Changes to rules.toml, whose part ``areas`` says what counts as water and as a park.
    name : str, optional
        What to call the file in errors.

    Returns
    -------
    Areas
        Compact arrays to draw.
    """
    table = load_rules("walk", rules)
    try:
        with open_source(file, name=name) as source:
            return read_areas(source, table, name=name or source.name, simplify=simplify)
    except ResidentsError as error:
        raise StreetsError(str(error), needs=error.needs) from error


def read_areas(source: Source, rules: Rules, *, name: str, simplify: float = 0.0) -> Areas:
    """Read water and parks from an opened file.

    Parameters
    ----------
    source : Source
        Of any kind; only OpenStreetMap files have areas.
    rules : Rules
        Their part ``areas`` says what counts as water and as a park.
    name : str
        What the planner calls the file.
    simplify : float
        Metres by which an outline may be off.
    """
    table: dict[str, dict[str, list[str]]] = rules.table["areas"]
    points = 0
    shapes: list[Any] = []
    kinds: list[int] = []
    if source.kind in TITLE:
        with in_sentences(OSM, name):
            osmium, opened, store = open_osm(source, name)
            for area in _areas(osmium, opened, store, table):
                kind = _kind(area.tags.get, table)
                own = [] if kind is None else _polygons(area)
                shapes += own
                kinds += [kind or 0] * len(own)
                points += sum(int(shapely.get_num_coordinates(polygon)) for polygon in own)
                check_size(points, name)
    return _compact(np.array(shapes, dtype=object), np.array(kinds, dtype=np.int16), tuple(table), simplify)


def check_areas(areas: Areas) -> None:
    """Raise ValueError if the arrays do not fit together: for areas that come from another process.

    Examples
    --------
    >>> lonlat, one = np.zeros((2, 2), np.float32), np.zeros(1, np.int16)
    >>> check_areas(Areas(lonlat, (0.0, 0.0), np.array([0, 3]), one, one, ("water",)))
    Traceback (most recent call last):
    ...
    ValueError: These areas are damaged. Read the road file again.
    """
    arrays = (areas.lonlat, areas.starts, areas.polygon, areas.kinds)
    sound = (
        all(type(array) is np.ndarray for array in arrays)
        and areas.lonlat.ndim == 2
        and areas.lonlat.shape[1] == 2
        and areas.lonlat.dtype == np.float32
        and all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays[1:])
        and len(areas.starts) == len(areas.polygon) + 1
        and bool((np.diff(areas.starts) >= 0).all())
        and int(areas.starts[0]) == 0
        and int(areas.starts[-1]) == len(areas.lonlat)
        and _numbers(areas.polygon, len(areas.kinds))
        and _numbers(areas.kinds, len(areas.kind_names))
        and bool(np.isfinite(areas.lonlat).all())
    )
    if not sound:
        msg = "These areas are damaged. Read the road file again."
        raise ValueError(msg)


def _numbers(array: npt.NDArray[Any], count: int) -> bool:
    """Whether all entries are valid indices of `count` things."""
    return len(array) == 0 or bool(array.min() >= 0 and array.max() < count)


def _areas(osmium: Any, file: Any, store: str, table: dict[str, dict[str, list[str]]]) -> Any:
    """The areas of a file that have one of the tags in the table."""
    wanted = osmium.filter.KeyFilter(*{key for tags in table.values() for key in tags})
    found = osmium.FileProcessor(file).with_locations(store).with_areas(wanted)
    return (one for one in found.with_filter(osmium.filter.EntityFilter(osmium.osm.AREA)))


def _kind(look_up: Any, table: dict[str, dict[str, list[str]]]) -> int | None:
    """Index of the first kind whose tags match the area's, or None."""
    for number, tags in enumerate(table.values()):
        if any(look_up(key) in values for key, values in tags.items()):
            return number
    return None


def _polygons(area: Any) -> list[Any]:
    """The polygons of an area, with their holes."""
    polygons = []
    for outline in area.outer_rings():
        holes = [[(node.lon, node.lat) for node in ring] for ring in area.inner_rings(outline)]
        polygons.append(shapely.Polygon([(node.lon, node.lat) for node in outline], holes))
    return polygons


def _compact(
    shapes: npt.NDArray[Any], kinds: npt.NDArray[np.int16], names: tuple[str, ...], simplify: float
) -> Areas:
    """Simplify polygons and pack them into flat arrays."""
    if simplify > 0:
        shapes = shapely.simplify(shapes, simplify / METRES_PER_DEGREE)
        shapes, part = shapely.get_parts(shapes, return_index=True)
        kept = ~shapely.is_empty(shapes)
        shapes, kinds = shapes[kept], kinds[part[kept]]
    rings, polygon = shapely.get_rings(shapes, return_index=True)
    lonlat, ring = shapely.get_coordinates(rings, return_index=True)
    middle = lonlat.mean(axis=0) if len(lonlat) else np.zeros(2)
    return Areas(
        lonlat=(lonlat - middle).astype(np.float32),
        origin=(float(middle[0]), float(middle[1])),
        starts=np.concatenate([[0], np.cumsum(np.bincount(ring, minlength=len(rings)))]),
        polygon=polygon,
        kinds=kinds,
        kind_names=names,
    )
