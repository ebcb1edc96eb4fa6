"""The map of a plan (pydeck): residents, service areas, facilities and their paths over t."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson
import pydeck as pdk
import shapely
from pydeck.bindings.json_tools import default_serialize

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.figures import crowd
from tkm_core.figures.geometry import Cells, View, gather, grid, scale_bar, view_of
from tkm_core.figures.look import Look
from tkm_core.figures.markers import (
    FONT,
    SIZES,
    existing_layers,
    farthest_layers,
    reference_layer,
    site_layers,
)
from tkm_core.figures.palette import Palette, rgb
from tkm_core.planning import Plan
from tkm_core.residents import Existing, Residents
from tkm_core.units import format_lengths

STREETS = {
    "light": "https://basemaps.cartocdn.com/gl/positron-gl-style/style.json",
    "dark": "https://basemaps.cartocdn.com/gl/dark-matter-gl-style/style.json",
}


class CompactDeck(pdk.Deck):
    """A deck that writes its JSON without blanks, which halves the bytes sent."""

    def to_json(self) -> str:
        """The deck as JSON."""
        return orjson.dumps(self, default=default_serialize, option=orjson.OPT_SERIALIZE_NUMPY).decode()


@dataclass(frozen=True)
class MapGround:
    """The view of a data set, and whether its residents are drawn as dots, areas or cells."""

    view: View
    cells: Cells | None
    places: Sequence[str]
    areas: Sequence[Sequence[str]] = ()
    shaded: bool = False  # whether residents are drawn as areas

    @classmethod
    def of(
        cls,
        residents: Residents,
        *,
        width: int = 690,
        height: int = 600,
        existing_lonlat: Floats | None = None,
    ) -> "MapGround":
        """The ground for residents and existing facilities near them, for a map of a given size in pixels."""
        many = len(residents) > crowd.POINTS_AT_MOST
        view = view_of(residents, existing_lonlat, with_areas=not many, width=width, height=height)
        if many:
            return cls(view, gather(residents), ())
        areas = () if residents.areas is None else crowd.outlines(residents.areas)
        return cls(view, None, crowd.spots(residents.lonlat), areas, shaded=bool(areas))


def plain_style(colors: Palette) -> str:
    """A map style with only a background colour, as a data URL: it needs no network."""
    background = {"id": "ground", "type": "background", "paint": {"background-color": colors.ground}}
    style = {"version": 8, "sources": {}, "layers": [background]}
    return "data:application/json," + quote(json.dumps(style, separators=(",", ":")))


def deck(layers: Sequence[pdk.Layer], view: View, look: Look) -> CompactDeck:
    """A deck of layers on the background that `look` asks for."""
    state = pdk.ViewState(
        longitude=round(view.longitude, 6), latitude=round(view.latitude, 6), zoom=round(view.zoom, 3)
    )
    colors = look.palette
    return CompactDeck(
        layers=list(layers),
        initial_view_state=state,
        map_provider="carto",
        map_style=STREETS[look.theme] if look.streets else plain_style(colors),
        tooltip={
            "text": "{tip}",  # never as HTML: names come from files
            "style": {
                "backgroundColor": colors.ink,
                "color": colors.page,
                "fontSize": "13px",
                "fontFamily": "'Public Sans', system-ui, sans-serif",
                "padding": "6px 9px",
                "borderRadius": "6px",
            },
        },
    )


def plan_map(
    plan: Plan, i: int, evaluation: Evaluation, before: Evaluation, ground: MapGround, look: Look
) -> CompactDeck:
    """The map of a plan at setting i.

    Parameters
    ----------
    plan : Plan
    i : int
        Which t on the plan's path.
    evaluation, before : Evaluation
        Of that setting and of the reference (`Plan.reference_evaluation`), in metres.
    ground : MapGround
        View and cells of the data set.
    look : Look

    Returns
    -------
    CompactDeck
        For ``st.pydeck_chart`` or ``to_html``.
    """
    layers = [] if look.streets else [grid_layer(ground.view, look)]
    if "areas" in look.layers:
        layers.append(areas_layer(plan, i, look))
    layers += residents_layers(plan, evaluation, before, ground, look)
    if "paths" in look.layers:
        layers += path_layers(plan, ground.view, look)
    if "baseline" in look.layers:
        layers.append(reference_layer(plan, look))
    if "farthest" in look.layers:
        layers += farthest_layers(plan, i, evaluation, look)
    layers += site_layers(plan, i, evaluation, look)
    layers += scale_layers(ground.view, look)
    return deck(layers, ground.view, look)


def residents_map(
    residents: Residents, ground: MapGround, look: Look, existing: Existing | None = None
) -> CompactDeck:
    """Residents in one colour and existing facilities: the preview of a data set."""
    color = rgb(look.palette.accent)
    scheme = crowd.Colouring("facility", [color], [look.people])
    labels = np.zeros(len(residents), np.int64)
    if ground.cells is not None:
        picture = crowd.cells_image(
            ground.cells, residents.weights, scheme, labels=labels, distance=residents.weights, change=None
        )
        crowd_layers = [crowd.cells_layer(ground.cells, picture)]
    else:
        tips = [f"{weight:,.6g} here" for weight in residents.weights.tolist()]
        if ground.areas:
            crowd_layers = crowd.areas_layers(
                ground.areas, ground.places, labels, scheme, _with_names(tips, residents), look.palette
            )
        else:
            crowd_layers = crowd.points_layers(
                ground.places, labels, scheme, tips, crowd.sizes(residents.weights)
            )
    head = [] if look.streets else [grid_layer(ground.view, look)]
    marks = [] if existing is None else existing_layers(existing, look)
    return deck([*head, *crowd_layers, *marks, *scale_layers(ground.view, look)], ground.view, look)


def residents_layers(
    plan: Plan, evaluation: Evaluation, before: Evaluation, ground: MapGround, look: Look
) -> list[pdk.Layer]:
    """Residents as dots, areas or an image of cells, coloured as `look` asks."""
    residents = plan.residents
    scheme = colour_scheme(plan, look)
    parts = crowd_parts(evaluation, before, look)
    if ground.cells is not None:
        picture = crowd.cells_image(ground.cells, residents.weights, scheme, **parts)
        return [crowd.cells_layer(ground.cells, picture)]
    tips = way_tips(plan, evaluation, look)
    found = crowd.classes(scheme, **parts)
    if ground.areas:
        return crowd.areas_layers(
            ground.areas, ground.places, found, scheme, _with_names(tips, residents), look.palette
        )
    return crowd.points_layers(ground.places, found, scheme, tips, crowd.sizes(residents.weights))


def way_tips(plan: Plan, evaluation: Evaluation, look: Look) -> list[str]:
    """For each place, how far it is to which facility: to each of them, where its people go to several."""
    trips = evaluation.trips(plan.residents.weights)
    lengths, which = format_lengths(trips.distance, look.unit)
    numbers = plan.numbers.tolist()
    tips = [""] * len(plan.residents)
    for resident, length, j in zip(
        trips.resident.tolist(), which.tolist(), trips.facility.tolist(), strict=True
    ):
        way = f"{lengths[length]} to {numbers[j]}"
        tips[resident] = f"{tips[resident]}, {way}" if tips[resident] else way
    return tips


def _with_names(tips: Sequence[str], residents: Residents) -> list[str]:
    """Tooltips of areas, with their names if the file has any; as JSON without quotes."""
    if residents.ids is None:
        return list(tips)
    names = [json.dumps(" ".join(str(name).split())[:80])[1:-1] for name in residents.ids]
    return [f"{name}\\n{tip}" for name, tip in zip(names, tips, strict=True)]


def crowd_parts(evaluation: Evaluation, before: Evaluation, look: Look) -> dict[str, Any]:
    """What a resident's colour depends on: facility, distance, and the change if it is asked for."""
    change = before.distance - evaluation.distance if look.colour == "change" else None
    return {"labels": evaluation.labels, "distance": evaluation.distance, "change": change}


def colour_scheme(plan: Plan, look: Look) -> crowd.Colouring:
    """Classes of residents that keep their meaning while t moves."""
    base = plan.curve.baseline
    reach = plan.change_reach if look.colour == "change" else base["p95_distance"] * 1.3
    return crowd.colouring(
        look.colour,
        look.palette,
        numbers=plan.numbers.tolist(),
        colours=plan.colours.tolist(),
        reach=max(reach, 1.0),
        unit=look.unit,
    )


def grid_layer(view: View, look: Look) -> pdk.Layer:
    """Grid lines at a round step."""
    _, lines = grid(view, look.length_unit)
    return pdk.Layer(
        "PathLayer",
        [{"p": line} for line in lines],
        id="grid",
        get_path="p",
        get_color=[*rgb(look.palette.grid), 255],
        get_width=1,
        width_units="'pixels'",
    )


def scale_layers(view: View, look: Look) -> list[pdk.Layer]:
    """The scale bar and its length."""
    bar = scale_bar(view, look.length_unit)
    ink = [*rgb(look.palette.ink), 255]
    line = pdk.Layer(
        "PathLayer",
        [{"p": part} for part in (bar.line, *bar.ticks)],
        id="scale",
        get_path="p",
        get_color=ink,
        get_width=SIZES["way"],
        width_units="'pixels'",
    )
    label = pdk.Layer(
        "TextLayer",
        [{"p": bar.label, "s": f"{bar.length:g} {look.length_unit}"}],
        id="scale-label",
        get_position="p",
        get_text="s",
        get_size=12,
        get_color=ink,
        get_alignment_baseline="'bottom'",
        get_pixel_offset=[0, -4],
        font_family=FONT,
    )
    return [line, label]


def areas_layer(plan: Plan, i: int, look: Look) -> pdk.Layer:
    """Service areas, separated by lines in the page's colour."""
    colors = look.palette
    rows = []
    for j, area in enumerate(plan.service_areas(i)):
        parts = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
        rows += [
            {
                "p": [np.round(ring.coords, 5).tolist() for ring in (part.exterior, *part.interiors)],
                "c": [*colors.facility(plan.colours[j]), colors.area_alpha],
            }
            for part in parts
            if not part.is_empty
        ]
    return pdk.Layer(
        "PolygonLayer",
        rows,
        id="areas",
        get_polygon="p",
        get_fill_color="c",
        get_line_color=[*rgb(colors.page), 255],
        get_line_width=2,
        line_width_units="'pixels'",
        stroked=True,
        filled=True,
    )


def path_layers(plan: Plan, view: View, look: Look) -> list[pdk.Layer]:
    """Each facility's path over t, blue to red with a border; a jump to another arrangement leaves a gap."""
    colors = look.palette.along_dial(len(plan))
    dot = (view.east - view.west) / 690
    segments, casing = [], []
    for line in continuous_ways(plan, dot):
        for (_, start), (at, end) in itertools.pairwise(line):
            segments.append({"p": [start, end], "c": colors[at]})
        casing.append({"p": [point for _, point in line]})
    style = {"get_path": "p", "width_units": "'pixels'", "cap_rounded": True, "joint_rounded": True}
    return [
        pdk.Layer(
            "PathLayer",
            casing,
            id="paths-casing",
            get_color=[*rgb(look.palette.page), 235],
            get_width=SIZES["casing"],
            **style,
        ),
        pdk.Layer("PathLayer", segments, id="paths", get_color="c", get_width=SIZES["path"], **style),
    ]


def continuous_ways(plan: Plan, dot: float) -> list[list[tuple[int, list[float]]]]:
    """Unbroken stretches of every facility's path as (index of t, position); steps below half a pixel are merged."""
    jumps = np.diff(plan.path.arrangement) != 0
    starts = [0, *(np.flatnonzero(jumps) + 1).tolist(), len(plan.t)]
    lines = []
    for j in range(plan.k):
        way = plan.path_lonlat[:, j]
        for first, last in itertools.pairwise(starts):
            line = [(first, way[first].tolist())]
            for at in range(first + 1, last):
                if np.abs(way[at] - line[-1][1]).max() > dot / 2:
                    line.append((at, np.round(way[at], 6).tolist()))
            if len(line) > 1:
                lines.append(line)
    return lines
