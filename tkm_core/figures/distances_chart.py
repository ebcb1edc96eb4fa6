"""Chart of the share of people within a distance (cumulative distribution)."""

from html import escape
from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.figures.charts import layout, mark, significant, veil
from tkm_core.figures.drawn import DrawnFigure
from tkm_core.figures.look import Look
from tkm_core.planning import AVERAGE
from tkm_core.units import METRES, with_unit, worded

POINTS = 101  # evenly spaced along a curve, so that only the first x and the step are sent


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
    """Share of people within a distance, for this plan and for its reference.

    Parameters
    ----------
    evaluation, before : Evaluation
        Of the plan and of its reference, in metres.
    weights : ndarray of shape (n,)
        People at each resident point.
    look : Look
    heading : str
        Short name of the reference.
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
    [step] = significant([top / metres / (POINTS - 1)], 10)
    frame = layout(
        look, height=height, x=with_unit(worded("distance to their facility", look.unit), look.unit), y=""
    )
    frame["margin"]["l"] = 44
    frame["yaxis"] |= {"range": [0, 108], "tickvals": [0, 50, 100], "ticktext": ["0 %", "50 %", "100 %"]}
    frame["xaxis"]["range"] = significant([0, top / metres * 1.06])
    frame["hovermode"] = "x"
    traces: list[dict[str, Any]] = []
    notes = []
    lines = [
        (before, colors.muted, "dot", escape(heading)),
        (evaluation, colors.accent, "", "this plan"),
    ]
    alone = evaluation is before  # today's situation: a single line without comparison
    if alone:
        lines = [(evaluation, colors.accent, "", escape(heading))]
    room = 0.022 * max(len(heading), len("this plan"))  # of the width, for the longer name
    for one, color, dash, name in lines:
        trips = one.trips(weights)
        share = cumulative(trips.distance, trips.people, edges)
        traces.append(
            {
                "mode": "lines",
                "x0": 0,
                "dx": step,
                "y": [int(one) if one.is_integer() else one for one in np.round(share, 1).tolist()],
                "line": {"width": 1.8, "color": color, "dash": dash}
                if dash
                else {"width": 2.4, "color": color},
                "hovertemplate": f"{name}: %{{y:.1f}} % within %{{x:.2f}} {look.unit}<extra></extra>",
            }
        )
        end = one.largest_distance / metres
        traces.append(mark([end], [100], colors.page if dash else color, color, f"farthest, {name}", 9))
        notes.append(_end_note(end, name, color, evaluation, before, one, look, room))
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
                "align": "left" if left else "right",
                "xanchor": "left" if left else "right",
                "xshift": 8 if left else -8,
                "yanchor": "top",
            }
        )
    veil(frame, look)
    return DrawnFigure(traces, {**frame, "shapes": shapes, "annotations": notes})


def _end_note(
    end: float,
    name: str,
    color: str,
    plan: Evaluation,
    base: Evaluation,
    one: Evaluation,
    look: Look,
    room: float,
) -> dict[str, Any]:
    """Name and length at the end of a curve; labels of two ends that meet are moved apart."""
    metres = METRES[look.unit]
    top = max(plan.largest_distance, base.largest_distance) / metres
    close = abs(plan.largest_distance - base.largest_distance) / metres < top * room
    first = one.largest_distance == min(plan.largest_distance, base.largest_distance)
    if plan.largest_distance == base.largest_distance:
        first = one is plan
    side = ("right" if first else "left") if close and end < top * 0.86 else "right"
    drop = -8 if first or not close else -42
    return {
        "x": significant([end])[0],
        "y": 100,
        "text": f"<b>{name}</b><br>{end:.1f} {look.unit}"
        if name == "this plan"
        else f"{name}<br>{end:.1f} {look.unit}",
        "xanchor": side,
        "yanchor": "top",
        "yshift": drop,
        "xshift": 6 if side == "right" else -2,
        "align": side,
        "font": {"color": color},
    }
