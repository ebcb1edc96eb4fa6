"""Small maps of methods or plans side by side, as SVG without a map library."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.figures import crowd
from tkm_core.figures.geometry import Cells, View, fit, gather
from tkm_core.figures.look import Look
from tkm_core.figures.palette import to_hex
from tkm_core.figures.svg import Sheet, line, picture, text
from tkm_core.measures import MEASURES
from tkm_core.methods import Solution
from tkm_core.planning import Compared, Plan, decimals, served_areas, service_areas
from tkm_core.residents import Residents
from tkm_core.units import format_length
from tkm_core.wording import singular

SMALL = (320, 264)  # width and height of a small map
DOTS_AT_MOST = 2_000  # the most residents drawn as single dots
CELLS_ACROSS = 110


@dataclass(frozen=True)
class SmallGround:
    """What all small maps of a data set share: the view, and cells if there are many residents."""

    residents: Residents
    view: View
    cells: Cells | None

    @classmethod
    def of(cls, residents: Residents) -> "SmallGround":
        """The ground for residents."""
        many = len(residents) > DOTS_AT_MOST
        return cls(
            residents,
            fit(np.array(residents.box), width=SMALL[0], height=SMALL[1]),
            gather(residents, CELLS_ACROSS) if many else None,
        )


def small_map(
    one: Compared,
    numbers: Ints,
    ground: SmallGround,
    look: Look,
    plan: Plan | None = None,
    *,
    homes: bool = True,
) -> str:
    """A method's facilities and service areas as a small SVG.

    Parameters
    ----------
    one : Compared
    numbers : ndarray of shape (k',)
        For each facility, the index of the plan's facility it is paired with (see `facility_numbers`).
    ground : SmallGround
    look : Look
    plan : Plan, optional
        The plan whose numbers and colours are used; without it, facilities are numbered from 1.
    homes : bool
        Whether residents are drawn, and service areas, whose edges tell where the outermost live.

    Returns
    -------
    str
        SVG.
    """
    residents, sheet = ground.residents, Sheet(ground.view, *SMALL, look)
    sites = residents.to_xy(one.solution.centers)
    parts = [*sheet.ground()]
    if homes:
        plain = plan is None or plan.serving.plain
        labels = one.evaluation.labels
        areas = service_areas(residents, sites) if plain else served_areas(residents, labels, len(sites))
        parts += sheet.areas(areas, colours_of(numbers, plan).tolist(), opacity=0.14, seam=1.5)
        parts += _crowd(one, colours_of(numbers, plan), ground, sheet)
        parts += _farthest(one, sites, ground, sheet)
    places = sheet.at(residents.to_lonlat(sites)).tolist()
    shown, fills = known_by(numbers, plan).tolist(), colours_of(numbers, plan).tolist()
    for number, label, fill, (x, y) in zip(numbers.tolist(), shown, fills, places, strict=True):
        stays = plan is not None and plan.k <= number < len(plan.numbers)
        square = one.solution.centers_are_points or stays
        parts.append(_site(x, y, label, fill, "rect" if square else "circle", look))
    parts += sheet.scale(width=1.4, lift=4)
    return picture(*SMALL, parts, small_map_words(one, known_by(numbers, plan), ground, look))


def small_plan_map(plan: Plan, i: int, ground: SmallGround, look: Look, *, homes: bool = True) -> str:
    """A plan at one setting of the dial as a small SVG.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    ground : SmallGround
        Of the same residents.
    look : Look
    homes : bool
        Whether the picture shows where people live; without, it has facilities only.

    Returns
    -------
    str
        SVG.
    """
    centers, found = plan.path.centers[i], plan.evaluation(i)
    labels = np.asarray(found.labels, np.int32)
    sites = Solution("tkm", centers, labels, 0.0, False, None, None, (), {}, {})  # noqa: FBT003  the order of Solution
    one = Compared("tkm", float(plan.t[i]), sites, found)
    return small_map(one, np.arange(len(centers)), ground, look, plan, homes=homes)


def known_by(numbers: Ints, plan: Plan | None) -> Ints:
    """The numbers shown for facilities, taken from those they are paired with; unpaired ones come last."""
    if plan is None:
        return numbers + 1
    surplus = np.arange(len(numbers)) + 1 + max(len(plan.existing) + plan.k, 0)
    return np.concatenate([plan.numbers, surplus])[numbers]


def colours_of(numbers: Ints, plan: Plan | None) -> Ints:
    """The colours of facilities as on the Plan page; unpaired ones take the next colours."""
    if plan is None:
        return numbers
    return np.concatenate([plan.colours, np.arange(len(numbers)) + len(plan.numbers)])[numbers]


def _crowd(one: Compared, numbers: Ints, ground: SmallGround, sheet: Sheet) -> list[str]:
    """Residents as dots, or as an image of cells if there are many, in their facility's colour."""
    residents, labels = ground.residents, np.asarray(one.evaluation.labels, np.int64)
    tints = [sheet.look.palette.facility(number) for number in numbers.tolist()]
    if ground.cells is None:
        return sheet.dots(residents.lonlat, labels, tints, 2.6)
    scheme = crowd.Colouring("facility", tints, [""] * len(tints))
    image = crowd.cells_image(
        ground.cells,
        residents.weights,
        scheme,
        labels=labels,
        distance=one.evaluation.distance,
        change=None,
    )
    return [sheet.cells(ground.cells, image)]


def _farthest(one: Compared, sites: Floats, ground: SmallGround, sheet: Sheet) -> list[str]:
    """The farthest resident and the way to its facility."""
    residents = ground.residents
    trips = one.evaluation.trips(residents.weights)
    who = trips.farthest
    ends = sheet.at([residents.to_lonlat(sites)[trips.facility[who]], residents.lonlat[trips.resident[who]]])
    x, y = ends[1].tolist()
    ink = sheet.look.palette.ink
    return [
        line(ends, ink, 1.4, dash="4 3"),
        f'<circle cx="{x}" cy="{y}" r="3.6" fill="{ink}"/>',
    ]


def _site(x: float, y: float, number: int, colour: int, shape: str, look: Look) -> str:
    """A numbered marker: round if it may stand anywhere, square if it exists or stands where a resident lives."""
    colors = look.palette
    fill = colors.facility(colour)
    style = f'fill="{to_hex(fill)}" stroke="{colors.ink}" stroke-width="1.5"'
    mark = (
        f'<circle cx="{x}" cy="{y}" r="8" {style}/>'
        if shape == "circle"
        else f'<rect x="{x - 7.5:.1f}" y="{y - 7.5:.1f}" width="15" height="15" rx="2" {style}/>'
    )
    return mark + text(x, y + 3.8, str(number), colors.text_on(fill), bold=True)


def small_map_words(one: Compared, numbers: Ints, ground: SmallGround, look: Look) -> str:
    """A small map in words, as its text alternative."""
    served = ", ".join(
        f"{number} serves {people:,.0f}"
        for number, people in sorted(zip(numbers.tolist(), one.evaluation.population.tolist(), strict=True))
    )
    return (
        f"Map of {one.title}: {len(numbers)} facilities for {ground.residents.weights.sum():,.0f} "
        f"{look.people}; facility {served}; the farthest {singular(look.people)} is "
        f"{format_length(one.evaluation.largest_distance, look.unit)} away."
    )


def small_maps(
    compared: Sequence[Compared],
    numbers: Sequence[Ints],
    ground: SmallGround,
    look: Look,
    plan: Plan | None = None,
) -> str:
    """All maps side by side as HTML, each with its name and two figures; as many in a row as fit."""
    colors = look.palette
    cards = []
    for one, own in zip(compared, numbers, strict=True):
        found = one.evaluation
        average, farthest = (
            f"{MEASURES[key].of(found, look.unit):,.{decimals(compared, key, look.unit, plan)}f} {look.unit}"
            for key in ("mean_distance", "largest_distance")
        )
        told = f"average {average}, farthest {farthest}"
        picture = base64.b64encode(small_map(one, own, ground, look, plan).encode()).decode()
        rim = colors.accent if one.name == "tkm" else colors.border
        cards.append(
            f'<figure style="margin:0"><figcaption style="margin-bottom:6px;line-height:1.35;color:{colors.ink}">'
            f'<b>{escape(one.title)}</b><br><span style="color:{colors.muted};font-size:0.93rem">{escape(told)}'
            f'</span></figcaption><img src="data:image/svg+xml;base64,{picture}" '
            f'alt="{escape(small_map_words(one, known_by(own, plan), ground, look))}" '
            f'width="{SMALL[0]}" height="{SMALL[1]}" '
            f'style="width:100%;height:auto;display:block;box-sizing:border-box;border-radius:7px;'
            f'border:{2 if one.name == "tkm" else 1}px solid {rim}"></figure>'
        )
    cards.append(_legend(ground, look, with_existing=plan is not None and plan.n_existing > 0))
    return (
        '<div class="er-maps" style="display:grid;gap:16px;'
        f'grid-template-columns:repeat(auto-fill,minmax(max(158px,22%),1fr))">{"".join(cards)}</div>'
    )


def _legend(ground: SmallGround, look: Look, *, with_existing: bool) -> str:
    """The legend of the small maps."""
    colors = look.palette
    sign = f"display:inline-block;vertical-align:-2px;margin-right:8px;border:1.5px solid {colors.ink};"
    size = f"width:14px;height:14px;box-sizing:border-box;background:{colors.border}"
    items = [
        (
            f"{sign}{size};border-radius:50%",
            f"{'new ' if with_existing else ''}facility that may stand anywhere",
        ),
        (
            f"{sign}{size};border-radius:3px",
            "existing facility" if with_existing else f"facility where one of the {look.people} is",
        ),
        (
            f"display:inline-block;vertical-align:4px;margin-right:8px;width:20px;border-top:2px dashed {colors.ink}",
            f"line to the farthest {singular(look.people)}",
        ),
    ]
    lines = [f'<span style="{style}"></span>{escape(text)}' for style, text in items]
    lines.append("numbers and colours as on the Plan page")
    if ground.cells is not None:
        cells = format_length(ground.cells.metres, look.length_unit)
        lines.append(f"too many {escape(look.people)} for single dots: cells of {cells}")
    return (
        f'<div class="er-legend" style="color:{colors.muted};font-size:0.93rem;line-height:1.5;padding-top:44px">'
        f"{'<br>'.join(lines)}</div>"
    )
