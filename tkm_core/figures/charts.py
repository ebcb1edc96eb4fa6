"""What all charts share: the frame, the measures on their axes, marks."""

from collections.abc import Sequence
from typing import Any

from tkm_core import measures
from tkm_core.figures.look import Look
from tkm_core.figures.palette import rgb
from tkm_core.measures import shown_in

FONT = "Public Sans, system-ui, sans-serif"
CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


UTILITY, FAIRNESS = shown_in(measures.UTILITY), shown_in(measures.FAIRNESS)


def layout(look: Look, *, height: int, x: str, y: str) -> dict[str, Any]:
    """The frame of every chart: transparent, quiet lines, no legend."""
    colors = look.palette
    axis = {
        "gridcolor": colors.grid,
        "linecolor": colors.border,
        "zeroline": False,
        "tickfont": {"size": 12, "color": colors.muted},
        "fixedrange": True,
        "automargin": False,
        "ticks": "",
    }
    title = {"font": {"size": 12, "color": colors.muted}, "standoff": 6}
    return {
        "height": height,
        "margin": {"l": 50, "r": 8, "t": 4, "b": 38},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": colors.ink},
        "showlegend": False,
        "hoverlabel": {
            "align": "left",
            "bgcolor": colors.ink,
            "bordercolor": colors.ink,
            "font": {"family": FONT, "size": 12, "color": colors.page},
        },
        "xaxis": {**axis, "title": {"text": x, **title}, "showgrid": False},
        "yaxis": {**axis, "title": {"text": y, **title}},
        "dragmode": False,
        "hovermode": "closest",
        "clickmode": "event+select",
    }


def veil(look: Look) -> str:
    """What stands behind a label, so that it can be read on top of a curve."""
    return "rgba({},{},{},0.72)".format(*rgb(look.palette.page))


def mark(
    x: Sequence[float],
    y: Sequence[float],
    fill: str,
    rim: str,
    name: str | list[str],
    size: int,
    symbol: str = "circle",
) -> dict[str, Any]:
    """Points with a rim that stand out whatever is clicked."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [float(value) for value in x],
        "y": [float(value) for value in y],
        "text": name,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": size, "color": fill, "symbol": symbol, "line": {"width": 2, "color": rim}},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
