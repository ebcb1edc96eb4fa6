"""Data that every live map needs of a city: view, residents, their areas, and streets.

Everything is sent as compact arrays or JSON; the README.md beside the component describes the formats.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import shapely

from tkm_core.arrays import Floats
from tkm_core.figures import crowd, markers
from tkm_core.figures.geometry import TILE, Cells, View, gather, grid, mercator, view_of
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround
from tkm_core.figures.palette import palette, rgb
from tkm_core.planning import place_names
from tkm_core.residents import Existing, Residents
from tkm_core.streets import Areas, Lines
from tkm_core.units import METRES
from tkm_core.wording import singular

POINTS_AT_MOST = 50_000  # residents drawn one by one; more are drawn as cells
NAMES_AT_MOST = 20_000  # residents whose names are sent
THEMES = ("light", "dark")
FIT = 24  # points along each side of the lattice to which the map polynomials are fitted
# Classes of streets by how they are drawn; any other class is an ordinary street.
RANKS = (
    ("motorway", "motorway_link", "trunk", "trunk_link", "primary", "primary_link"),
    ("secondary", "secondary_link", "tertiary", "tertiary_link"),
    (),
    ("footway", "path", "steps", "cycleway", "track", "bridleway", "corridor"),
)
STREET = 2  # the rank of an ordinary street
LAND = ("park", "water")


def live_ground(
    residents: Residents, *, width: int = 690, height: int = 600, existing_lonlat: Floats | None = None
) -> MapGround:
    """The ground of the live map: like `MapGround.of`, but with more residents drawn one by one.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> live_ground(load_sample("generated", n=12_000)).cells is None
    True
    """
    many = len(residents) > POINTS_AT_MOST
    view = view_of(residents, existing_lonlat, with_areas=not many, width=width, height=height)
    return MapGround(
        view, gather(residents) if many else None, (), shaded=residents.areas is not None and not many
    )


def live_place(
    residents: Residents, ground: MapGround, look: Look, *, existing: Existing | None = None
) -> bytes:
    """A city without a plan, as JSON for a live map.

    Parameters
    ----------
    residents : Residents
    ground : MapGround
        From `live_ground`.
    look : Look
        Only its unit and people matter.
    existing : Existing, optional
        Existing facilities.

    Returns
    -------
    bytes

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.50, 43.60]])
    >>> orjson.loads(live_place(town, live_ground(town), Look(unit="mi")))["length"]["name"]
    'mi'
    """
    body = place_parts(residents, ground, look)
    body["existing"] = [] if existing is None else existing_parts(existing, range(len(existing)))
    body["themes"] = {
        theme: theme_parts(theme) | {"modes": {"place": [rgb(palette(theme).accent)]}} for theme in THEMES
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def place_parts(residents: Residents, ground: MapGround, look: Look) -> dict[str, Any]:
    """The data common to maps with and without a plan."""
    cells = ground.cells
    few = cells is None and len(residents) <= NAMES_AT_MOST
    return {
        "people": look.people,
        "one": singular(look.people),
        "length": {"name": look.length_unit, "metres": METRES[look.length_unit]},
        "crowd": {
            "cell": cell_size(cells),
            "count": len(residents) if cells is None else int((cells.weight > 0).sum()),
        },
        "view": _view(ground.view),
        "grid": grid(ground.view, look.length_unit)[1],
        "to_map": _ties(residents, ground.view, to_map=True),
        "to_xy": _ties(residents, ground.view, to_map=False),
        "middle": view_centre(ground.view).tolist(),
        "marks": markers.SIZES,
        "names": _names(residents) if few else None,
    }


def existing_parts(existing: Existing, which: Sequence[int]) -> list[dict[str, Any]]:
    """Existing facilities with their numbers and names."""
    names = existing.names or ("",) * len(existing)
    return [
        {
            "lonlat": np.round(existing.lonlat[j], 6).tolist(),
            "number": j + 1,
            "name": " ".join(names[j].split())[:80],
        }
        for j in which
    ]


def _names(residents: Residents) -> list[str] | None:
    """The name of each place, if most have their own; codes and groups do not count as names."""
    named = residents.places is not None or residents.ids is not None
    names = place_names(residents) if named else None
    if names is not None and 2 * len(set(names)) <= len(names):
        return None
    letters = sum(letter.isalpha() for name in names or () for letter in name)
    digits = sum(letter.isdigit() for name in names or () for letter in name)
    return names if letters > 2 * digits else None


def theme_parts(theme: str) -> dict[str, Any]:
    """The colours of a theme that do not depend on a plan, by purpose."""
    colors = palette(theme)
    return {
        "ground": colors.ground,
        "page": colors.page,
        "grid": colors.grid,
        "ink": colors.ink,
        "muted": colors.muted,
        "accent": colors.accent,
        "area": colors.area_alpha / 255,
        "ends": colors.path,
        "land": {"water": colors.water, "park": colors.park, "road": colors.road, "street": colors.street},
    }


def live_residents(residents: Residents, ground: MapGround) -> bytes:
    """Residents, or their cells, as columns of 32-bit floats, one column after another.

    The columns are x and y in metres from the residents' middle, x and y on the map (Mercator, from the view's centre,
    y to the south), the number of people, the opacity from 0 to 255, and the radius of the dot in pixels, which is 0
    for a place drawn as an area.
    """
    middle = view_centre(ground.view)
    if ground.cells is None:
        on_map = _on_map(residents.lonlat, middle)
        xy, people = residents.xy - residents.origin, residents.weights
        strength = np.full(len(residents), float(crowd.DOT_ALPHA))
        radius = np.array(crowd.sizes(people))
        if ground.shaded and residents.areas is not None:
            radius[_has_area(residents)] = 0.0
    else:
        cells = ground.cells
        filled = np.flatnonzero(cells.weight > 0)
        people = cells.weight[filled]
        xy = (
            np.column_stack(
                [
                    cells.total(residents.xy[:, axis] - residents.origin[axis], residents.weights)
                    for axis in (0, 1)
                ]
            )[filled]
            / people[:, None]
        )
        on_map = _cell_corners(cells, filled) - middle
        strength, radius = crowd.cell_strength(people), np.zeros(len(people))
    columns = (xy[:, 0], xy[:, 1], on_map[:, 0], on_map[:, 1], people, strength, radius)
    return np.concatenate(columns).astype("<f4").tobytes()


def live_areas(residents: Residents, ground: MapGround) -> bytes | None:
    """The polygons of residents given as areas; None if they are points.

    The format: the number of rings and of points; for each ring the index of its resident; where each ring begins in
    the points (and where the last one ends); the points as x and y on the map. All numbers have 32 bits.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61]])
    >>> live_areas(town, live_ground(town)) is None
    True
    """
    if not ground.shaded or residents.areas is None:
        return None
    parts, owner = shapely.get_parts(residents.areas[_has_area(residents)], return_index=True)
    polygons = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    rings, which = shapely.get_rings(parts[polygons], return_index=True)
    whose = np.flatnonzero(_has_area(residents))[owner[polygons][which]]
    lonlat, ring = shapely.get_coordinates(rings, return_index=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(ring, minlength=len(rings)))])
    on_map = _on_map(lonlat, view_centre(ground.view))
    numbers = np.concatenate([[len(rings), len(lonlat)], whose, starts])
    return numbers.astype("<u4").tobytes() + on_map.astype("<f4").tobytes()


def _has_area(residents: Residents) -> npt.NDArray[np.bool_]:
    """Which residents have an area."""
    areas = residents.areas
    return (
        np.zeros(len(residents), bool)
        if areas is None
        else ~(shapely.is_missing(areas) | shapely.is_empty(areas))
    )


def live_roads(lines: Lines, *, areas: Areas | None = None, credit: str = "") -> bytes:
    """Streets, water and parks as the background of a live map.

    Parameters
    ----------
    lines : Lines
        From `Streets.lines`, simplified to about the size of a pixel.
    areas : Areas, optional
        From `load_areas`.
    credit : str
        The credit shown on the map.

    Returns
    -------
    bytes
        The length of a JSON header and the header; where each line or ring begins (and where the last one ends), its
        kind and the number of its polygon; the points as 32-bit floats relative to the origin in the header.
    """
    ranks = np.array([rank_of(name) for name in lines.class_names], np.int64)
    kinds = ranks[lines.classes] if len(ranks) else np.empty(0, np.int64)
    starts, points, polygons = np.asarray(lines.starts), lines.lonlat, np.zeros(len(kinds), np.int64)
    if areas is not None and len(areas.polygon):
        shift = np.subtract(areas.origin, lines.origin).astype(np.float32)
        kind = np.array([len(RANKS) + LAND.index(name) for name in areas.kind_names])[areas.kinds]
        starts = np.concatenate([starts, len(points) + np.asarray(areas.starts)[1:]])
        points = np.concatenate([points, areas.lonlat + shift])
        kinds = np.concatenate([kinds, kind[areas.polygon]])
        polygons = np.concatenate([polygons, areas.polygon])
    head = orjson.dumps(
        {
            "origin": lines.origin,
            "parts": len(kinds),
            "points": len(points),
            "ranks": [names[0] if names else "street" for names in RANKS],
            "areas": LAND,
            "credit": credit,
        }
    )
    head += b" " * (-len(head) % 4)
    numbers = np.concatenate([starts, kinds, polygons])
    return (
        np.array([len(head)], "<u4").tobytes()
        + head
        + numbers.astype("<u4").tobytes()
        + np.asarray(points, "<f4").tobytes()
    )


def rank_of(name: str) -> int:
    """How a class of streets is drawn: from 0 for main roads to 3 for paths."""
    return next((rank for rank, names in enumerate(RANKS) if name in names), STREET)


def _view(view: View) -> dict[str, Any]:
    """The view and the size in pixels it was fitted to."""
    (west, south), (east, north) = mercator([[view.west, view.south], [view.east, view.north]])
    size = np.array([east - west, north - south]) * TILE * 2**view.zoom
    return {"center": [view.longitude, view.latitude], "zoom": view.zoom, "size": size.tolist()}


def view_centre(view: View) -> Floats:
    """The middle of the map in Mercator, y to the south."""
    x, y = mercator([view.longitude, view.latitude])
    return np.array([x, -y])


def _on_map(lonlat: Floats, middle: Floats) -> Floats:
    """Mercator with y to the south, from the view's centre."""
    return mercator(lonlat) * [1, -1] - middle


def cell_size(cells: Cells | None) -> float:
    """The side of a cell on the map; 0 if residents are drawn one by one."""
    return 0.0 if cells is None else (cells.bounds[2] - cells.bounds[0]) / 360 / cells.columns


def _cell_corners(cells: Cells, which: Any) -> Floats:
    """The north-western corners of cells on the map."""
    west, _, _, north = cells.bounds
    corner = mercator([west, north]) * [1, -1]
    row, column = np.divmod(which, cells.columns)
    return np.asarray(corner + np.column_stack([column, row]) * cell_size(cells))


def _ties(residents: Residents, view: View, *, to_map: bool) -> dict[str, Any]:
    """Cubic polynomials that transform metres to map coordinates, or back.

    They are exact to a fraction of a pixel over a city. The browser needs them for service areas and while a facility
    is dragged; once it is dropped, its figures are computed here with the projection itself.
    """
    spread = np.linspace(-1.5, 2.5, FIT)
    west, east = view.west, view.east
    lon, lat = np.meshgrid(
        west + (east - west) * spread, np.clip(view.south + (view.north - view.south) * spread, -84, 84)
    )
    lonlat = np.column_stack([lon.ravel(), lat.ravel()])
    on_map, xy = _on_map(lonlat, view_centre(view)), residents.lonlat_to_xy(lonlat) - residents.origin
    usable = np.isfinite(xy).all(axis=1)
    source, goal = (xy, on_map) if to_map else (on_map, xy)
    scale = float(np.abs(source[usable]).max()) or 1.0
    powers = powers_of(source[usable] / scale)
    found, *_ = np.linalg.lstsq(powers, goal[usable], rcond=None)
    return {"scale": scale, "x": found[:, 0].tolist(), "y": found[:, 1].tolist()}


def powers_of(points: Floats) -> Floats:
    """1, x, y, x², xy, y², x³, x²y, xy², y³ of every point, in the order that the browser uses too."""
    x, y = points[:, 0], points[:, 1]
    return np.column_stack([np.ones(len(x)), x, y, x * x, x * y, y * y, x**3, x * x * y, x * y * y, y**3])
