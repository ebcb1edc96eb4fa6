"""Layout of the experiments' figures: panels side by side with one legend."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tkm_core.figures import Look, layout, palette, to_hex

ROW_HEIGHT = 300
EDGES, BETWEEN, ABOVE_TITLES = 112, 74, 30  # pixels around panels, between them, and up to the legend
# Plotly's active button is white in every theme.
BUTTON, BUTTON_RIM, BUTTON_INK = ("#D3DCDA", "#8A9A9F", "#16242A")


def panels(
    titles: Sequence[str], *, x: str, y: str, theme: str, columns: int = 2, height: int = ROW_HEIGHT
) -> go.Figure:
    """An empty figure with one panel per title; ``place(i, columns)`` says where panel i is."""
    columns = min(columns, len(titles))
    rows = math.ceil(len(titles) / columns)
    full = EDGES + rows * height
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=list(titles),
        vertical_spacing=min(0.5, BETWEEN / (full - EDGES)),
        horizontal_spacing=0.09 if columns > 1 else 0,
    )
    frame = layout(Look(theme=theme), height=full, x=x, y=y)
    across, up = frame.pop("xaxis"), frame.pop("yaxis")
    colors = palette(theme)
    frame |= {
        "margin": {"l": 64, "r": 16, "t": 32, "b": 48},
        "showlegend": True,
        "dragmode": "zoom",
        "legend": legend_above(full - EDGES),
    }
    figure.update_layout(frame)
    figure.update_xaxes({**across, "fixedrange": False})
    figure.update_yaxes({**up, "fixedrange": False, "title": None})
    for row in range(1, rows + 1):
        figure.update_yaxes(title=up.get("title"), row=row, col=1)
    figure.update_annotations(font={"size": 14, "color": colors.ink})
    return figure


def legend_above(tall: float) -> dict[str, Any]:
    """A legend above the panels' titles; the margin grows if it wraps on a narrow screen."""
    place = {"x": 0, "y": 1 + ABOVE_TITLES / tall, "yanchor": "bottom"}
    return {"orientation": "h", "font": {"size": 13}, **place}


def linear_or_log(figure: go.Figure) -> None:
    """Two buttons that switch every vertical axis: on a linear one, a single large bar hides the others."""
    axes = [name for name in figure.layout.to_plotly_json() if name.startswith("yaxis")]
    buttons = [
        {"label": kind, "method": "relayout", "args": [{f"{axis}.type": kind for axis in axes}]}
        for kind in ("linear", "log")
    ]
    figure.update_layout(
        updatemenus=[
            {
                "type": "buttons",
                "direction": "right",
                "buttons": buttons,
                "x": 1,
                "xanchor": "right",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 26, "r": 0},
                "showactive": True,
                "bgcolor": BUTTON,
                "bordercolor": BUTTON_RIM,
                "font": {"size": 12, "color": BUTTON_INK},
            }
        ]
    )


def one_below_another(figure: go.Figure) -> go.Figure:
    """The same figure for a narrow screen: all panels in one column, each under its title.

    >>> wide = panels(["a", "b"], x="", y="", theme="light")
    >>> [one_below_another(wide).layout[axis].domain for axis in ("xaxis", "xaxis2")]
    [(0, 1), (0, 1)]
    """
    narrow = go.Figure(figure)
    grid = [
        (narrow.layout[up.anchor.replace("x", "xaxis")], up)
        for up in narrow.select_yaxes()
        if up.domain is not None and up.overlaying is None
    ]
    if all(across.domain[1] - across.domain[0] > 0.9 for across, _ in grid):
        return narrow
    grid.sort(key=lambda pair: (-pair[1].domain[0], pair[0].domain[0]))
    inner = figure.layout.height - EDGES
    tall = [(up.domain[1] - up.domain[0]) * inner for _, up in grid]
    full = sum(tall) + BETWEEN * (len(grid) - 1)
    tops = {(sum(across.domain) / 2, up.domain[1]): n for n, (across, up) in enumerate(grid)}
    titles = {n: note for note in narrow.layout.annotations if (n := _nearest(tops, note)) is not None}
    top = full
    for n, (across, up) in enumerate(grid):
        across.domain, up.domain = (0, 1), (max(0.0, (top - tall[n]) / full), top / full)
        up.title = grid[0][1].title
        if n in titles:
            titles[n].update(x=0.5, y=top / full)
        top -= tall[n] + BETWEEN
    narrow.update_layout(height=full + EDGES, legend=legend_above(full))
    return narrow


def _nearest(tops: dict[tuple[float, float], int], note: Any) -> int | None:
    """The panel that a title belongs to: it is centred on the panel's upper edge."""
    if note.xref != "paper" or note.yref != "paper":
        return None
    return next((n for (x, y), n in tops.items() if abs(x - note.x) < 1e-6 and abs(y - note.y) < 1e-6), None)


def place(number: int, total: int, columns: int = 2) -> dict[str, int]:
    """Row and column of a panel as Plotly counts them.

    >>> place(2, 4), place(2, 4, columns=4)
    ({'row': 2, 'col': 1}, {'row': 1, 'col': 3})
    """
    columns = min(columns, total)
    return {"row": number // columns + 1, "col": number % columns + 1}


def ramp(count: int, theme: str) -> list[str]:
    """Colours from blue to red for ordered settings.

    >>> ramp(3, "light")
    ['#2552C4', '#823C96', '#CE2029']
    """
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in palette(theme).path])
    at = np.linspace(0, len(stops) - 1, count) if count > 1 else np.zeros(1)
    mixed = [np.rint(np.interp(at, range(len(stops)), stops[:, channel])).astype(int) for channel in range(3)]
    return [to_hex((int(r), int(g), int(b))) for r, g, b in zip(*mixed, strict=True)]


def spread_line(
    figure: go.Figure,
    x: pd.Series,
    mean: pd.Series,
    std: pd.Series,
    *,
    name: str,
    color: str,
    where: dict[str, int],
    legend: bool,
    style: dict[str, Any] | None = None,
) -> None:
    """The mean over the repeats within a band of one standard deviation on either side, with one legend entry."""
    if float(std.max()) > 0:
        low = (mean - std).clip(lower=mean * 0.05)
        figure.add_scatter(
            x=[*x, *x[::-1]],
            y=[*_short(mean + std), *_short(low)[::-1]],
            fill="toself",
            fillcolor=_faint(color),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            legendgroup=name,
            **where,
        )
    figure.add_scatter(
        x=list(x),
        y=_short(mean),
        customdata=_short(std),
        name=name,
        legendgroup=name,
        showlegend=legend,
        line={"width": 2, "color": color, **((style or {}).get("line", {}))},
        marker=(style or {}).get("marker"),
        mode=(style or {}).get("mode", "lines"),
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.4g}} ± %{{customdata:.2g}}<extra></extra>",
        **where,
    )


def _short(values: pd.Series) -> list[float]:
    """Values rounded to few digits."""
    return [float(f"{value:.5g}") for value in values]


def _faint(color: str) -> str:
    """The colour of a band."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.12)"
