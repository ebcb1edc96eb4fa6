"""Charts as plain SVG, for paper and for pages that open without a network."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.figures.charts import FAIRNESS, UTILITY
from tkm_core.figures.distances_chart import cumulative
from tkm_core.figures.labels import nearby
from tkm_core.figures.look import Look
from tkm_core.figures.palette import to_hex
from tkm_core.figures.scenario_chart import ACROSS, UP
from tkm_core.figures.svg import dot, line, picture, text
from tkm_core.measures import MEASURES
from tkm_core.planning import Plan
from tkm_core.units import METRES, format_length, nice_step, with_unit, worded
from tkm_core.wording import dial_text, renamed

CHART = (352, 230)
EDGE = (48, 10, 12, 40)  # margins of a chart: left, right, top, bottom
BUDGET_WIDTH = 106  # pixels that "accepted: +10 %" takes


def tradeoff_svg(plan: Plan, i: int, look: Look, *, utility: str, fairness: str, budget: float | None) -> str:
    """The trade-off as SVG."""
    across, up, colors = UTILITY[utility], FAIRNESS[fairness], look.palette
    x = across.value(getattr(plan.curve, utility), look.unit)
    y = up.value(getattr(plan.curve, fairness), look.unit)
    before = plan.reference_evaluation()
    base = np.array([across.of(before, look.unit), up.of(before, look.unit)])
    beside = {"": (float(base[0]), float(base[1]))}
    shown = bool(nearby(beside, (float(min(x)), float(max(x))), (float(min(y)), float(max(y)))))
    frame = _Frame(np.append(x, base[0]), np.append(y, base[1])) if shown else _Frame(x, y)
    parts = frame.axes(across.label(look.unit), up.label(look.unit), look)
    if budget is not None and utility == "mean_distance":
        lowest = float(across.value(plan.curve.baseline[utility], look.unit))
        limit = min(float(frame.x(lowest * (1 + budget / 100))), float(CHART[0] - EDGE[1]))
        parts.append(
            f'<rect x="{EDGE[0]}" y="{EDGE[2]}" width="{max(limit - EDGE[0], 0):.1f}" '
            f'height="{CHART[1] - EDGE[2] - EDGE[3]}" fill="{colors.accent}" fill-opacity="0.1"/>'
        )
        told = f"accepted: +{budget:g} %"
        # beside the limit if there is room; otherwise inside, in the corner that a falling curve leaves free
        parts.append(
            text(limit + 4, CHART[1] - EDGE[3] - 6, told, colors.accent, anchor="start")
            if limit + BUDGET_WIDTH < CHART[0]
            else text(limit - 4, EDGE[2] + 26, told, colors.accent, anchor="end")
        )
    tints = colors.along_dial(len(plan))
    jumps = np.diff(plan.path.arrangement) != 0
    spots = np.column_stack([frame.x(x), frame.y(y)])
    parts += [line(spots[n : n + 2], to_hex(tints[n + 1]), 3) for n in range(len(x) - 1) if not jumps[n]]
    parts += [dot(spot, tint, 2.2) for spot, tint in zip(spots.tolist(), tints, strict=True)]
    if shown:
        bx, by = float(frame.x(base[0])), float(frame.y(base[1]))
        parts.append(
            f'<circle cx="{bx:.1f}" cy="{by:.1f}" r="5" fill="{colors.page}" stroke="{colors.ink}" stroke-width="2"/>'
        )
        left = bx < CHART[0] * 0.62
        words = text(
            bx + (8 if left else -8),
            by - 6,
            plan.reference.heading,
            colors.ink,
            anchor="start" if left else "end",
        )
    else:
        told = f"off the chart: {plan.reference.heading} {base[0]:.3g}, {base[1]:.3g}"
        # the curve falls from the upper left to the lower right: its other corners are free
        words = (
            text(EDGE[0] + 6, CHART[1] - EDGE[3] - 6, told, colors.muted, anchor="start")
            if spots[i][1] < EDGE[2] + 40
            else text(CHART[0] - EDGE[1], EDGE[2] + 8, told, colors.muted, anchor="end")
        )
    parts.append(words)
    cx, cy = spots[i].tolist()
    side = "start" if cx < CHART[0] * 0.62 else "end"
    parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5.5" fill="{colors.ink}"/>')
    parts.append(
        text(
            cx + (9 if side == "start" else -9),
            cy - 7,
            f"this plan, t = {dial_text(plan.t[i])}",
            colors.ink,
            bold=True,
            anchor=side,
        )
    )
    return picture(*CHART, parts, "Trade-off")


def scenarios_svg(
    figures: Sequence[Mapping[str, float]], curves: Sequence[Mapping[str, Sequence[float]]], look: Look
) -> str:
    """The chart of saved scenarios as SVG, each a numbered disc on its curve; parameters as for `scenarios_chart`."""
    across, up, colors = MEASURES[ACROSS], MEASURES[UP], look.palette

    def shown(of: Mapping[str, float] | Mapping[str, Sequence[float]]) -> Floats:
        x, y = across.value(of.get(ACROSS, ()), look.unit), up.value(of.get(UP, ()), look.unit)
        return np.column_stack([np.atleast_1d(x), np.atleast_1d(y)])

    lines, spots = [shown(curve) for curve in curves], [shown(one) for one in figures]
    all_of_them = np.concatenate([*lines, *spots])
    frame = _Frame(all_of_them[:, 0], all_of_them[:, 1])
    parts = frame.axes(across.label(look.unit), up.label(look.unit), look)
    tints = [to_hex(colors.facility(number)) for number in range(len(figures))]
    for curve, tint in zip(lines, tints, strict=True):
        parts.append(line(np.column_stack([frame.x(curve[:, 0]), frame.y(curve[:, 1])]).round(1), tint, 2))
    for number, (spot, tint) in enumerate(zip(spots, tints, strict=True), start=1):
        x, y = float(frame.x(spot[0, 0])), float(frame.y(spot[0, 1]))
        parts += [dot([x, y], tint, 9), text(x, y + 4, str(number), colors.page, bold=True)]
    return picture(*CHART, parts, "Average against largest distance")


def distances_svg(
    evaluation: Evaluation, before: Evaluation, weights: Floats, look: Look, *, heading: str
) -> str:
    """Share of people within a distance as SVG."""
    colors, metres = look.palette, METRES[look.unit]
    top = max(evaluation.largest_distance, before.largest_distance, 1e-9)
    edges = np.linspace(0, top, 121)
    frame = _Frame(np.array([0, top / metres]), np.array([0.0, 100.0]), pad=(0, 0.04))
    across = renamed(worded("distance to their facility", look.unit), look.facility)
    parts = frame.axes(with_unit(across, look.unit), f"% of {look.people}", look)
    lines = [(before, colors.muted, "2 3", heading), (evaluation, colors.accent, "", "this plan")]
    if evaluation is before:  # today's situation
        lines = [(evaluation, colors.accent, "", heading)]
    for one, color, dash, name in lines:
        trips = one.trips(weights)
        share = cumulative(trips.distance, trips.people, edges)
        spots = np.column_stack([frame.x(edges / metres), frame.y(share)])
        parts.append(line(np.round(spots, 1), color, 2.2, dash=dash))
        end = float(frame.x(one.largest_distance / metres))
        parts.append(dot([end, float(frame.y(100.0))], color, 4.5))
        row = float(frame.y(24.0 if one is evaluation else 8.0))  # no curve passes low on the right
        told = f"{name}: all within {format_length(one.largest_distance, look.unit)}"
        parts.append(text(CHART[0] - EDGE[1], row, told, color, bold=one is evaluation, anchor="end"))
    return picture(*CHART, parts, "How near people live")


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
                    parts.append(text(float(self.x(value)), CHART[1] - EDGE[3] + 15, label, colors.muted))
                else:
                    y = float(self.y(value))
                    parts.append(line(np.array([[EDGE[0], y], [CHART[0] - EDGE[1], y]]), colors.grid, 1))
                    parts.append(text(EDGE[0] - 6, y + 4, label, colors.muted, anchor="end"))
        middle = (CHART[1] - EDGE[3] + EDGE[2]) / 2
        parts.append(text((EDGE[0] + CHART[0]) / 2, CHART[1] - 8, across, colors.muted))
        parts.append(f'<g transform="translate(11 {middle}) rotate(-90)">{text(0, 0, up, colors.muted)}</g>')
        return parts
