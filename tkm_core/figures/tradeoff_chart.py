"""The trade-off chart: utility against fairness as t grows."""

import itertools
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.figures.charts import FAIRNESS, UTILITY, layout, mark, significant, veil
from tkm_core.figures.drawn import DrawnFigure
from tkm_core.figures.labels import corner, nearby, shared
from tkm_core.figures.look import Look
from tkm_core.figures.palette import to_hex
from tkm_core.measures import Measure
from tkm_core.planning import Plan
from tkm_core.wording import dial_text

TINTS = 8  # colours of the curve


def tradeoff(
    plan: Plan,
    i: int,
    look: Look,
    *,
    utility: str = "mean_distance",
    fairness: str = "largest_distance",
    budget: float | None = None,
    others: Mapping[str, tuple[float, float]] | None = None,
    height: int = 232,
) -> DrawnFigure:
    """Utility against fairness over t, with the current t, the reference and other methods marked.

    Parameters
    ----------
    plan : Plan
    i : int
        The current t.
    look : Look
    utility, fairness : str
        Keys of `UTILITY` and `FAIRNESS`.
    budget : float, optional
        Accepted increase of the average distance in percent, drawn as a band.
    others : mapping of str to (float, float), optional
        Further methods: name to (utility, fairness) in metres.
    height : int
        In pixels.

    Returns
    -------
    DrawnFigure
        Its trace "plans" has one point for each t in the order of the path, so that a click identifies the t.
    """
    colors, across, up = look.palette, UTILITY[utility], FAIRNESS[fairness]
    x = np.array(significant(across.value(getattr(plan.curve, utility), look.unit)))
    y = np.array(significant(up.value(getattr(plan.curve, fairness), look.unit)))
    before, heading = plan.reference_evaluation(), escape(plan.reference.heading)
    lowest = float(across.value(plan.curve.baseline[utility], look.unit))
    measured = {
        name: (float(across.value(one, look.unit)), float(up.value(two, look.unit)))
        for name, (one, two) in (others or {}).items()
    }
    measured = {heading: (across.of(before, look.unit), up.of(before, look.unit)), **measured}
    rivals = dict(nearby(measured, (min(x), max(x)), (min(y), max(y))))
    own = rivals.pop(heading, None)
    frame = layout(look, height=height, x=across.label(look.unit), y=up.label(look.unit))
    marks = {**rivals, **({heading: own} if own else {})}
    frame["xaxis"]["range"] = _padded([*x, *(one for one, _ in marks.values())], 0.07, 0.09)
    frame["yaxis"]["range"] = _padded([*y, *(two for _, two in marks.values())], 0.12, 0.2)
    traces = [*_coloured(x, y, plan, look), _plans(x, y, plan, across, up, look)]
    if own:
        traces.append(mark([own[0]], [own[1]], colors.page, colors.ink, heading, 10))
    if rivals:
        rival_x, rival_y = zip(*rivals.values(), strict=True)
        traces.append(mark(rival_x, rival_y, colors.page, colors.muted, list(rivals), 8, symbol="diamond"))
    traces.append(mark([x[i]], [y[i]], colors.ink, colors.page, f"this plan, t = {dial_text(plan.t[i])}", 12))
    spans = [high - low for low, high in (frame["xaxis"]["range"], frame["yaxis"]["range"])]
    named = shared(marks, spans[0] * 0.3, spans[1] * 0.14)
    notes = [
        *(_note(one, two, name, frame, colors.ink, above=True) for one, two, name in named),
        _note(
            float(x[i]),
            float(y[i]),
            f"<b>this plan</b>, t = {dial_text(plan.t[i])}",
            frame,
            colors.ink,
            above=False,
        ),
    ]
    if any(abs(one - x[i]) < spans[0] * 0.3 and abs(two - y[i]) < spans[1] * 0.14 for one, two, _ in named):
        notes[-1] |= {"yanchor": "top", "yshift": -3}  # below the point, since another name is above it
    if not (abs(x[-1] - x[i]) < spans[0] * 0.35 and abs(y[-1] - y[i]) < spans[1] * 0.14):
        end = colors.path[-1]
        notes.append(
            _note(float(x[-1]), float(y[-1]), f"t = {dial_text(plan.t[-1])}", frame, end, above=True)
        )
    beyond = [f"{name} {one:.3g}, {two:.3g}" for name, (one, two) in measured.items() if name not in marks]
    if beyond:
        notes.append(corner(f"off the chart: {'; '.join(beyond)}", colors.muted))
    veil(frame, look)
    shapes = []
    if budget is not None and utility == "mean_distance":
        [limit] = significant([lowest * (1 + budget / 100)])
        shapes = _band(limit, frame, colors.accent)
        notes.append(
            {
                "x": min(limit, frame["xaxis"]["range"][1]),
                "y": 0,
                "yref": "paper",
                "text": f"accepted: +{budget:g} %",
                "xanchor": "left" if limit < np.mean(frame["xaxis"]["range"]) else "right",
                "yanchor": "bottom",
                "xshift": 4 if limit < np.mean(frame["xaxis"]["range"]) else -4,
                "font": {"color": colors.accent},
            }
        )
    return DrawnFigure(traces, {**frame, "shapes": shapes, "annotations": notes})


def _coloured(x: Floats, y: Floats, plan: Plan, look: Look) -> list[dict[str, Any]]:
    """The curve in a few colours from blue to red, with gaps where the arrangement jumps."""
    tints = look.palette.along_dial(len(plan))
    jumps = np.diff(plan.path.arrangement) != 0
    edges = np.linspace(0, len(x) - 1, TINTS + 1).astype(int)
    traces = []
    for first, last in itertools.pairwise(edges):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for at in range(first, last + 1):
            xs.append(float(x[at]))
            ys.append(float(y[at]))
            if at < last and jumps[at]:
                xs.append(None)
                ys.append(None)
        traces.append(
            {
                "mode": "lines",
                "x": xs,
                "y": ys,
                "line": {"width": 3, "color": to_hex(tints[(first + last) // 2])},
                "hoverinfo": "skip",
            }
        )
    return traces


def _plans(x: Floats, y: Floats, plan: Plan, across: Measure, up: Measure, look: Look) -> dict[str, Any]:
    """One small point for each t, to be seen and clicked."""
    return {
        "mode": "markers",
        "name": "plans",
        "x": x.tolist(),
        "y": y.tolist(),
        "customdata": [dial_text(t) for t in plan.t],
        "marker": {
            "size": 9,
            "opacity": 0.35,
            "color": list(range(len(plan))),
            "colorscale": [[n / 2, color] for n, color in enumerate(look.palette.path)],
        },
        "selected": {"marker": {"opacity": 0.35}},
        "unselected": {"marker": {"opacity": 0.35}},
        "hovertemplate": f"t = %{{customdata}}<br>{across.words(look.unit)} %{{x:.3g}}<br>"
        f"{up.words(look.unit)} %{{y:.3g}}<br>click to choose it<extra></extra>",
    }


def _note(x: float, y: float, text: str, frame: dict[str, Any], color: str, *, above: bool) -> dict[str, Any]:
    """A label beside a point, placed away from the nearest edge."""
    x, y = significant([x, y])
    low, high = frame["xaxis"]["range"]
    share = (x - low) / (high - low)
    anchor = "left" if share < 0.62 else "right"
    shift = (7 if anchor == "left" else -7) if not above or share < 0.2 or share > 0.8 else 0
    return {
        "x": x,
        "y": y,
        "text": text,
        "xanchor": "center" if above and 0.2 <= share <= 0.8 else anchor,
        "yanchor": "bottom",
        "xshift": shift if not above else (-6 if anchor == "left" else 6),
        "yshift": 6 if above else 3,
        "font": {"color": color},
    }


def _band(limit: float, frame: dict[str, Any], color: str) -> list[dict[str, Any]]:
    """The budget as a band with an edge."""
    low = frame["xaxis"]["range"][0]
    across = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    return [
        {
            "type": "rect",
            "x0": low,
            "x1": limit,
            "fillcolor": color,
            "opacity": 0.09,
            "line": {"width": 0},
            **across,
        },
        {
            "type": "line",
            "x0": limit,
            "x1": limit,
            "line": {"width": 1.4, "dash": "dot", "color": color},
            **across,
        },
    ]


def _padded(values: Sequence[float], before: float, after: float) -> list[float]:
    """The range of some values with a margin on both sides."""
    low, high = float(np.min(values)), float(np.max(values))
    span = high - low
    if span < 1e-6:  # all equal, apart from rounding
        span = max(abs(high), 1.0) * 0.1
    return significant([low - span * before, high + span * after], 8)
