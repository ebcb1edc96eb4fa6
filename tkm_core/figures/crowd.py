"""Residents on the map: single dots or areas, or cells if there are too many."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pydeck as pdk
import shapely
from PIL import Image

from tkm_core.arrays import Floats
from tkm_core.figures.geometry import Cells
from tkm_core.figures.palette import RGB, Palette, rgb
from tkm_core.units import METRES, nice_step

POINTS_AT_MOST = 10_000
COLOURS = ("facility", "distance", "change")
STEPS = 8
DOT_ALPHA = 190
SMALL_FROM = 3000  # from this many residents on, dots are smaller
Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Colouring:
    """The classes by which residents are coloured, with the colour and name of each."""

    mode: str
    colors: list[RGB]
    names: list[str]
    top: float = 0.0


def colouring(
    mode: str,
    palette: Palette,
    *,
    numbers: Sequence[int],
    colours: Sequence[int] | None = None,
    reach: float,
    unit: str,
) -> Colouring:
    """The classes of a colour mode.

    Parameters
    ----------
    mode : {"facility", "distance", "change"}
        What the colour shows.
    palette : Palette
        Light or dark.
    numbers : sequence of int
        Numbers of the facilities.
    colours : sequence of int, optional
        Colour index of each; by default its number.
    reach : float
        A typical large distance in metres that stays the same while t moves, so that colours keep their meaning.
    unit : {"km", "mi"}
        For the names of the classes.

    Returns
    -------
    Colouring

    Examples
    --------
    >>> from tkm_core.figures.palette import LIGHT
    >>> colouring("distance", LIGHT, numbers=[1, 2, 3], reach=16_000, unit="km").names[:2]
    ['0 to 2 km', '2 to 4 km']
    """
    if mode == "facility":
        return Colouring(
            mode,
            [palette.facility(colour) for colour in (colours or [number - 1 for number in numbers])],
            [f"facility {number}" for number in numbers],
        )
    metres = METRES[unit]
    step = _fitting_step(reach / metres, STEPS if mode == "distance" else STEPS // 2)
    if mode == "distance":
        names = [f"{step * b:g} to {step * (b + 1):g} {unit}" for b in range(STEPS - 1)]
        names.append(f"over {step * (STEPS - 1):g} {unit}")
        colors = palette.by_distance(np.arange(STEPS) / (STEPS - 1))
        return Colouring(mode, colors, names, step * metres * STEPS)
    half = STEPS // 2
    top = step * half
    shares = np.arange(-half, half + 1) / half
    return Colouring(
        mode, palette.by_change(shares), [f"{top * share:+g} {unit}" for share in shares], top * metres
    )


def _fitting_step(reach: float, parts: int) -> float:
    """A fairly round step such that `parts` of it just cover the data; a rounder one would leave colours unused.

    Examples
    --------
    >>> _fitting_step(16.0, 8), _fitting_step(9.3, 8), _fitting_step(1.9, 4)
    (2.0, 1.2, 0.5)
    """
    rough = nice_step(reach, parts)
    return next(
        step
        for step in (float(f"{share * rough:.6g}") for share in (0.4, 0.5, 0.6, 0.75, 0.8, 1.0))
        if step * parts >= reach * 0.999 or step == rough
    )


def classes(scheme: Colouring, *, labels: Ints, distance: Floats, change: Floats | None) -> Ints:
    """The class of every resident (or cell) in a colouring."""
    if scheme.mode == "facility":
        return np.asarray(labels, dtype=np.int64)
    if scheme.mode == "distance":
        return np.clip(distance / scheme.top * STEPS, 0, STEPS - 1).astype(np.int64)
    if change is None:
        msg = "Colouring by change needs the change of every resident."
        raise ValueError(msg)
    half = STEPS // 2
    return np.rint(np.clip(change / scheme.top, -1, 1) * half).astype(np.int64) + half


def spots(lonlat: Floats) -> list[str]:
    """Every resident's position as JSON for a layer, to the metre; it does not depend on the plan."""
    return [f"[{lon},{lat}]" for lon, lat in np.round(lonlat, 5).tolist()]


def outlines(areas: npt.NDArray[np.object_]) -> list[list[str]]:
    """The polygons of every resident's area as JSON for a layer, to ten metres; an empty list if there are none."""
    told = []
    for area in areas:
        parts = (
            [] if area is None else [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
        )
        rings = [
            [np.round(ring.coords, 4).tolist() for ring in (part.exterior, *part.interiors)] for part in parts
        ]
        told.append([json.dumps(polygon, separators=(",", ":")) for polygon in rings])
    return told


def dot_radius(count: int) -> float:
    """Radius of an ordinary resident's dot in pixels."""
    return 2.2 if count > SMALL_FROM else 3.0


def sizes(weights: Floats) -> list[float]:
    """Radius of each resident's dot in pixels: its area is proportional to the people, within limits."""
    usual = dot_radius(len(weights))
    middle = float(np.median(weights[weights > 0]))
    return np.round(np.clip(usual * np.sqrt(weights / middle), usual / 2, 3 * usual), 1).tolist()


def areas_layers(
    areas: Sequence[Sequence[str]],
    places: Sequence[str],
    found: Ints,
    scheme: Colouring,
    tips: Sequence[str],
    palette: Palette,
) -> list[pdk.Layer]:
    """One layer of areas for each class; residents without an area stay dots."""
    layers = []
    drawn = np.array([bool(area) for area in areas])
    for number, color in enumerate(scheme.colors):
        members = np.flatnonzero((found == number) & drawn).tolist()
        rows = ",".join(f'{{"p":{polygon},"tip":"{tips[i]}"}}' for i in members for polygon in areas[i])
        if members:
            layers.append(
                pdk.Layer(
                    "PolygonLayer",
                    orjson.Fragment(f"[{rows}]"),
                    id=f"residents-{number}",
                    get_polygon="p",
                    get_fill_color=[*color, 150],
                    get_line_color=[*rgb(palette.page), 200],
                    get_line_width=0.8,
                    line_width_units="'pixels'",
                    stroked=True,
                    filled=True,
                    pickable=True,
                )
            )
    rest = np.where(drawn, -1, found)
    return layers + points_layers(places, rest, scheme, tips, [3.0] * len(tips), name="residents-dots")


def points_layers(
    places: Sequence[str],
    found: Ints,
    scheme: Colouring,
    tips: Sequence[str],
    radii: Sequence[float],
    *,
    name: str = "residents",
) -> list[pdk.Layer]:
    """One layer of dots for each class, so that a colour is sent once, not with every resident.

    The rows are JSON text already (`places` from `spots`, `tips` without quotes), because ten thousand dictionaries
    would take four times as long.
    """
    layers = []
    for number, color in enumerate(scheme.colors):
        members = np.flatnonzero(found == number).tolist()
        if members:
            rows = ",".join([f'{{"p":{places[i]},"r":{radii[i]},"tip":"{tips[i]}"}}' for i in members])
            layers.append(
                pdk.Layer(
                    "ScatterplotLayer",
                    orjson.Fragment(f"[{rows}]"),
                    id=f"{name}-{number}",
                    get_position="p",
                    get_fill_color=[*color, DOT_ALPHA],
                    get_radius="r",
                    radius_units="'pixels'",
                    pickable=True,
                )
            )
    return layers


def cells_image(
    cells: Cells,
    weights: Floats,
    scheme: Colouring,
    *,
    labels: Ints,
    distance: Floats,
    change: Floats | None,
) -> npt.NDArray[np.uint8]:
    """Image of the cells, (rows, columns, 4): the colour of most residents in a cell, more opaque for more people."""
    people = cells.weight
    safe = np.where(people > 0, people, 1.0)
    if scheme.mode == "facility":
        k = len(scheme.colors)
        counts = np.bincount(cells.index * k + labels, weights, minlength=cells.count * k)
        found = counts.reshape(cells.count, k).argmax(axis=1)
    else:
        mean = cells.total(distance, weights) / safe
        moved = None if change is None else cells.total(change, weights) / safe
        found = classes(scheme, labels=np.zeros(0, np.int64), distance=mean, change=moved)
    picture = np.zeros((cells.count, 4), np.uint8)
    picture[:, :3] = np.array(scheme.colors, np.uint8)[found]
    picture[:, 3] = np.where(people > 0, cell_strength(people), 0)
    return picture.reshape(cells.rows, cells.columns, 4)


def cell_strength(people: Floats) -> Floats:
    """Opacity of each cell, from 70 to 235, by how many people live in it."""
    dense = np.quantile(people[people > 0], 0.95) if (people > 0).any() else 1.0
    return np.asarray(70 + 165 * np.clip(np.sqrt(people / max(dense, 1e-12)), 0, 1))


def png(picture: npt.NDArray[np.uint8]) -> str:
    """An image as a data URL."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=3)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def cells_layer(cells: Cells, picture: npt.NDArray[np.uint8]) -> pdk.Layer:
    """The image of the cells as a map layer."""
    return pdk.Layer(
        "BitmapLayer",
        None,
        id="residents-cells",
        image=f'"{png(picture)}"',
        bounds=list(cells.bounds),
        texture_parameters={"minFilter": "nearest", "magFilter": "nearest"},
        pickable=False,
    )
