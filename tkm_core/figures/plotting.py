"""Plots for notebooks: ``plan.plot()`` and ``path.plot()``."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pydeck as pdk

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath
from tkm_core.figures.charts import layout
from tkm_core.figures.distances_chart import distances
from tkm_core.figures.drawn import DrawnFigure
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, plan_map
from tkm_core.figures.tradeoff_chart import tradeoff
from tkm_core.planning import Plan
from tkm_core.sites import CapacityPath, SitePath

PICTURES = ("map", "tradeoff", "distances")


def plot(
    result: Plan | TiltedPath | SitePath | CapacityPath,
    what: str | None = None,
    t: float = 0.3,
    **options: Any,
) -> go.Figure | pdk.Deck:
    """Draw a plan or a path.

    Parameters
    ----------
    result : Plan, TiltedPath, SitePath or CapacityPath
    what : {"map", "tradeoff", "distances"} or {"ways", "costs"}, optional
        For a plan: the map (the default), utility against fairness, or the share of people within a distance. For a
        path: how each facility moves as t grows (the default in two dimensions), or the costs over t. For a path over
        sites, or with limited room: the costs.
    t : float
        The setting of a plan's dial.
    **options
        Of `Look`: ``unit``, ``theme``, ``colour``, ``layers``, ``streets``, ``people``.

    Returns
    -------
    pydeck.Deck or plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from tkm_core.clustering import tilted_path
    >>> path = tilted_path(np.random.default_rng(0).normal(size=(50, 2)), 3, t=[0, 0.1, 1], random_state=0)
    >>> len(plot(path).data)
    3
    """
    look = Look(**options)
    if isinstance(result, TiltedPath):
        return _whole(_path(result, what, look))
    if isinstance(result, SitePath | CapacityPath):
        if what not in (None, "costs"):
            msg = f"A path over sites or with limited room has the picture costs, not {what!r}."
            raise ValueError(msg)
        cost = (("city-wide cost", result.city_cost),)
        bound = (("no plan is below", result.bound),) if isinstance(result, SitePath) else ()
        return _whole(_curves(result.t, cost + bound, "city-wide cost", look))
    i = result.index(t)
    chosen = what or "map"
    if chosen not in PICTURES:
        msg = f"A plan has the pictures {', '.join(PICTURES)}, not {what!r}."
        raise ValueError(msg)
    found, before = result.evaluation(i), result.reference_evaluation()
    if chosen == "tradeoff":
        return _whole(tradeoff(result, i, look, height=360))
    if chosen == "distances":
        heading = result.reference.heading
        return _whole(distances(found, before, result.residents.weights, look, heading=heading, height=360))
    ground = MapGround.of(result.residents, existing_lonlat=result.centers_lonlat(i)[result.k :])
    return plan_map(result, i, found, before, ground, look)


def _whole(figure: DrawnFigure) -> go.Figure:
    """A regular Plotly figure, which users can change."""
    return go.Figure(figure.to_dict())


def _path(path: TiltedPath, what: str | None, look: Look) -> DrawnFigure:
    """Draw a path."""
    chosen = what or ("ways" if path.centers.shape[2] == 2 else "costs")
    if chosen == "ways" and path.centers.shape[2] == 2:
        return _ways(path, look)
    if chosen == "costs":
        return _costs(path, look)
    msg = f"A path has the pictures ways (in two dimensions) and costs, not {what!r}."
    raise ValueError(msg)


def _ways(path: TiltedPath, look: Look) -> DrawnFigure:
    """Each facility's path, blue to red as t grows, with a gap where the arrangement jumps."""
    order = np.argsort(path.t, kind="stable")
    colors = ["rgb({},{},{})".format(*tint) for tint in look.palette.along_path(path.t[order])]
    frame = layout(look, height=420, x="first column", y="second column")
    frame["yaxis"] |= {"scaleanchor": "x"}
    traces = []
    for j in range(path.centers.shape[1]):
        way: list[list[float | None]] = []
        dial: list[float | None] = []
        tints: list[str] = []
        for place, i in enumerate(order):
            if place and path.arrangement[i] != path.arrangement[order[place - 1]]:
                way.append([None, None])
                dial.append(None)
                tints.append(colors[place])
            way.append(path.centers[i, j].tolist())
            dial.append(float(path.t[i]))
            tints.append(colors[place])
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [spot[0] for spot in way],
                "y": [spot[1] for spot in way],
                "customdata": dial,
                "line": {"width": 1, "color": look.palette.border},
                "marker": {"size": 7, "color": tints},
                "hovertemplate": f"facility {j + 1}, t = %{{customdata:g}}<extra></extra>",
            }
        )
    return DrawnFigure(traces, frame)


def _costs(path: TiltedPath, look: Look) -> DrawnFigure:
    """The three costs over t."""
    curves = (("tilted SSE", path.tilted_sse), ("city-wide cost", path.city_cost), ("SSE", path.sse))
    return _curves(path.t, curves, "cost, in units of X²", look)


def _curves(t: Floats, curves: tuple[tuple[str, Floats], ...], title: str, look: Look) -> DrawnFigure:
    """Curves over t, without t = 0 and infinity, which a logarithmic axis cannot show."""
    shown = np.flatnonzero((t > 0) & np.isfinite(t))
    shown = shown[np.argsort(t[shown], kind="stable")]
    frame = layout(look, height=360, x="t", y=title)
    frame["xaxis"]["type"] = "log"
    frame["showlegend"] = True
    tints = (look.palette.accent, look.palette.ink, look.palette.muted)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": t[shown].tolist(),
            "y": values[shown].tolist(),
            "line": {"width": 2, "color": tint},
        }
        for (name, values), tint in zip(curves, tints, strict=False)
    ]
    return DrawnFigure(traces, frame)
