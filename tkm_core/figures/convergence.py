"""Convergence chart: the cost of Newton and SGD step by step, from the same starts."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from tkm_core.figures.charts import layout
from tkm_core.figures.look import Look
from tkm_core.methods import SolverComparison, SolverRun

COST_WORDS = {
    "tilted_sse": "tilted SSE",
    "city_cost": "city-wide tilted cost",
    "sse": "SSE",
}
ACROSS = {"steps": "steps", "seconds": "seconds"}
POINTS = 160  # points of a line; more could not be seen


def convergence(
    compared: SolverComparison, look: Look, *, cost: str = "tilted_sse", across: str = "steps"
) -> go.Figure:
    """A cost against steps or seconds: Newton solid, SGD dotted, the full search as a horizontal line.

    Parameters
    ----------
    compared : SolverComparison
    look : Look
    cost : str
        Key of `COST_WORDS`.
    across : {"steps", "seconds"}
        Seconds are those of the whole descent, spread evenly over its steps.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    colors = look.palette
    frame = layout(look, height=400, x=f"{ACROSS[across]} (logarithmic)", y=COST_WORDS[cost])
    traces: list[dict[str, Any]] = []
    for words, runs, color, dash in (
        ("SGD", compared.sgd, colors.muted, "dot"),
        ("Newton", compared.newton, colors.accent, "solid"),
    ):
        traces += [
            _way(run, f"{words}, start {n + 1}", cost, across, color, dash) for n, run in enumerate(runs)
        ]
    xs = np.concatenate([trace["x"] for trace in traces])
    ys = np.concatenate([trace["y"] for trace in traces])
    low, high = float(np.log10(xs.min())), float(np.log10(xs.max()))
    frame["xaxis"] |= {
        "type": "log",
        "range": [low - 0.03, high + 0.12 * (high - low)],
        **_ticks(across, low, high),
    }
    level = compared.search[cost]
    bottom, top = np.log10(min(ys.min(), level)), np.log10(ys.max())
    frame["yaxis"] |= {"type": "log", "range": [bottom - 0.08 * (top - bottom), top + 0.05 * (top - bottom)]}
    frame["yaxis"] |= _round_ticks(bottom, top)
    frame["margin"] = {"l": 58, "r": 10, "t": 8, "b": 42}
    line = {"width": 1.4, "dash": "dash", "color": colors.ink}
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": line}]
    notes = [
        _note(compared.newton, cost, across, "Newton", colors.accent),
        _note(compared.sgd, cost, across, "SGD", colors.muted),
        {
            "xref": "paper",
            "x": 0,
            "y": float(np.log10(level)),
            "text": "the whole search",
            "xanchor": "left",
            "yanchor": "bottom",
            "font": {"size": 12, "color": colors.ink},
        },
    ]
    return go.Figure(traces, {**frame, "shapes": shapes, "annotations": notes})


def _along(run: SolverRun, across: str) -> Any:
    """The x value of each step; the start is at half a step, since a logarithmic axis has no zero."""
    steps = np.maximum(np.arange(run.steps + 1), 0.5)
    return steps if across == "steps" else steps * run.seconds / max(run.steps, 1)


def _way(run: SolverRun, name: str, cost: str, across: str, color: str, dash: str) -> dict[str, Any]:
    """The line of one run."""
    keep = np.unique(np.rint(np.geomspace(1, run.steps + 1, POINTS)).astype(int) - 1)
    told = "step %{customdata}" if across == "steps" else "%{x:.3g} s, step %{customdata}"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": _along(run, across)[keep].tolist(),
        "y": [float(f"{value:.6g}") for value in run.cost(cost)[keep]],
        "customdata": keep.tolist(),
        "line": {"width": 2.2 if dash == "solid" else 1.6, "color": color, "dash": dash},
        "hovertemplate": f"{name}, {told}: %{{y:.4g}}<extra></extra>",
    }


def _note(runs: tuple[SolverRun, ...], cost: str, across: str, text: str, color: str) -> dict[str, Any]:
    """The solver’s name at the end of its longest line."""
    last = max(runs, key=lambda run: _along(run, across)[-1])
    return {
        "x": float(np.log10(_along(last, across)[-1])),
        "y": float(np.log10(last.end(cost))),
        "text": f"<b>{text}</b>",
        "xanchor": "left",
        "xshift": 5,
        "yanchor": "middle",
        "font": {"size": 13, "color": color},
    }


def _ticks(across: str, low: float, high: float) -> dict[str, Any]:
    """Ticks of the horizontal axis, with the start named."""
    if across == "seconds":
        values = [10.0**power for power in range(int(np.ceil(low)), int(np.floor(high)) + 1)]
        return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}
    values = [0.5, *(10.0**power for power in range(int(np.floor(high)) + 1))]
    return {"tickvals": values, "ticktext": ["start", *(f"{value:,.0f}" for value in values[1:])]}


def _round_ticks(bottom: float, top: float) -> dict[str, Any]:
    """About six round ticks on a logarithmic axis of any length."""
    raw = 10 ** np.linspace(bottom, top, 6)
    values = sorted({float(f"{value:.{1 if top - bottom > 0.5 else 2}g}") for value in raw})
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}


def convergence_words(compared: SolverComparison, cost: str) -> str:
    """The chart in a sentence, as its text alternative."""

    def told(words: str, runs: tuple[SolverRun, ...]) -> str:
        """The result of one solver as a clause."""
        ends = [run.end(cost) for run in runs]
        steps = sorted(run.steps for run in runs)
        count = f"{steps[0]}" if steps[0] == steps[-1] else f"{steps[0]} to {steps[-1]}"
        return f"{words} ends between {min(ends):.4g} and {max(ends):.4g} after {count} steps"

    return (
        f"{COST_WORDS[cost][:1].upper()}{COST_WORDS[cost][1:]} along the steps from {len(compared.newton)} starts at "
        f"t = {compared.t:g} with {compared.k} facilities: {told('Newton', compared.newton)}, "
        f"{told('SGD', compared.sgd)}; the whole search reaches {compared.search[cost]:.4g}."
    )
