"""Markers on the map: facilities, those of the reference, existing ones, and the farthest resident."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pydeck as pdk

from tkm_core.evaluation import Evaluation
from tkm_core.figures.look import Look
from tkm_core.figures.palette import Palette, rgb
from tkm_core.planning import Plan
from tkm_core.residents import Existing, Residents
from tkm_core.units import format_length
from tkm_core.wording import singular

FONT = "'Public Sans, system-ui, sans-serif'"
OUTER = 0.75  # share of the width beyond which a label extends towards the middle
# Sizes in pixels, on every map, of a facility, one of k-means++, and the farthest resident.
SIZES = {
    "site": 8.8,
    "rim": 10.5,
    "number": 11.5,
    "ring": 12.5,
    "ring_line": 1.8,
    "candidate": 4.5,
    "farthest": 4.5,
    "way": 1.6,
    "path": 3.2,
    "casing": 6.5,
}
NUMBER = {
    "get_position": "p",
    "get_text": "s",
    "get_size": SIZES["number"],
    "get_color": "f",
    "font_family": FONT,
    "font_weight": 700,
    "get_alignment_baseline": "'center'",
}
GLIDE = 350  # milliseconds in which facilities move to their new place


def reference_layer(plan: Plan, look: Look) -> pdk.Layer:
    """Facilities that only the reference has, as hollow rings."""
    return pdk.Layer(
        "ScatterplotLayer",
        [
            {"p": point, "tip": tip}
            for point, tip in zip(
                np.round(plan.reference_lonlat, 6).tolist(), reference_tips(plan), strict=True
            )
        ],
        id="baseline",
        get_position="p",
        get_radius=SIZES["ring"],
        radius_units="'pixels'",
        filled=False,
        stroked=True,
        get_line_color=[*rgb(look.palette.ink), 255],
        get_line_width=SIZES["ring_line"],
        line_width_units="'pixels'",
        pickable=True,
    )


def farthest_layers(plan: Plan, i: int, evaluation: Evaluation, look: Look) -> list[pdk.Layer]:
    """The farthest resident, a dashed line to its facility, and how far it is."""
    trips = evaluation.trips(plan.residents.weights)
    who = trips.farthest
    home = plan.residents.lonlat[trips.resident[who]]
    site = plan.centers_lonlat(i)[trips.facility[who]]
    ink = [*rgb(look.palette.ink), 255]
    edges = np.linspace(0, 1, 48)
    dashes = [
        {"p": np.round([site + (home - site) * a, site + (home - site) * b], 6).tolist()}
        for a, b in zip(edges[:-1:2], edges[1::2], strict=True)
    ]
    below = home[1] < site[1]
    (west, _), (east, _) = plan.residents.box
    across = (home[0] - west) / (east - west) if east > west else 0.5
    anchor = (
        "end" if across > OUTER else "start" if across < 1 - OUTER else "middle"
    )  # so that it stays on the map
    text = farthest_words(plan.residents, float(trips.distance[who]), look)
    spot = np.round(home, 6).tolist()
    return [
        pdk.Layer(
            "PathLayer",
            dashes,
            id="farthest-line",
            get_path="p",
            get_color=ink,
            get_width=SIZES["way"],
            width_units="'pixels'",
        ),
        pdk.Layer(
            "ScatterplotLayer",
            [{"p": spot, "tip": text}],
            id="farthest",
            get_position="p",
            get_radius=SIZES["farthest"],
            radius_units="'pixels'",
            get_fill_color=ink,
            pickable=True,
        ),
        pdk.Layer(
            "TextLayer",
            [{"p": spot, "s": text}],
            id="farthest-label",
            get_position="p",
            get_text="s",
            get_size=12.5,
            get_color=ink,
            font_family=FONT,
            get_alignment_baseline="'top'" if below else "'bottom'",
            get_text_anchor=f"'{anchor}'",
            get_pixel_offset=[0, 9 if below else -9],
            font_weight=600,
            background=True,
            get_background_color=[*rgb(look.palette.ground), 190],
            background_padding=[3, 1],
        ),
    ]


def farthest_words(residents: Residents, metres: float, look: Look) -> str:
    """The label beside the farthest resident, or the farthest area."""
    return f"farthest {shown_one(residents, look)} {format_length(metres, look.unit)}"


def shown_one(residents: Residents, look: Look) -> str:
    """What a point of the map is called: an area, where people are counted by areas."""
    return singular(look.people) if residents.areas is None else "area"


def site_layers(plan: Plan, i: int, evaluation: Evaluation, look: Look) -> list[pdk.Layer]:
    """New facilities as numbered discs; existing ones, which never move, as numbered squares."""
    colors = look.palette
    rows = []
    for j, spot in enumerate(np.round(plan.centers_lonlat(i), 6).tolist()):
        number = int(plan.numbers[j])
        fill = colors.facility(plan.colours[j])
        rows.append(
            {
                "p": spot,
                "c": fill,
                "s": str(number),
                "f": [*rgb(colors.text_on(fill)), 255],
                "tip": _lines(
                    plan.title(j),
                    f"{evaluation.population[j]:,.0f} {look.people}",
                    f"farthest {format_length(float(evaluation.max_distance[j]), look.unit)}",
                ),
            }
        )
    glide = {"getPosition": GLIDE}
    style = {"get_position": "p", "radius_units": "'pixels'", "transitions": glide}
    new = rows[: plan.k]
    squares = [_squares(rows[plan.k :], colors)] if plan.n_existing else []
    return [
        *squares,
        pdk.Layer(
            "ScatterplotLayer",
            new,
            id="sites-rim",
            get_radius=SIZES["rim"],
            get_fill_color=[*rgb(colors.ink), 255],
            **style,
        ),
        pdk.Layer(
            "ScatterplotLayer",
            new,
            id="sites",
            get_radius=SIZES["site"],
            get_fill_color="c",
            pickable=True,
            **style,
        ),
        pdk.Layer("TextLayer", new, id="sites-number", transitions=glide, **NUMBER),
    ]


def reference_tips(plan: Plan) -> list[str]:
    """Tooltips for the facilities of the reference."""
    if plan.reference.kind == "today":
        names = plan.existing.names or ("",) * len(plan.existing)
        return [_lines(f"Existing facility {j + 1}, closed in this plan", names[j]) for j in plan.closed]
    return [f"In {plan.reference.words} a facility stands here"] * len(plan.reference_lonlat)


def existing_layers(existing: Existing, look: Look) -> list[pdk.Layer]:
    """Existing facilities, numbered as in their file."""
    colors = look.palette
    names = existing.names or ("",) * len(existing)
    rows = [
        {
            "p": spot,
            "c": rgb(colors.page),
            "s": str(number),
            "f": [*rgb(colors.ink), 255],
            "tip": _lines(f"Existing facility {number}", name),
        }
        for number, (spot, name) in enumerate(
            zip(np.round(existing.lonlat, 6).tolist(), names, strict=True), start=1
        )
    ]
    return [_squares(rows, colors)]


def _lines(*parts: str) -> str:
    """The text of a tooltip, with one line for each part."""
    return "\n".join(" ".join(part.split()) for part in parts if part)


def _squares(rows: Sequence[dict[str, Any]], colors: Palette) -> pdk.Layer:
    """Numbers in filled squares, drawn as text with a background and a border."""
    return pdk.Layer(
        "TextLayer",
        list(rows),
        id="existing",
        background=True,
        get_background_color="c",
        get_border_color=[*rgb(colors.ink), 255],
        get_border_width=2,
        background_padding=[5, 3],
        pickable=True,
        **NUMBER,
    )
