"""The map of the report as plain SVG: residents, facilities with their names, sites, zones and what is closed."""

from dataclasses import dataclass

import numpy as np
import shapely

from tkm_core.evaluation import Evaluation
from tkm_core.figures import crowd
from tkm_core.figures.geometry import scale_bar
from tkm_core.figures.labels import GAP, LINE, Box, free_place, overlap, text_width
from tkm_core.figures.legend import LegendItem
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, colour_scheme, continuous_ways, crowd_parts
from tkm_core.figures.markers import farthest_words
from tkm_core.figures.palette import to_hex
from tkm_core.figures.street_lines import credit_parts, street_parts, way_along
from tkm_core.figures.svg import Sheet, line, picture, points, text
from tkm_core.planning import Plan
from tkm_core.residents import Zones

SIZE = (720, 560)
MARK, SITE = 9.4, 3.4  # pixels: half the width of a facility's mark and of a site's
CROSS = np.array([[-9, -9], [9, 9], [9, -9], [-9, 9]])  # ends of two lines
LONGEST = 28  # letters of a name on the map
SITES_AT_MOST = 400  # more would hide the residents


@dataclass(frozen=True)
class DrawnMap:
    """A map, what its legend has to explain beside the usual, and whether every name found room on it."""

    svg: str
    items: tuple[LegendItem, ...]
    all_named: bool


@dataclass(frozen=True)
class Mark:
    """Something on the map that may have a name: its place in pixels, half its width, its name, its SVG."""

    x: float
    y: float
    size: float
    name: str
    svg: str
    closed: bool = False

    @property
    def box(self) -> Box:
        """What it covers."""
        return self.x - self.size, self.y - self.size, self.x + self.size, self.y + self.size


def report_map(
    plan: Plan, i: int, evaluation: Evaluation, before: Evaluation, ground: MapGround, look: Look
) -> DrawnMap:
    """Draw the map of a plan for its report.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    evaluation, before : Evaluation
        Of that setting and of the reference.
    ground : MapGround
        Made for a picture of `SIZE`.
    look : Look

    Returns
    -------
    DrawnMap
    """
    sheet, colors = Sheet(ground.view, *SIZE, look), look.palette
    parts = [*sheet.ground(), *street_parts(plan, sheet)]
    if "areas" in look.layers:
        areas = plan.service_areas(i)
        parts += sheet.areas(areas, plan.colours.tolist(), opacity=0.13, seam=2)
    parts += _crowd(plan, evaluation, before, ground, sheet)
    parts += [*_zones(plan.rules.only_in, "2 3", sheet), *_zones(plan.rules.not_in, "7 3", sheet)]
    if "paths" in look.layers:
        parts += _ways(plan, sheet)
    if "baseline" in look.layers:
        parts += [
            f'<circle cx="{x}" cy="{y}" r="12" fill="none" stroke="{colors.ink}" stroke-width="1.8"/>'
            for x, y in sheet.at(plan.reference_lonlat).tolist()
        ]
    taken: list[Box] = []
    if "farthest" in look.layers:
        drawn, box = _farthest(plan, i, evaluation, sheet)
        parts += drawn
        taken.append(box)
    sites, shut, open_ = _sites(plan, i, sheet), _closed(plan, sheet), _facilities(plan, i, sheet)
    marks = [mark for mark in (*sites, *shut, *open_) if _seen(mark)]
    parts += [mark.svg for mark in marks]
    taken += [mark.box for mark in marks]
    taken.append(_scale_box(sheet))
    if plan.rules.travel.attribution:
        taken.append((0, SIZE[1] - 22, SIZE[0], SIZE[1]))
    names, all_named = _names([mark for mark in (*open_, *shut, *sites) if _seen(mark)], taken, sheet)
    parts += [*names, *sheet.scale(width=1.6, lift=5), *credit_parts(plan, sheet)]
    return DrawnMap(
        picture(*SIZE, parts, "Map of the plan", "map"), _items(plan, sites=bool(sites)), all_named
    )


def _scale_box(sheet: Sheet) -> Box:
    """What the scale bar and its length cover."""
    (left, y), (right, _) = sheet.at(scale_bar(sheet.view, sheet.look.length_unit).line).tolist()
    return left - GAP, y - 2 * LINE, right + GAP, y + LINE / 2


def _items(plan: Plan, *, sites: bool) -> tuple[LegendItem, ...]:
    """What the legend explains beside what every map of a plan shows."""
    rules = plan.rules
    said = {
        ("cross", "closed facility"): bool(plan.closed),
        ("diamond", "candidate site"): sites,
        ("dotted", "zone where facilities must stand"): rules.only_in is not None,
        ("dashed", "zone where no facility may stand"): rules.not_in is not None,
    }
    return tuple(LegendItem(sign, words) for (sign, words), shown in said.items() if shown)


def _seen(mark: Mark) -> bool:
    """Whether a mark is on the map."""
    return 0 <= mark.x <= SIZE[0] and 0 <= mark.y <= SIZE[1]


def _facilities(plan: Plan, i: int, sheet: Sheet) -> list[Mark]:
    """The numbered facilities: discs for new ones, squares for those that are there."""
    colors, found = sheet.look.palette, []
    places = sheet.at(plan.centers_lonlat(i)).tolist()
    for j, ((x, y), name) in enumerate(zip(places, plan.names_at(i), strict=True)):
        fill = colors.facility(plan.colours[j])
        style = f'fill="{to_hex(fill)}" stroke="{colors.ink}" stroke-width="1.8"'
        shape = (
            f'<circle cx="{x}" cy="{y}" r="{MARK}" {style}/>'
            if j < plan.k
            else f'<rect x="{x - 9:.1f}" y="{y - 9:.1f}" width="18" height="18" {style}/>'
        )
        number = text(x, y + 3.8, str(plan.numbers[j]), colors.text_on(fill), bold=True)
        found.append(Mark(x, y, MARK, name, shape + number))
    return found


def _closed(plan: Plan, sheet: Sheet) -> list[Mark]:
    """The facilities that the plan closes: empty squares, crossed out."""
    colors, found = sheet.look.palette, []
    names = plan.existing.names or ("",) * len(plan.existing)
    for j in plan.closed:
        x, y = sheet.at(plan.existing.lonlat[j]).tolist()
        ends = CROSS + np.array([x, y])
        box = f'<rect x="{x - 9:.1f}" y="{y - 9:.1f}" width="18" height="18" fill="{colors.page}" '
        box += f'stroke="{colors.ink}" stroke-width="1.4"/>'
        cross = line(ends[:2], colors.worse, 2) + line(ends[2:], colors.worse, 2)
        found.append(Mark(x, y, MARK, names[j], box + cross, closed=True))
    return found


def _sites(plan: Plan, i: int, sheet: Sheet) -> list[Mark]:
    """The candidate sites on which the plan puts nothing, as small diamonds."""
    sites, colors = plan.rules.sites, sheet.look.palette
    if sites is None or len(sites) > SITES_AT_MOST:
        return []
    free = np.setdiff1d(np.arange(len(sites)), plan.site_of(i))
    names = sites.names or ("",) * len(sites)
    style = f'fill="{colors.page}" stroke="{colors.ink}" stroke-width="1"'
    shape = f"l{SITE} {SITE}l-{SITE} {SITE}l-{SITE} -{SITE}Z"
    return [
        Mark(x, y, SITE, names[n], f'<path d="M{x} {y - SITE:.1f}{shape}" {style}/>')
        for n, (x, y) in zip(free.tolist(), sheet.at(sites.lonlat[free]).tolist(), strict=True)
    ]


def _names(marks: list[Mark], taken: list[Box], sheet: Sheet) -> tuple[list[str], bool]:
    """The names that fit on the map, the most important first, and whether those of all facilities did."""
    colors, found, missing = sheet.look.palette, [], False
    room: Box = (4, 4, SIZE[0] - 4, SIZE[1] - 4)
    for mark in marks:
        name = " ".join(mark.name.split())
        name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"
        box = free_place((mark.x, mark.y), mark.size, name, taken, room) if name else None
        if box is None:
            missing |= bool(name) and mark.size == MARK
            continue
        taken.append(box)
        # centred, because the letters may run either way and be narrower than estimated
        ink = colors.ink if mark.size == MARK else colors.muted
        words = text((box[0] + box[2]) / 2, box[3] - 3.4, name, ink)
        halo = f'stroke="{colors.page}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        found.append(f"<g {halo}>{words}</g>")
        if mark.closed:
            found.append(f'<g text-decoration="line-through">{words}</g>')
    return found, not missing


def _zones(zones: Zones | None, dash: str, sheet: Sheet) -> list[str]:
    """Outlines of zones."""
    if zones is None:
        return []
    ink = sheet.look.palette.ink
    return [
        f'<polygon points="{points(sheet.at(np.asarray(part.exterior.coords)))}" fill="{ink}" fill-opacity="0.06" '
        f'stroke="{ink}" stroke-width="1.2" stroke-dasharray="{dash}"/>'
        for shape in zones.shapes
        for part in shapely.get_parts(shape)
        if part.geom_type == "Polygon"
    ]


def _crowd(
    plan: Plan, evaluation: Evaluation, before: Evaluation, ground: MapGround, sheet: Sheet
) -> list[str]:
    """Residents as dots, areas or cells."""
    residents, scheme = plan.residents, colour_scheme(plan, sheet.look)
    parts = crowd_parts(evaluation, before, sheet.look)
    if ground.cells is not None:
        return [
            sheet.cells(ground.cells, crowd.cells_image(ground.cells, residents.weights, scheme, **parts))
        ]
    found = crowd.classes(scheme, **parts)
    if ground.areas and residents.areas is not None:
        return sheet.shaded(residents.areas, found, scheme.colors)
    return sheet.dots(residents.lonlat, found, scheme.colors, 3.0 if len(residents) > 3000 else 4.4)


def _ways(plan: Plan, sheet: Sheet) -> list[str]:
    """The path of each facility over t, blue to red."""
    colors, view = sheet.look.palette, sheet.view
    tints = colors.along_dial(len(plan))
    parts = []
    for way in continuous_ways(plan, (view.east - view.west) / SIZE[0]):
        spots = sheet.at([spot for _, spot in way])
        parts.append(line(spots, colors.page, 6.5))
        parts += [line(spots[n : n + 2], to_hex(tints[way[n + 1][0]]), 3.2) for n in range(len(way) - 1)]
    return parts


def _farthest(plan: Plan, i: int, evaluation: Evaluation, sheet: Sheet) -> tuple[list[str], Box]:
    """The farthest resident, with the way to the facility and its length, and what its label covers."""
    look = sheet.look
    trips = evaluation.trips(plan.residents.weights)
    who = trips.farthest
    home, site = plan.residents.lonlat[trips.resident[who]], plan.centers_lonlat(i)[trips.facility[who]]
    ends = sheet.at([site, home])
    x, y = ends[1].tolist()
    ink = look.palette.ink
    told = farthest_words(plan.residents, float(trips.distance[who]), look)
    half = text_width(told) / 2 + 6  # bold letters are wider
    x_text = min(max(x, half), SIZE[0] - half)
    y_text = y + 18 if ends[1, 1] > ends[0, 1] and y < SIZE[1] - 24 else y - 9
    box: Box = (x_text - half, y_text - LINE, x_text + half, y_text + 4)
    if overlap(box, _scale_box(sheet)):
        y_text = y - 9 if y_text > y else y + 18
        box = (box[0], y_text - LINE, box[2], y_text + 4)
    return [
        way_along(plan, home, site, sheet, 1.6),
        f'<circle cx="{x}" cy="{y}" r="4.5" fill="{ink}"/>',
        text(x_text, y_text, told, ink, bold=True),
    ], box
