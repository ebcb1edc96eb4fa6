"""The same map and charts as plain SVG: for paper, and for a page that opens without a network."""

from html import escape

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation
from tkm_core.figures import crowd
from tkm_core.figures.charts import FAIRNESS, UTILITY, cumulative
from tkm_core.figures.geometry import TILE, View, grid, mercator, scale_bar
from tkm_core.figures.maps import Look, MapGround, colour_scheme, continuous_ways
from tkm_core.figures.palette import RGB, to_hex
from tkm_core.figures.units import format_length, nice_step
from tkm_core.plan import Plan
from tkm_core.story import METRES, singular

Floats = npt.NDArray[np.float64]
WIDTH, HEIGHT = 720, 560
CHART = (352, 230)
EDGE = (48, 10, 12, 40)  # left, right, top, bottom of a chart's frame


class _Sheet:
    """Maps degrees to pixels of a map picture."""

    def __init__(self, view: View, width: int, height: int) -> None:
        self.middle = mercator([view.longitude, view.latitude])
        self.factor = TILE * 2**view.zoom
        self.half = np.array([width, height]) / 2

    def at(self, lonlat: npt.ArrayLike) -> Floats:
        """Pixels, shape (..., 2)."""
        flat = (mercator(lonlat) - self.middle) * self.factor
        return np.round(self.half + flat * [1, -1], 1)


def map_svg(
    plan: Plan, i: int, evaluation: Evaluation, baseline: Evaluation, ground: MapGround, look: Look
) -> str:
    """The map of a plan as SVG; `ground` has to be made for a picture of WIDTH by HEIGHT."""
    sheet, colors = _Sheet(ground.view, WIDTH, HEIGHT), look.palette
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{colors.ground}"/>']
    parts += [_line(sheet.at(line), colors.grid, 1) for line in grid(ground.view, look.unit)[1]]
    if "areas" in look.layers:
        for j, area in enumerate(plan.service_areas(i)):
            for part in getattr(area, "geoms", [area]):
                if not part.is_empty:
                    ring = _points(sheet.at(np.asarray(part.exterior.coords)))
                    parts.append(
                        f'<polygon points="{ring}" fill="{to_hex(colors.facility(j))}" fill-opacity="0.13" '
                        f'stroke="{colors.page}" stroke-width="2"/>'
                    )
    parts += _crowd(plan, evaluation, baseline, ground, look, sheet)
    if "paths" in look.layers:
        parts += _ways(plan, ground.view, look, sheet)
    if "baseline" in look.layers:
        parts += [
            f'<circle cx="{x}" cy="{y}" r="12" fill="none" stroke="{colors.ink}" stroke-width="1.8"/>'
            for x, y in sheet.at(plan.baseline_lonlat[: plan.k]).tolist()
        ]
    if "farthest" in look.layers:
        parts += _farthest(plan, i, evaluation, look, sheet)
    for j, (x, y) in enumerate(sheet.at(plan.centers_lonlat(i)).tolist()):
        fill = colors.facility(j)
        style = f'fill="{to_hex(fill)}" stroke="{colors.ink}" stroke-width="1.8"'
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="9.4" {style}/>'
            if j < plan.k
            else f'<rect x="{x - 9:.1f}" y="{y - 9:.1f}" width="18" height="18" {style}/>'
        )
        parts.append(_text(x, y + 3.8, str(j + 1), colors.text_on(fill), bold=True))
    bar = scale_bar(ground.view, look.unit)
    parts += [_line(sheet.at(line), colors.ink, 1.6) for line in (bar.line, *bar.ticks)]
    x, y = sheet.at(bar.label).tolist()
    parts.append(_text(x, y - 5, f"{bar.length:g} {look.unit}", colors.ink))
    return _svg(WIDTH, HEIGHT, parts, "Map of the plan")


def _crowd(
    plan: Plan, evaluation: Evaluation, baseline: Evaluation, ground: MapGround, look: Look, sheet: _Sheet
) -> list[str]:
    scheme = colour_scheme(plan, look)
    change = baseline.distance - evaluation.distance if look.colour == "change" else None
    if ground.cells is not None:
        picture = crowd.cells_image(
            ground.cells,
            plan.residents.weights,
            scheme,
            labels=evaluation.labels,
            distance=evaluation.distance,
            change=change,
        )
        west, south, east, north = ground.cells.bounds
        (left, top), (right, bottom) = sheet.at([[west, north], [east, south]]).tolist()
        return [
            (
                f'<image x="{left}" y="{top}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
                f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{crowd.png(picture)}"/>'
            )
        ]
    found = crowd.classes(scheme, labels=evaluation.labels, distance=evaluation.distance, change=change)
    places = sheet.at(plan.residents.lonlat)
    radius = 1.5 if len(places) > 3000 else 2.2
    groups = []
    for number, color in enumerate(scheme.colors):
        dots = "".join(f"M{x} {y}h0" for x, y in places[found == number].tolist())
        if dots:
            groups.append(
                f'<path d="{dots}" stroke="{to_hex(color)}" stroke-width="{2 * radius}" stroke-linecap="round" '
                'stroke-opacity="0.75" fill="none"/>'
            )
    return groups


def _ways(plan: Plan, view: View, look: Look, sheet: _Sheet) -> list[str]:
    tints = look.palette.along_path(plan.t)
    parts = []
    for way in continuous_ways(plan, (view.east - view.west) / WIDTH):
        spots = sheet.at([spot for _, spot in way])
        parts.append(_line(spots, look.palette.page, 6.5))
        parts += [_line(spots[n : n + 2], to_hex(tints[way[n + 1][0]]), 3.2) for n in range(len(way) - 1)]
    return parts


def _farthest(plan: Plan, i: int, evaluation: Evaluation, look: Look, sheet: _Sheet) -> list[str]:
    who = int(np.argmax(evaluation.distance))
    ends = sheet.at([plan.centers_lonlat(i)[int(evaluation.labels[who])], plan.residents.lonlat[who]])
    x, y = ends[1].tolist()
    ink = look.palette.ink
    told = f"farthest {singular(look.people)} {format_length(float(evaluation.distance[who]), look.unit)}"
    x_text = min(max(x, 80), WIDTH - 80)
    y_text = y + 18 if ends[1, 1] > ends[0, 1] and y < HEIGHT - 24 else y - 9
    return [
        _line(ends, ink, 1.6, dash="5 4"),
        f'<circle cx="{x}" cy="{y}" r="4.5" fill="{ink}"/>',
        _text(x_text, y_text, told, ink, bold=True),
    ]


def tradeoff_svg(plan: Plan, i: int, look: Look, *, utility: str, fairness: str, budget: float | None) -> str:
    """The trade-off as SVG."""
    across, up, colors = UTILITY[utility], FAIRNESS[fairness], look.palette
    x = across.value(getattr(plan.curve, utility), look.unit)
    y = up.value(getattr(plan.curve, fairness), look.unit)
    base = np.array(
        [
            across.value(plan.curve.baseline[utility], look.unit),
            up.value(plan.curve.baseline[fairness], look.unit),
        ]
    )
    frame = _Frame(np.append(x, base[0]), np.append(y, base[1]))
    parts = frame.axes(across.label(look.unit), up.label(look.unit), look)
    if budget is not None and utility == "mean_distance":
        limit = min(float(frame.x(base[0] * (1 + budget / 100))), float(CHART[0] - EDGE[1]))
        parts.append(
            f'<rect x="{EDGE[0]}" y="{EDGE[2]}" width="{max(limit - EDGE[0], 0):.1f}" '
            f'height="{CHART[1] - EDGE[2] - EDGE[3]}" fill="{colors.accent}" fill-opacity="0.1"/>'
        )
        parts.append(
            _text(limit + 4, CHART[1] - EDGE[3] - 6, f"budget +{budget:g} %", colors.accent, anchor="start")
        )
    tints = colors.along_path(plan.t)
    jumps = np.diff(plan.path.arrangement) != 0
    spots = np.column_stack([frame.x(x), frame.y(y)])
    parts += [_line(spots[n : n + 2], to_hex(tints[n + 1]), 3) for n in range(len(x) - 1) if not jumps[n]]
    parts += [_dot(spot, tint, 2.2) for spot, tint in zip(spots.tolist(), tints, strict=True)]
    bx, by = float(frame.x(base[0])), float(frame.y(base[1]))
    parts.append(
        f'<circle cx="{bx:.1f}" cy="{by:.1f}" r="5" fill="{colors.page}" stroke="{colors.ink}" stroke-width="2"/>'
    )
    parts.append(_text(bx + 8, by - 6, "k-means++", colors.ink, anchor="start"))
    cx, cy = spots[i].tolist()
    side = "start" if cx < CHART[0] * 0.62 else "end"
    parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5.5" fill="{colors.ink}"/>')
    parts.append(
        _text(
            cx + (9 if side == "start" else -9),
            cy - 7,
            f"this plan, t = {plan.t[i]:g}",
            colors.ink,
            bold=True,
            anchor=side,
        )
    )
    return _svg(*CHART, parts, "Trade-off")


def distances_svg(evaluation: Evaluation, baseline: Evaluation, weights: Floats, look: Look) -> str:
    """Share of people within a distance as SVG."""
    colors, metres = look.palette, METRES[look.unit]
    top = max(evaluation.largest_distance, baseline.largest_distance, 1e-9)
    edges = np.linspace(0, top, 121)
    frame = _Frame(np.array([0, top / metres]), np.array([0.0, 100.0]), pad=(0, 0.04))
    parts = frame.axes(f"distance to the nearest facility, {look.unit}", f"% of {look.people}", look)
    for one, color, dash, name in (
        (baseline, colors.muted, "2 3", "k-means++"),
        (evaluation, colors.accent, "", "this plan"),
    ):
        share = cumulative(one.distance, weights, edges)
        spots = np.column_stack([frame.x(edges / metres), frame.y(share)])
        parts.append(_line(np.round(spots, 1), color, 2.2, dash=dash))
        end = float(frame.x(one.largest_distance / metres))
        parts.append(_dot([end, float(frame.y(100.0))], color, 4.5))
        row = 18 if one is evaluation else 34
        told = f"{name} {format_length(one.largest_distance, look.unit)}"
        parts.append(
            _text(end, float(frame.y(100.0)) + row, told, color, bold=one is evaluation, anchor="end")
        )
    return _svg(*CHART, parts, "Who lives how near")


class _Frame:
    """Maps values to pixels of a chart."""

    def __init__(self, x: Floats, y: Floats, pad: tuple[float, float] = (0.06, 0.12)) -> None:
        self.low = np.array([x.min(), y.min()], dtype=float)
        self.high = np.array([x.max(), y.max()], dtype=float)
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        self.low, self.high = (
            self.low - span * np.array(pad) * (self.low != 0),
            self.high + span * np.array(pad),
        )

    def x(self, value: npt.ArrayLike) -> Floats:
        """Pixels from the left."""
        share = (np.asarray(value) - self.low[0]) / (self.high[0] - self.low[0])
        return np.asarray(EDGE[0] + share * (CHART[0] - EDGE[0] - EDGE[1]))

    def y(self, value: npt.ArrayLike) -> Floats:
        """Pixels from the top."""
        share = (np.asarray(value) - self.low[1]) / (self.high[1] - self.low[1])
        return np.asarray(CHART[1] - EDGE[3] - share * (CHART[1] - EDGE[2] - EDGE[3]))

    def axes(self, across: str, up: str, look: Look) -> list[str]:
        """Grid lines, round numbers and what they mean."""
        colors, parts = look.palette, []
        for axis, parts_wanted in ((0, 5), (1, 4)):
            step = nice_step(float(self.high[axis] - self.low[axis]), parts_wanted)
            for value in np.arange(
                np.ceil(self.low[axis] / step) * step, self.high[axis] + step * 1e-6, step
            ):
                label = f"{value:.6g}"
                if axis == 0:
                    parts.append(_text(float(self.x(value)), CHART[1] - EDGE[3] + 15, label, colors.muted))
                else:
                    y = float(self.y(value))
                    parts.append(_line(np.array([[EDGE[0], y], [CHART[0] - EDGE[1], y]]), colors.grid, 1))
                    parts.append(_text(EDGE[0] - 6, y + 4, label, colors.muted, anchor="end"))
        middle = (CHART[1] - EDGE[3] + EDGE[2]) / 2
        parts.append(_text((EDGE[0] + CHART[0]) / 2, CHART[1] - 8, across, colors.muted))
        parts.append(f'<g transform="translate(11 {middle}) rotate(-90)">{_text(0, 0, up, colors.muted)}</g>')
        return parts


def _svg(width: int, height: int, parts: list[str], title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="Public Sans, system-ui, sans-serif" font-size="12">'
        f"{''.join(parts)}</svg>"
    )


def _points(spots: Floats) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in np.asarray(spots).tolist())


def _line(spots: Floats, color: str, width: float, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{_points(spots)}" fill="none" stroke="{color}" stroke-width="{width}" '
        f'stroke-linecap="round" stroke-linejoin="round"{dashes}/>'
    )


def _dot(spot: list[float], color: RGB | str, radius: float) -> str:
    fill = color if isinstance(color, str) else to_hex(color)
    return f'<circle cx="{spot[0]:.1f}" cy="{spot[1]:.1f}" r="{radius}" fill="{fill}"/>'


def _text(x: float, y: float, text: str, color: str, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )
