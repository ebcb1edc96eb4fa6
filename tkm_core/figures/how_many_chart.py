"""Charts of measures against the number of facilities."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tkm_core.figures.charts import layout
from tkm_core.figures.look import Look
from tkm_core.measures import COUNTED, shown_in
from tkm_core.planning import Count, series

COUNT_AXES = shown_in(COUNTED)


def values(counts: Sequence[Count], side: str, name: str, unit: str) -> Any:
    """A measure for each k as shown: in the unit, or in percent."""
    return COUNT_AXES[name].value(series(counts, side, name), unit)


def by_count(counts: Sequence[Count], name: str, look: Look, *, k: int) -> go.Figure:
    """One measure against k, for the plan and its reference, with the chosen k marked.

    Parameters
    ----------
    counts : sequence of Count
    name : str
        Key of `COUNT_AXES`.
    look : Look
    k : int
        The chosen number.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    colors, axis = look.palette, COUNT_AXES[name]
    label = axis.label(look.unit)
    frame = layout(look, height=250, x="facilities", y="")
    numbers = [count.k for count in counts]
    frame["xaxis"] |= {"tickvals": numbers, "range": [min(numbers) - 0.4, max(numbers) + 0.4]}
    frame["yaxis"]["rangemode"] = "tozero"
    frame["title"] = {
        "text": label[:1].upper() + label[1:],
        "font": {"size": 13, "color": colors.ink},
        "x": 0,
        "xanchor": "left",
        "y": 0.98,
        "yanchor": "top",
    }
    frame["margin"] = {"l": 46, "r": 10, "t": 34, "b": 36}
    traces = []
    for side, words, color, dash in (
        ("reference", counts[0].against.words, colors.muted, "dot"),
        ("tilted", "this plan", colors.accent, "solid"),
    ):
        shown = values(counts, side, name, look.unit)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": numbers,
                "y": np.round(shown, 4).tolist(),
                "line": {"width": 2.2, "color": color, "dash": dash},
                "marker": {
                    "size": [11 if number == k else 6 for number in numbers],
                    "color": color if side == "tilted" else colors.page,
                    "opacity": 1,
                    "line": {"width": 1.8, "color": color},
                },
                "hovertemplate": f"{escape(words)}, %{{x}} facilities: %{{y:.3g}}<extra></extra>",
            }
        )
    return go.Figure(traces, frame)


def count_words(counts: Sequence[Count], name: str, look: Look) -> str:
    """The chart in a sentence, as its text alternative."""
    tilted, base = (values(counts, side, name, look.unit) for side in ("tilted", "reference"))
    axis = COUNT_AXES[name]
    label = axis.label(look.unit)
    return (
        f"{label} against the number of facilities: from {tilted[0]:.3g} with {counts[0].k} to {tilted[-1]:.3g} with "
        f"{counts[-1].k} at this setting of the dial, from {base[0]:.3g} to {base[-1]:.3g} for "
        f"{counts[0].against.words}."
    )
