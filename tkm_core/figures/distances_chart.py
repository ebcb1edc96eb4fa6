"""Who lives how near: the share of people within a distance."""

from html import escape
from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.figures.charts import layout, mark, veil
from tkm_core.figures.drawn import DrawnFigure
from tkm_core.figures.look import Look
from tkm_core.planning import AVERAGE
from tkm_core.units import METRES, with_unit, worded

POINTS = 121  # along a curve, evenly: the browser knows where each lies without being told


def cumulative(distance: Floats, weights: Floats, edges: Floats) -> Floats:
    """Share of people (in percent) within each of the given distances.

    Examples
    --------
    >>> cumulative(np.array([1.0, 2.0, 2.0, 5.0]), np.ones(4), np.array([0.0, 2.0, 5.0])).tolist()
    [0.0, 75.0, 100.0]
    """
    place = np.searchsorted(edges, distance)
    counts = np.bincount(place, weights, minlength=len(edges) + 1)[: len(edges)]
    return 100 * np.cumsum(counts) / weights.sum()


def distances(
    evaluation: Evaluation,
    before: Evaluation,
    weights: Floats,
    look: Look,
    *,
    heading: str = AVERAGE.heading,
    standard: float | None = None,
    height: int = 232,
) -> DrawnFigure:
    """Share of people within a distance, this plan and, under its heading, what it is compared with.

    Parameters
    ----------
    evaluation, before : Evaluation
        Of the plan and of what it is compared with, in metres.
    weights : ndarray of shape (n,)
        People at each resident point.
    look : Look
    heading : str
        What the plan is compared with, in a word or two.
    standard : float, optional
        A service standard in metres, drawn as a line.
    height : int
        In pixels.

    Returns
    -------
    DrawnFigure
    """
    colors, metres = look.palette, METRES[look.unit]
    top = max(evaluation.largest_distance, before.largest_distance, 1.0)
    edges = np.linspace(0, top, POINTS)
    frame = layout(
        look, height=height, x=with_unit(worded("distance to their facility", look.unit), look.unit), y=""
    )
    frame["margin"]["l"] = 44
    frame["yaxis"] |= {"range": [0, 108], "tickvals": [0, 50, 100], "ticktext": ["0 %", "50 %", "100 %"]}
    frame["xaxis"]["range"] = [0, top / metres * 1.06]
    frame["hovermode"] = "x"
    traces: list[dict[str, Any]] = []
    notes = []
    lines = [
        (before, colors.muted, "dot", escape(heading)),
        (evaluation, colors.accent, "solid", "this plan"),
    ]
    alone = evaluation is before  # how things stand: one line, and nothing to hold against it
    if alone:
        lines = [(evaluation, colors.accent, "solid", escape(heading))]
    for one, color, dash, name in lines:
        share = cumulative(one.distance, weights, edges)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x0": 0,
                "dx": top / metres / (POINTS - 1),
                "y": np.round(share, 1).tolist(),
                "line": {"width": 2.4 if dash == "solid" else 1.8, "color": color, "dash": dash},
                "hovertemplate": f"{name}: %{{y:.1f}} % within %{{x:.2f}} {look.unit}<extra></extra>",
            }
        )
        end = one.largest_distance / metres
        traces.append(
            mark([end], [100], color if dash == "solid" else colors.page, color, f"farthest, {name}", 9)
        )
        notes.append(_end_note(end, name, color, evaluation, before, one, look))
    shapes = []
    if standard is not None and evaluation.share_within is not None and before.share_within is not None:
        at = standard / metres
        shapes = [
            {
                "type": "line",
                "x0": at,
                "x1": at,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"width": 1, "color": colors.border},
                "layer": "below",
            }
        ]
        left = at < top / metres * 0.6
        notes.append(
            {
                "x": at,
                "y": 36,
                "text": f"within {at:g} {look.unit}<br><b>{100 * evaluation.share_within:.1f} %</b> of {look.people}"
                + ("" if alone else f",<br>{escape(heading)} {100 * before.share_within:.1f} %"),
                "showarrow": False,
                "align": "left" if left else "right",
                "xanchor": "left" if left else "right",
                "xshift": 8 if left else -8,
                "yanchor": "top",
                "font": {"size": 12, "color": colors.ink},
            }
        )
    notes = [{**note, "bgcolor": veil(look)} for note in notes]
    return DrawnFigure(traces, {**frame, "shapes": shapes, "annotations": notes})


def _end_note(
    end: float, name: str, color: str, plan: Evaluation, base: Evaluation, one: Evaluation, look: Look
) -> dict[str, Any]:
    """Name and length at the end of a curve; two ends that meet step aside for one another."""
    metres = METRES[look.unit]
    top = max(plan.largest_distance, base.largest_distance) / metres
    close = abs(plan.largest_distance - base.largest_distance) / metres < top * 0.24
    first = one.largest_distance == min(plan.largest_distance, base.largest_distance)
    if plan.largest_distance == base.largest_distance:
        first = one is plan
    side = ("right" if first else "left") if close and end < top * 0.86 else "right"
    drop = -8 if first or not close else -42
    return {
        "x": end,
        "y": 100,
        "text": f"<b>{name}</b><br>{end:.1f} {look.unit}"
        if name == "this plan"
        else f"{name}<br>{end:.1f} {look.unit}",
        "showarrow": False,
        "xanchor": side,
        "yanchor": "top",
        "yshift": drop,
        "xshift": 6 if side == "right" else -2,
        "align": side,
        "font": {"size": 12, "color": color},
    }
