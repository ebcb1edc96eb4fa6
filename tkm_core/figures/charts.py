"""What all charts share: the frame, the measures on their axes, marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.figures.look import Look
from tkm_core.figures.palette import rgb
from tkm_core.stories.plan_story import METRES, POWERS

FONT = "Public Sans, system-ui, sans-serif"
CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A measure on an axis: its name in the curve, in words, and the power of the length unit it is in."""

    key: str
    words: str
    power: int

    def label(self, unit: str) -> str:
        """With its unit: "average distance, km"."""
        return f"{self.words}, {unit}{POWERS[self.power]}" if self.power else self.words

    def value(self, metres: npt.ArrayLike, unit: str) -> Floats:
        """In the unit of the label."""
        return np.asarray(metres, dtype=float) / METRES[unit] ** self.power


UTILITY = {
    "mean_distance": Axis("mean_distance", "average distance", 1),
    "sse": Axis("sse", "mean squared distance (SSE)", 2),
}
FAIRNESS = {
    "largest_distance": Axis("largest_distance", "largest distance", 1),
    "p95_distance": Axis("p95_distance", "95th percentile", 1),
    "overall_variance_of_distance": Axis("overall_variance_of_distance", "variance of the distance", 2),
    "overall_variance": Axis("overall_variance", "variance of the squared distance", 4),
}


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
