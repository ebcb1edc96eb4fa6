"""What all charts share: layout, label backgrounds and markers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tkm_core import measures
from tkm_core.arrays import Floats
from tkm_core.figures.look import Look
from tkm_core.figures.palette import rgb
from tkm_core.measures import shown_in

FONT = "Public Sans, system-ui, sans-serif"
CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


UTILITY, FAIRNESS = shown_in(measures.UTILITY), shown_in(measures.FAIRNESS)


def layout(look: Look, *, height: int, x: str, y: str) -> dict[str, Any]:
    """The Plotly layout of every chart: transparent, pale grid lines, no legend, labels without arrows."""
    colors = look.palette
    axis = {
        "gridcolor": colors.grid,
        "zeroline": False,
        "tickfont": {"color": colors.muted},
        "fixedrange": True,
    }
    title = {"font": {"size": 12, "color": colors.muted}, "standoff": 6}
    return {
        "template": {"layout": {"annotationdefaults": {"showarrow": False}}},
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
        "yaxis": {**axis, **({"title": {"text": y, **title}} if y else {})},
        "dragmode": False,
        "clickmode": "event+select",
    }


def veil(frame: dict[str, Any], look: Look) -> None:
    """Give every label of a chart a background, so that it can be read on top of a curve."""
    behind = "rgba({},{},{},0.72)".format(*rgb(look.palette.page))
    frame["template"]["layout"]["annotationdefaults"]["bgcolor"] = behind


def significant(values: Floats | Sequence[float], digits: int = 5) -> list[float]:
    """Values rounded to `digits` significant digits: no screen shows more, and they are sent whenever the dial turns.

    Examples
    --------
    >>> significant([12.3456789, 0.00123456789])
    [12.346, 0.0012346]
    """
    return [float(f"{value:.{digits}g}") for value in np.asarray(values, float).tolist()]


def mark(
    x: Sequence[float],
    y: Sequence[float],
    fill: str,
    rim: str,
    name: str | list[str],
    size: int,
    symbol: str = "circle",
) -> dict[str, Any]:
    """Points with a rim, which stay visible whatever is clicked."""
    return {
        "mode": "markers",
        "x": significant(x),
        "y": significant(y),
        "text": name,
        "hoverinfo": "text",
        "marker": {
            "size": size,
            "color": fill,
            "line": {"width": 2, "color": rim},
            **({} if symbol == "circle" else {"symbol": symbol}),
        },
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
