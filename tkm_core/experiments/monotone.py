"""Experiment: nearest assignment may raise the tilted SSE, but never the city-wide cost."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from sklearn.cluster import kmeans_plusplus

from tkm_core.arrays import Floats
from tkm_core.clustering import Problem, city_cost, descend, nearest, squared_distances, tilted_sse
from tkm_core.experiments.convergence import DIALS
from tkm_core.experiments.data import cities_and_blobs
from tkm_core.experiments.drawing import panels, place
from tkm_core.experiments.model import SAMPLE_SIZE, Experiment, Job, Result, Run, Sample
from tkm_core.figures import palette
from tkm_core.progress import Progress

RISE = 1e-9  # relative; less is rounding
STEPS = 100  # the most iterations of one run


def monotone(run: Run, *, t: Sequence[float], k: int) -> Result:
    """Alternate nearest assignment and exact tilted means from k-means++ seeds, and record both costs.

    Parameters
    ----------
    run : Run
    t : sequence of float
        Values of the dial, above 0.
    k : int
        Facilities.

    Returns
    -------
    Result
        One row per half-step: ``step`` is "assign" or "refine", with both costs after it.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> EXPERIMENT.run([blobs(2, seed=0)], t=(1.0,), k=2, repeats=1).table["step"].tolist()[:3]
    ['assign', 'refine', 'assign']
    """

    def job(sample: Sample, dial: float) -> Job:
        """The job of one sample and t."""

        def work(_: Progress) -> pd.DataFrame:
            """One run, with its half-steps."""
            steps = alternate(*sample.draw(), k, dial, sample.seed)
            about = {"data": sample.source.name, "t": dial, "repeat": sample.repeat}
            return pd.concat([pd.DataFrame(about, index=steps.index), steps], axis=1)

        return sample.words(f"t = {dial:g}"), work

    table, stopped = run.gather([job(sample, dial) for sample in run.samples() for dial in t])
    runs = _rises(table)
    return Result(table, _draw(runs, run.theme), (*_findings(runs), *stopped), not stopped)


def alternate(X: Floats, weights: Floats, k: int, t: float, seed: int) -> pd.DataFrame:
    """One run from k-means++ seeds until no point changes its facility; both costs after every half-step.

    Examples
    --------
    >>> steps = alternate(np.array([[0.0], [1.0], [9.0], [10.0]]), np.ones(4), 2, 1.0, seed=0)
    >>> steps["city_cost"].is_monotonic_decreasing
    True
    """
    centers, _ = kmeans_plusplus(X, k, sample_weight=weights, random_state=seed)
    centers = np.ascontiguousarray(centers)
    labels = None
    rows = []
    for iteration in range(STEPS):
        new, f = nearest(X, centers)
        rows.append(("assign", iteration, tilted_sse(f, new, weights, k, t), city_cost(f, weights, t)))
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        for j in np.unique(labels):
            mine = labels == j
            problem = Problem.of(np.ascontiguousarray(X[mine]), weights[mine], 1)
            centers[j] = descend(problem, centers[j : j + 1], t, tol=1e-9).centers[0]
        f = squared_distances(X, labels, centers)
        rows.append(("refine", iteration, tilted_sse(f, labels, weights, k, t), city_cost(f, weights, t)))
    return pd.DataFrame(rows, columns=["step", "iteration", "tilted_sse", "city_cost"])


def _rises(table: pd.DataFrame) -> pd.DataFrame:
    """For every run, the largest relative rise of each cost in each kind of half-step."""
    run = ["data", "t", "repeat"]
    parts = {}
    for cost in ("tilted_sse", "city_cost"):
        by_run = table.groupby(run, sort=False)[cost]
        rise = by_run.diff() / by_run.shift()
        for step in ("assign", "refine"):
            parts[f"{cost}, {step}"] = (
                rise.where(table["step"] == step, 0.0).groupby([table[key] for key in run], sort=False).max()
            )
    parts["iterations"] = table.groupby(run, sort=False)["iteration"].max() + 1
    return pd.DataFrame(parts).fillna(0.0).reset_index()


def _draw(runs: pd.DataFrame, theme: str) -> go.Figure:
    """One panel per data set: the share of runs in which assignment raised a cost, against t."""
    names, look = runs["data"].unique().tolist(), palette(theme)
    figure = panels(names, x="t", y="% of runs with a rise", theme=theme)
    lines = (
        ("tilted_sse, assign", "tilted SSE", look.worse),
        ("city_cost, assign", "city-wide cost", look.better),
    )
    for number, name in enumerate(names):
        mine = runs[runs["data"] == name]
        for column, label, color in lines:
            share = 100 * (mine[column] > RISE).groupby(mine["t"]).mean()
            figure.add_scatter(
                x=[f"{t:g}" for t in share.index],
                y=share.round(2).tolist(),
                mode="lines+markers",
                name=f"{label}, raised by nearest assignment",
                legendgroup=label,
                showlegend=number == 0,
                line={"color": color, "width": 2},
                marker={"size": 8},
                hovertemplate=f"t = %{{x}}: {label} rose in %{{y:.0f}} % of runs<extra></extra>",
                **place(number, len(names)),
            )
    figure.update_yaxes(range=[-4, 104])
    figure.update_xaxes(type="category")
    return figure


def _findings(runs: pd.DataFrame) -> list[str]:
    """Sentences: in how many runs a cost rose, and by how much."""
    notes = []
    for cost, words in (("tilted_sse", "tilted SSE"), ("city_cost", "city-wide cost")):
        for step, name in (("assign", "Nearest assignment"), ("refine", "The tilted mean")):
            rise = runs[f"{cost}, {step}"]
            rose = int((rise > RISE).sum())
            most = f", by {100 * rise.max():.2g} % at most" if rose else ""
            notes.append(f"{name} raised the {words} in {rose} of {len(runs)} runs{most}.")
    by_t = (runs["tilted_sse, assign"] > RISE).groupby(runs["t"]).agg(["sum", "size"])
    listed = ", ".join(f"{int(row['sum'])} of {int(row['size'])} at t = {t:g}" for t, row in by_t.iterrows())
    notes.append(f"Runs whose tilted SSE rose under nearest assignment: {listed}.")
    notes.append(
        f"Labels were stable after {runs['iterations'].mean():.1f} iterations on average, "
        f"{runs['iterations'].max():.0f} at most."
    )
    return notes


EXPERIMENT = Experiment(
    name="monotone",
    title="What an iteration can raise",
    description="Nearest assignment and exact tilted means in turn: how often each raises the "
    "paper's tilted SSE, and the city-wide cost.",
    paper_figure="Theorem on convergence: the expected tilted SSE does not increase",
    work=monotone,
    data=cities_and_blobs,
    settings={"repeats": 10, "k": 4, "t": DIALS, "size": SAMPLE_SIZE},
    quick={"repeats": 3, "size": 300},
)
