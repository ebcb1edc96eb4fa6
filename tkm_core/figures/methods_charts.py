"""Charts that compare methods: measures per cluster as in the paper, and one bar per method."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tkm_core.arrays import Floats
from tkm_core.figures.charts import layout
from tkm_core.figures.look import Look
from tkm_core.measures import COMPARED, shown_in
from tkm_core.methods import describe
from tkm_core.planning import Compared, Plan, best, decimals
from tkm_core.units import METRES, with_unit

# Measures of one cluster: name in Evaluation, label, power of the length unit.
PER_CLUSTER = {
    "variance": ("variance of the squared distance", 4),
    "variance_of_distance": ("variance of the distance", 2),
    "max_distance": ("maximum distance", 1),
}


def per_cluster(one: Compared, measure: str, unit: str) -> Floats:
    """A measure of every cluster in descending order, in the unit shown."""
    found = np.asarray(getattr(one.evaluation, measure), dtype=float)
    return np.sort(found)[::-1] / METRES[unit] ** PER_CLUSTER[measure][1]


def cluster_label(measure: str, unit: str) -> str:
    """A measure of a cluster with its unit: "maximum distance, km"."""
    words, power = PER_CLUSTER[measure]
    return with_unit(words, unit, power)


def by_cluster(compared: Sequence[Compared], measure: str, look: Look) -> go.Figure:
    """Every method's clusters as bars in descending order, with a line at TKM's tallest bar.

    Parameters
    ----------
    compared : sequence of Compared
    measure : str
        Key of `PER_CLUSTER`.
    look : Look

    Returns
    -------
    plotly.graph_objects.Figure
    """
    frame = layout(look, height=256, x="", y="")
    most = max(len(one.evaluation.max_distance) for one in compared)
    step = most + 1.2
    traces = []
    for group, one in enumerate(compared):
        heights = per_cluster(one, measure, look.unit)
        traces.append(
            {
                "type": "bar",
                "name": one.title,
                "x": (group * step + np.arange(len(heights))).tolist(),
                "y": [float(f"{value:.5g}") for value in heights],
                "width": 0.86,
                "marker": _paint(one, look),
                "customdata": [[rank + 1] for rank in range(len(heights))],
                "hovertemplate": f"{one.title}, cluster %{{customdata[0]}}: %{{y:,.4g}}<extra></extra>",
            }
        )
    _name_groups(frame, compared, [group * step + (most - 1) / 2 for group in range(len(compared))], step)
    tallest = max(float(np.max(trace["y"])) for trace in traces)
    frame["yaxis"] |= {"range": [0, tallest * 1.06], "exponentformat": "none", "separatethousands": True}
    frame["margin"] = {"l": 52, "r": 6, "t": 6, "b": 40}
    frame["bargap"] = 0
    return go.Figure(traces, {**frame, "shapes": _level(compared, measure, look)})


def per_method(
    compared: Sequence[Compared],
    values: Sequence[float],
    look: Look,
    *,
    log: bool = False,
) -> go.Figure:
    """One bar per method with its value on top.

    Parameters
    ----------
    compared : sequence of Compared
    values : sequence of float
        One for each method, as shown.
    look : Look
    log : bool
        A logarithmic axis, for times.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    frame = layout(look, height=216, x="", y="")
    texts = [_short(value, 2 if log else 3) for value in values]
    traces = [
        {
            "type": "bar",
            "name": one.title,
            "x": [group],
            "y": [value],
            "width": 0.62,
            "marker": _paint(one, look),
            "text": [text],
            "textposition": "outside",
            "textangle": 0,
            "constraintext": "none",
            "textfont": {"size": 12, "color": look.palette.ink},
            "cliponaxis": False,
            "hovertemplate": f"{one.title}: {text}<extra></extra>",
        }
        for group, (one, value, text) in enumerate(zip(compared, values, texts, strict=True))
    ]
    _name_groups(frame, compared, list(range(len(compared))), 1.0)
    if log:
        low, high = np.log10(min(values)), np.log10(max(values))
        first, last = int(np.floor(low - 0.2)), int(np.ceil(high))
        ticks = [10.0**power for power in range(first, last + 1)]
        frame["yaxis"] |= {
            "type": "log",
            "range": [first, high + 0.22 * max(high - first, 1)],
            "tickvals": ticks,
            "ticktext": [f"{tick:,g}" for tick in ticks],
        }
    else:
        frame["yaxis"] |= {
            "range": [0, max(values) * 1.16],
            "separatethousands": True,
            "exponentformat": "none",
        }
    frame["margin"] = {"l": 52, "r": 6, "t": 6, "b": 40}
    return go.Figure(traces, frame)


def _paint(one: Compared, look: Look) -> dict[str, Any]:
    """Bar style: TKM in the accent colour, others muted; hatched if a method ran on a sample."""
    colors = look.palette
    color = colors.accent if one.name == "tkm" else colors.muted
    paint: dict[str, Any] = {"color": color, "line": {"width": 0}}
    if one.solution.sampled:
        paint |= {
            "pattern": {"shape": "/", "size": 5, "solidity": 0.45, "fgcolor": color, "bgcolor": colors.page},
            "line": {"width": 1, "color": color},
        }
    return paint


def _name_groups(
    frame: dict[str, Any], compared: Sequence[Compared], at: Sequence[float], step: float
) -> None:
    """Write each method's name under its bars."""
    # two lines, so that names stay apart on a phone
    short = [one.short.replace("++", "<br>++") for one in compared]
    names = [
        f"<b>{name}</b>" if one.name == "tkm" else name for one, name in zip(compared, short, strict=True)
    ]
    frame["xaxis"] |= {
        "tickvals": list(at),
        "ticktext": names,
        "range": [at[0] - step / 2, at[-1] + step / 2],
        "tickangle": 0,
    }


def _level(compared: Sequence[Compared], measure: str, look: Look) -> list[dict[str, Any]]:
    """A dotted line at TKM's worst cluster, for comparison."""
    own = next((one for one in compared if one.name == "tkm"), None)
    if own is None or len(compared) < 2:
        return []
    top = float(per_cluster(own, measure, look.unit)[0])
    line = {"width": 1.4, "dash": "dot", "color": look.palette.accent}
    return [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": top, "y1": top, "line": line}]


def cluster_words(compared: Sequence[Compared], measure: str, look: Look) -> str:
    """The chart by cluster in a sentence, as its text alternative."""
    told = "; ".join(
        f"{one.title}: {', '.join(_short(value, 4) for value in per_cluster(one, measure, look.unit))}"
        for one in compared
    )
    return f"{_capital(cluster_label(measure, look.unit))} of every cluster in descending order. {told}."


def method_words(compared: Sequence[Compared], values: Sequence[float], label: str) -> str:
    """A chart with one bar per method in a sentence, as its text alternative."""
    told = "; ".join(f"{one.title}: {_short(value, 3)}" for one, value in zip(compared, values, strict=True))
    return f"{_capital(label)}. {told}."


def cluster_table(compared: Sequence[Compared], look: Look) -> pd.DataFrame:
    """The data of the charts by cluster: one row per method and rank, with each measure in descending order."""
    tables = []
    for one in compared:
        columns: dict[str, object] = {
            _capital(cluster_label(measure, look.unit)): per_cluster(one, measure, look.unit)
            for measure in PER_CLUSTER
        }
        size = len(one.evaluation.max_distance)
        tables.append(
            pd.DataFrame({"Method": [one.title] * size, "Cluster": np.arange(1, size + 1), **columns})
        )
    return pd.concat(tables, ignore_index=True)


def method_table(
    compared: Sequence[Compared],
    look: Look,
    standard: float | None = None,
    *,
    plan: Plan | None = None,
) -> str:
    """Every measure of every method as an HTML table, with the best of each column marked; it scrolls if it is wide.

    Parameters
    ----------
    compared : sequence of Compared
    look : Look
    standard : float, optional
        A service standard in metres.
    plan : Plan, optional
        The plan of the same residents: its existing facilities have a row of their own, and figures have as many digits
        as beside its map.
    """
    colors = look.palette
    today = None if plan is None else plan.today_evaluation(standard)
    kept, stand = (0, "") if plan is None else (plan.n_existing, plan.rules.where_words)
    columns: list[tuple[str, list[str], list[bool]]] = []
    as_is: list[str] = []
    for key, measure in shown_in(COMPARED).items():
        values = [measure.of(one.evaluation, look.unit) for one in compared]
        if np.isfinite(values).any() and not np.isnan(values).any():
            digits = decimals(compared, key, look.unit, plan)
            texts = [f"{value:,.{digits}f}" if np.isfinite(value) else "∞" for value in values]
            columns.append(
                (measure.heading(look.unit, standard), texts, best(compared, key, look.unit, plan))
            )
            now = float("nan") if today is None else measure.of(today, look.unit)
            as_is.append(f"{now:,.{digits}f}" if np.isfinite(now) else "–")
    plain = [False] * len(compared)
    columns.append(("Time, s", [_short(one.solution.seconds, 2) for one in compared], plain))
    where = [
        stand or (f"at {look.people}" if one.solution.centers_are_points else "anywhere") for one in compared
    ]
    sites = [
        f"{len(one.solution.centers) - kept} new, {kept} existing"
        if kept
        else f"{len(one.solution.centers)}, {spot}"
        for one, spot in zip(compared, where, strict=True)
    ]
    columns.append(("Facilities" if kept else "Facilities stand", sites, plain))
    if any(one.solution.sampled for one in compared):
        columns.append(("Ran on", [_ran_on(one) for one in compared], plain))
    line = f"border-bottom:1px solid {colors.border}"
    number = f"text-align:right;padding:4px 0 4px 14px;white-space:nowrap;{line}"
    first = f"text-align:left;padding:4px 4px 4px 2px;white-space:nowrap;position:sticky;left:0;{line};"
    first += f"background:{colors.page};color:{colors.ink}"
    head = "".join(
        f'<th scope="col" style="{number};white-space:normal;font-weight:400;color:{colors.muted}">{escape(label)}</th>'
        for label, _, _ in columns
    )
    what = f"font-weight:400;font-size:0.85em;white-space:normal;width:min(16rem,42vw);color:{colors.muted}"
    rows = []
    if plan is not None and today is not None:
        empty = ["–"] * (len(columns) - len(as_is) - 2)
        cells = "".join(
            f'<td style="{number}">{text}</td>' for text in [*as_is, "–", f"{plan.n_today} existing", *empty]
        )
        rows.append(f'<tr><th scope="row" style="{first};font-weight:400">Today</th>{cells}</tr>')
    for row, one in enumerate(compared):
        weight = 700 if one.name == "tkm" else 400
        cells = "".join(
            f'<td style="{number}{f";color:{colors.better};font-weight:700" if tops[row] else ""}">'
            f"{escape(texts[row])}</td>"
            for _, texts, tops in columns
        )
        does = f'<div style="{what}">{escape(_what(one.name))}</div>'
        title = f'<th scope="row" style="{first};font-weight:{weight}">{escape(one.title)}{does}</th>'
        rows.append(f"<tr>{title}{cells}</tr>")
    return (
        '<div class="er-methods" role="region" aria-label="The methods in figures" tabindex="0" '
        'style="overflow-x:auto;font-size:0.95rem"><table style="width:100%;border-collapse:collapse;'
        f'font-variant-numeric:tabular-nums;color:{colors.ink}"><thead><tr>'
        f'<th scope="col" style="{first};font-weight:400;color:{colors.muted}">Method</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _what(name: str) -> str:
    """What a method does, in its first clause.

    >>> _what("kmeans++")
    'Places facilities so that average squared travel is as small as possible, whoever pays for it'
    """
    return re.split(r"[.:;]", describe(name).description)[0]


def _ran_on(one: Compared) -> str:
    """On how many residents a method ran."""
    return "all" if one.solution.sampled is None else f"{one.solution.sampled:,} drawn"


def _short(value: float, digits: int) -> str:
    """A number with `digits` significant digits, never with an exponent.

    >>> _short(0.04781, 2), _short(1234.5, 3)
    ('0.048', '1,234')
    """
    return f"{value:,.0f}" if value >= 10**digits else f"{float(f'{value:.{digits}g}'):,g}"


def _capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
