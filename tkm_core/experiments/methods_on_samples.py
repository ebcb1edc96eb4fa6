"""Experiments that run all methods on the same samples: SSE against k, variance and maximum distance per cluster."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation, evaluate, neighbourhood_radius
from tkm_core.experiments.data import cities_and_blobs
from tkm_core.experiments.drawing import linear_or_log, panels, place, ramp, spread_line
from tkm_core.experiments.model import SAMPLE_SIZE, Experiment, Job, Result, Run, Sample
from tkm_core.figures import palette
from tkm_core.methods import BASELINE, FOR_ANYONE, OWN, Solution, describe, run_method
from tkm_core.progress import Progress

DIALS = (0.01, 0.05, 0.1, 0.2)
SGD = {"solver": "sgd", "max_iter": 500, "learning_rate": 0.05, "n_epochs": 5, "batch_size": 100}
REMEMBERED = 10_000  # solutions cached, so that a second experiment on the same samples takes no time
_known: dict[tuple[Any, ...], Solution] = {}


@dataclass(frozen=True)
class Contender:
    """A method with its options, as one line of a figure."""

    label: str
    method: str
    options: Mapping[str, Any]


def contenders(methods: Sequence[str], t: Sequence[float], solver: str) -> list[Contender]:
    """TKM once for each t, and every other method once.

    >>> [each.label for each in contenders(("tkm", "mv"), (0.1, 0.2), "newton")]
    ['TKM t = 0.1', 'TKM t = 0.2', 'MV']
    """
    if solver not in ("newton", "sgd"):
        msg = f"solver is {solver!r}; choose 'newton' (exact) or 'sgd' (the paper's)."
        raise ValueError(msg)
    own: dict[str, Any] = dict(SGD) if solver == "sgd" else {}
    found: list[Contender] = []
    for name in methods:
        title = describe(name).title
        if name == OWN:
            found += [Contender(f"{title} t = {dial:g}", name, {**own, "t": dial}) for dial in t]
        else:
            found.append(Contender(title, name, {}))
    return found


def sse_by_k(
    run: Run, *, k: Sequence[int], methods: Sequence[str], t: Sequence[float], solver: str
) -> Result:
    """SSE of every method against the number of facilities.

    Parameters
    ----------
    run : Run
    k : sequence of int
        Numbers of facilities.
    methods : sequence of str
        Some of ``METHODS``; for group-based methods everyone is in one group.
    t : sequence of float
        Values of the dial for TKM.
    solver : {"newton", "sgd"}
        The solver of TKM: the exact one, or the paper's SGD with the paper's options.

    Returns
    -------
    Result
        One row per run: data set, k, repeat, method, facilities opened, SSE and other measures, seconds.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> found = SSE.run([blobs(2, seed=0)], k=(2, 3), methods=("kmeans++", "jkl"), repeats=1)
    >>> found.table.groupby("method")["k"].count().to_dict()
    {'JKL': 2, 'k-means++': 2}
    """
    rows = contenders(methods, t, solver)
    table, stopped = run.gather(
        [_job(sample, count, each) for sample in run.samples() for count in k for each in rows]
    )
    labels = [each.label for each in rows]
    notes = (*_sse_findings(table, rows), *_fewer(table), *stopped)
    return Result(table, _draw_sse(table, labels, run.theme), notes, not stopped)


def by_cluster(
    run: Run, *, measure: str, k: int, methods: Sequence[str], t: Sequence[float], solver: str
) -> Result:
    """A measure of every cluster, in descending order.

    Parameters
    ----------
    run : Run
    measure : {"variance", "max_distance"}
        The variance of the squared distance in a cluster, as in the paper, or the largest distance in it.
    k : int
        Facilities.
    methods, t, solver
        As in ``sse_by_k``.

    Returns
    -------
    Result
        One row per cluster and run; figures of the whole run are repeated in each of its rows.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> found = VARIANCE.run([blobs(2, seed=0)], k=3, methods=("kmeans++",), repeats=1)
    >>> found.table["cluster"].tolist(), found.table["variance"].is_monotonic_decreasing
    ([1, 2, 3], True)
    """
    rows = contenders(methods, t, solver)
    table, stopped = run.gather([_job(sample, k, each, measure) for sample in run.samples() for each in rows])
    labels = [each.label for each in rows]
    notes = (*_cluster_findings(table, rows, measure), *_fewer(table), *stopped)
    return Result(table, _draw_clusters(table, labels, measure, run.theme), notes, not stopped)


def _job(sample: Sample, k: int, contender: Contender, measure: str = "") -> Job:
    """The job of one run, with one row, or one per cluster if a measure of clusters is asked for."""

    def work(report: Progress) -> pd.DataFrame:
        """Place the facilities and measure them."""
        X, weights = sample.draw()
        found = _placed(X, weights, k, contender, sample.seed, report)
        radius = neighbourhood_radius(X, k, weights)
        judged = evaluate(X, found.centers, sample_weight=weights, neighbourhood=radius)
        run = {
            "data": sample.source.name,
            "k": k,
            "repeat": sample.repeat,
            "method": contender.label,
            "opened": len(found.centers),
            "sse": judged.sse,
            "mean_distance": judged.mean_distance,
            "largest_distance": judged.largest_distance,
            "overall_variance": judged.overall_variance,
            "fairness_ratio": judged.fairness_ratio,
            "seconds": found.seconds,
        }
        return pd.DataFrame(_clusters(judged, run, measure) if measure else [run])

    return sample.words(f"k = {k}, {contender.label}"), work


def _clusters(judged: Evaluation, run: dict[str, Any], measure: str) -> list[dict[str, Any]]:
    """One row per cluster, in descending order of the measure."""
    order = np.argsort(-getattr(judged, measure), kind="stable")
    shown = ("variance", "variance_of_distance", "max_distance", "population")
    return [
        {**run, "cluster": rank + 1, **{name: getattr(judged, name)[j] for name in shown}}
        for rank, j in enumerate(order)
    ]


def _placed(
    X: Floats, weights: Floats, k: int, contender: Contender, seed: int, report: Progress
) -> Solution:
    """Run a method, unless the same run is cached."""
    digest = hashlib.sha256(X.tobytes() + weights.tobytes()).hexdigest()
    key = (digest, X.shape, k, contender.method, tuple(sorted(contender.options.items())), seed)
    if key not in _known:
        found = run_method(
            contender.method,
            X,
            k,
            sample_weight=weights,
            random_state=seed,
            progress=report,
            **contender.options,
        )
        while len(_known) >= REMEMBERED:
            _known.pop(next(iter(_known)))
        _known[key] = found
    return _known[key]


def colours(labels: Sequence[str], theme: str) -> dict[str, str]:
    """A colour for each line: TKM from blue to red by t, the others different from those and from each other."""
    look = palette(theme)
    fixed = {
        "k-means++": look.ink,
        "NF": look.muted,
        "JKL": look.facilities[4],
        "MV": look.facilities[5],
        "FR": look.facilities[0],
        "SFR": look.facilities[2],
    }
    own = [label for label in labels if label not in fixed]
    return {**dict(zip(own, ramp(len(own), theme), strict=True)), **fixed} if own else fixed


def _draw_sse(table: pd.DataFrame, labels: Sequence[str], theme: str) -> go.Figure:
    """One panel per data set, one line per method; TKM solid, the others dashed with their own markers."""
    names = table["data"].unique().tolist()
    tints, symbols = colours(labels, theme), ("circle", "square", "diamond", "triangle-up", "x", "star")
    others = [label for label in labels if not label.startswith("TKM")]
    figure = panels(names, x="facilities, k", y="SSE", theme=theme, height=360)
    for number, name in enumerate(names):
        for label in labels:
            mine = table[(table["data"] == name) & (table["method"] == label)]
            if mine.empty:
                continue
            by_k = mine.groupby("k")["sse"]
            mean, std = by_k.mean(), by_k.std(ddof=0)
            rival = label in others
            mark = symbols[others.index(label) % len(symbols)] if rival else "circle"
            spread_line(
                figure, mean.index.to_series(), mean, std,
                name=label, color=tints[label], where=place(number, len(names)), legend=number == 0,
                style={
                    "mode": "lines+markers", "marker": {"symbol": mark, "size": 7 if rival else 5},
                    "line": {"dash": "dash", "width": 1.5} if rival else {},
                },
            )  # fmt: skip
    figure.update_xaxes(dtick=1)
    figure.update_yaxes(rangemode="tozero")
    return figure


def _draw_clusters(table: pd.DataFrame, labels: Sequence[str], measure: str, theme: str) -> go.Figure:
    """One panel per data set, one group of bars per cluster, one bar per method with one standard deviation."""
    names = table["data"].unique().tolist()
    words = {"variance": "variance of the squared distance", "max_distance": "largest distance"}[measure]
    tints = colours(labels, theme)
    figure = panels(names, x="", y=words, theme=theme, height=360)
    for number, name in enumerate(names):
        for label in labels:
            mine = table[(table["data"] == name) & (table["method"] == label)]
            if mine.empty:
                continue
            by_rank = mine.groupby("cluster")[measure]
            mean, std = by_rank.mean(), by_rank.std(ddof=0)
            figure.add_bar(
                x=[f"cluster {rank}" for rank in mean.index],
                y=[float(f"{value:.5g}") for value in mean],
                error_y={
                    "array": [float(f"{value:.4g}") for value in std],
                    "thickness": 1,
                    "width": 2,
                    "color": palette(theme).muted,
                },
                name=label,
                legendgroup=label,
                showlegend=number == 0,
                marker={"color": tints[label]},
                hovertemplate=f"{label}, %{{x}}: %{{y:.4g}}<extra></extra>",
                **place(number, len(names)),
            )
    figure.update_layout(barmode="group", bargap=0.18, bargroupgap=0.08)
    figure.update_yaxes(rangemode="tozero")
    linear_or_log(figure)
    return figure


def _sse_findings(table: pd.DataFrame, rows: Sequence[Contender]) -> list[str]:
    """Sentences: TKM and k-means++ against the other fair methods, and whether SSE rises with t."""
    mean = table.pivot_table(index=["data", "k"], columns="method", values="sse")
    return [
        *_against(mean, rows, "SSE", "cases (data set and k)"),
        *_along_t(mean, rows, "SSE", "rises", "cases (data set and k)"),
    ]


def _cluster_findings(table: pd.DataFrame, rows: Sequence[Contender], measure: str) -> list[str]:
    """Sentences: the worst cluster of TKM against other fair methods, over t, and against k-means++."""
    words = {"variance": "variance of cluster 1", "max_distance": "largest distance of cluster 1"}[measure]
    runs = table[table["cluster"] == 1]
    first = runs.pivot_table(index=["data", "repeat"], columns="method", values=measure)
    notes = [*_against(first, rows, words, "samples"), *_along_t(first, rows, words, "falls", "samples")]
    for label in (row.label for row in rows if row.method == OWN):
        parts = []
        for name, column in (("SSE", "sse"), (words, measure), ("overall variance", "overall_variance")):
            wide = runs.pivot_table(index=["data", "repeat"], columns="method", values=column)
            if {label, "k-means++"} <= set(wide.columns):
                change = (100 * (wide[label] / wide["k-means++"] - 1)).dropna()
                parts.append(f"{name} {change.median():+.1f} %")
        if parts:
            notes.append(f"{label} against k-means++ (medians over all samples): {', '.join(parts)}.")
    ratio = runs.groupby("method")["fairness_ratio"].median()
    told = {label: "∞" if np.isinf(value) else f"{value:.2f}" for label, value in ratio.items()}
    listed = ", ".join(f"{row.label} {told[row.label]}" for row in rows if row.label in told)
    meaning = "up to 1 is fair"
    if np.isinf(ratio).any():
        meaning += "; ∞ where one place holds a k-th of all people, so that its radius is 0"
    notes.append(f"Distance over neighbourhood radius, the worst-off point (median; {meaning}): {listed}.")
    return notes


def _against(mean: pd.DataFrame, rows: Sequence[Contender], words: str, cases: str) -> list[str]:
    """In how many cases TKM at each t, and k-means++, are below each other fair method."""
    others = [row.label for row in rows if _is_published(row.method) and row.label in mean]
    notes = []
    for row in rows:
        if row.method not in (OWN, BASELINE) or row.label not in mean or not others:
            continue
        counts = []
        for other in others:
            both = mean[[row.label, other]].dropna()
            counts.append(f"{other}'s in {int((both[row.label] < both[other]).sum())} of {len(both)}")
        notes.append(f"{row.label}: {words} below {', '.join(counts)} {cases}.")
    return notes


def _is_published(name: str) -> bool:
    """Whether a method is a published fair method."""
    return describe(name).fair and name != OWN


def _along_t(mean: pd.DataFrame, rows: Sequence[Contender], words: str, verb: str, cases: str) -> list[str]:
    """In how many cases a measure changes from each t to the next as the paper says."""
    own = sorted((row for row in rows if row.method == OWN), key=lambda row: row.options["t"])
    own = [row for row in own if row.label in mean]
    notes = []
    for low, high in pairwise(own):
        both = mean[[low.label, high.label]].dropna()
        change = both[high.label] - both[low.label]
        kept = int(((change > 0) if verb == "rises" else (change < 0)).sum())
        notes.append(
            f"From t = {low.options['t']:g} to {high.options['t']:g} the {words} of TKM {verb} in {kept} of "
            f"{len(both)} {cases}."
        )
    return notes


def _fewer(table: pd.DataFrame) -> list[str]:
    """Sentences on methods that opened fewer than k facilities."""
    runs = table.drop_duplicates(["data", "k", "repeat", "method"])
    short = (runs["opened"] < runs["k"]).groupby(runs["method"]).agg(["sum", "size"])
    return [
        f"{name} opened fewer than k facilities in {row['sum']} of {row['size']} runs."
        for name, row in short[short["sum"] > 0].iterrows()
    ]


SETTINGS = {"methods": FOR_ANYONE, "t": DIALS, "solver": "newton", "repeats": 10, "size": SAMPLE_SIZE}
QUICK = {"repeats": 2, "size": 150}
SSE = Experiment(
    name="sse-vs-k",
    title="What each method costs on average",
    description="Mean squared distance (SSE) of every method for 3 to 10 facilities; a band is one "
    "standard deviation over the samples.",
    paper_figure="Comparison among various methods in terms of SSE at varying values of k",
    work=sse_by_k,
    data=cities_and_blobs,
    settings={**SETTINGS, "k": tuple(range(3, 11))},
    quick={**QUICK, "k": (3, 6, 10)},
)
VARIANCE = Experiment(
    name="variance",
    title="How unequal each cluster is",
    description="Variance of the squared distance within each cluster, clusters in descending order; less "
    "is fairer.",
    paper_figure="Comparison among various methods in terms of the variance in each cluster",
    work=partial(by_cluster, measure="variance"),
    data=cities_and_blobs,
    settings={**SETTINGS, "k": 4},
    quick=QUICK,
)
MAX_DISTANCE = replace(
    VARIANCE,
    name="max-distance",
    title="How far the farthest of each cluster is",
    description="Largest distance within each cluster, clusters in descending order; less is fairer.",
    paper_figure="Comparison among various methods in terms of the maximum distance in each cluster",
    work=partial(by_cluster, measure="max_distance"),
)
