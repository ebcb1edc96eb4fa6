"""Trade-off chart of saved scenarios, each with its curve and its point."""

from collections.abc import Mapping, Sequence
from html import escape

from tkm_core.figures.charts import layout, mark
from tkm_core.figures.drawn import DrawnFigure
from tkm_core.figures.look import Look
from tkm_core.figures.palette import to_hex
from tkm_core.measures import MEASURES

ACROSS, UP = "mean_distance", "largest_distance"
HEIGHT = 320


def scenarios_chart(
    names: Sequence[str],
    figures: Sequence[Mapping[str, float]],
    curves: Sequence[Mapping[str, Sequence[float]]],
    look: Look,
) -> DrawnFigure:
    """Average against largest distance: every scenario as a point on its own curve.

    Parameters
    ----------
    names : sequence of str
    figures : sequence of mapping
        For each scenario its measures in metres.
    curves : sequence of mapping
        For each scenario the two measures at every setting of the dial, in metres.
    look : Look

    Returns
    -------
    DrawnFigure
    """
    across, up, colors = MEASURES[ACROSS], MEASURES[UP], look.palette
    frame = layout(look, height=HEIGHT, x=across.label(look.unit), y=up.label(look.unit))
    traces, notes = [], []
    for number, (name, told, curve) in enumerate(zip(names, figures, curves, strict=True)):
        tint = to_hex(colors.facility(number))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [float(across.value(value, look.unit)) for value in curve.get(ACROSS, ())],
                "y": [float(up.value(value, look.unit)) for value in curve.get(UP, ())],
                "line": {"color": tint, "width": 2},
                "opacity": 0.55,
                "hoverinfo": "skip",
            }
        )
        x, y = float(across.value(told[ACROSS], look.unit)), float(up.value(told[UP], look.unit))
        traces.append(mark([x], [y], tint, colors.ink, escape(name), 13))
        notes.append(
            {
                "x": x,
                "y": y,
                "text": f"<b>{escape(name)}</b>",
                "xanchor": "left",
                "xshift": 10,
                "yshift": 10,
                "font": {"size": 12, "color": colors.ink},
            }
        )
    return DrawnFigure(traces, {**frame, "annotations": notes})


def scenario_words(names: Sequence[str], figures: Sequence[Mapping[str, float]], look: Look) -> str:
    """The chart in words, as its text alternative.

    Examples
    --------
    >>> scenario_words(["A"], [{"mean_distance": 1500.0, "largest_distance": 9000.0}], Look())
    'Average and largest distance, km. A: 1.50 and 9.00.'
    """
    across, up = MEASURES[ACROSS], MEASURES[UP]
    told = "; ".join(
        f"{name}: {across.value(one[ACROSS], look.unit):.2f} and {up.value(one[UP], look.unit):.2f}"
        for name, one in zip(names, figures, strict=True)
    )
    return f"Average and largest distance, {look.unit}. {told}."
