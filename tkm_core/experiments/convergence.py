"""Experiments on the convergence of the paper's SGD: by t, by epochs, by learning rate."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedKMeans
from tkm_core.experiments.data import cities_and_blobs
from tkm_core.experiments.drawing import panels, place, ramp, spread_line
from tkm_core.experiments.model import SAMPLE_SIZE, Experiment, Job, Result, Run, Sample
from tkm_core.progress import Progress

DIALS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
EPOCHS = (1, 3, 5, 7, 9)
RATES = (0.01, 0.02, 0.03, 0.04, 0.05)
SETTLED = 0.01  # a run has arrived when it is within this share of its starting tilted SSE from its end


def convergence(run: Run, *, vary: str, words: str, k: int, iterations: int, **options: Any) -> Result:
    """Run the SGD solver with one option varied, and the exact solver for comparison.

    Parameters
    ----------
    run : Run
    vary, words : str
        The option of ``TiltedKMeans`` that varies, and its name in words.
    k, iterations : int
        Number of facilities, and of iterations in a run.
    **options
        Options of ``TiltedKMeans``: t, n_epochs, learning_rate and batch_size; the one that varies has several values.

    Returns
    -------
    Result
        One row per iteration: data set, value, repeat, iteration, tilted SSE, city-wide cost, and in ``exact`` the
        tilted SSE of the exact solver on the same sample.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> found = BY_T.run([blobs(2, seed=0)], t=(0.1,), k=2, repeats=1, iterations=3)
    >>> found.table["iteration"].tolist()
    [0, 1, 2, 3]
    """
    values = options.pop(vary)

    def job(sample: Sample, value: float) -> Job:
        """The job of one sample and value."""

        def work(_: Progress) -> pd.DataFrame:
            """Fit with SGD and with the exact solver."""
            X, weights = sample.draw()
            used = {**options, "scale": 1.0, vary: value}
            model = TiltedKMeans(k, solver="sgd", max_iter=iterations, random_state=sample.seed, **used)
            history = model.fit(X, sample_weight=weights).history_
            exact = TiltedKMeans(k, t=used["t"], scale=1.0, random_state=sample.seed)
            exact.fit(X, sample_weight=weights)
            return pd.DataFrame(
                {
                    "data": sample.source.name,
                    vary: value,
                    "repeat": sample.repeat,
                    "iteration": np.arange(len(history)),
                    "tilted_sse": history[:, 1],
                    "city_cost": history[:, 0],
                    "exact": exact.tilted_sse_,
                }
            )

        return sample.words(f"{words} {value:g}"), work

    table, stopped = run.gather([job(sample, value) for sample in run.samples() for value in values])
    notes = (*_findings(table, vary, words), *stopped)
    return Result(table, _draw(table, vary, words, run.theme), notes, not stopped)


def _draw(table: pd.DataFrame, vary: str, words: str, theme: str) -> go.Figure:
    """One panel per data set, one line per value; dotted lines show the exact solver."""
    names, values = table["data"].unique().tolist(), sorted(table[vary].unique().tolist())
    colors = ramp(len(values), theme)
    figure = panels(names, x="iteration", y="tilted SSE", theme=theme)
    for number, name in enumerate(names):
        where = place(number, len(names))
        for value, color in zip(values, colors, strict=True):
            mine = table[(table["data"] == name) & (table[vary] == value)]
            if mine.empty:
                continue
            by_iteration = mine.groupby("iteration")["tilted_sse"]
            mean, std = by_iteration.mean(), by_iteration.std(ddof=0)
            shown = _worth_drawing(len(mean))
            spread_line(
                figure, mean.index.to_series().iloc[shown], mean.iloc[shown], std.iloc[shown],
                name=f"{words} {value:g}", color=color, where=where, legend=number == 0,
            )  # fmt: skip
            if (
                vary == "t" or value == values[-1]
            ):  # otherwise t, and so the exact solver, is the same for every line
                label = "exact solver"
                figure.add_scatter(
                    x=[0, int(mine["iteration"].max())],
                    y=[float(mine["exact"].mean())] * 2,
                    mode="lines",
                    line={"width": 1.5, "dash": "dot", "color": color if vary == "t" else "#808080"},
                    name=label,
                    legendgroup=label,
                    showlegend=number == 0 and value == values[-1],
                    hovertemplate=f"exact solver, {words} {value:g}: %{{y:.4g}}<extra></extra>"
                    if vary == "t"
                    else "exact solver: %{y:.4g}<extra></extra>",
                    **where,
                )
    ticks = [digit * 10.0**power for power in range(-4, 7) for digit in (1, 2, 5)]
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,.10g}" for tick in ticks])
    return figure


def _worth_drawing(count: int) -> Floats:
    """The first 50 iterations, then every fifth, since the curve is flat there."""
    return np.array([i for i in range(count) if i < 50 or i % 5 == 0 or i == count - 1], dtype=np.intp)


def _findings(table: pd.DataFrame, vary: str, words: str) -> tuple[str, ...]:
    """Sentences: where each line ends compared with the exact solver, when it gets there, how often it rises."""
    run = ["data", vary, "repeat"]
    cost = table.groupby(run)["tilted_sse"]
    start, end = cost.transform("first"), cost.transform("last")
    away = (table["tilted_sse"] - end).abs() > SETTLED * start
    per_run = pd.DataFrame(
        {
            "end": cost.last(),
            "above": 100 * (cost.last() / table.groupby(run)["exact"].last() - 1),
            "arrived": table["iteration"].where(away, -1).groupby([table[key] for key in run]).max() + 1,
            "rose": 100 * (cost.diff() > 1e-9 * start).groupby([table[key] for key in run]).mean(),
        }
    )
    ends = per_run["end"].groupby(level=["data", vary]).mean()
    notes = [
        f"{name}: final tilted SSE "
        + ", ".join(f"{mean:.4g} at {words} {value:g}" for value, mean in ends[name].items())
        + "."
        for name in table["data"].unique()
    ]
    for value, runs in per_run.groupby(level=vary):
        notes.append(
            f"{words} {value:g}: SGD ends {runs['above'].median():.1f} % above the exact solver (median of "
            f"{len(runs)} runs; worst {runs['above'].max():.1f} %), is close to that after "
            f"{runs['arrived'].median():.0f} iterations (median), and rises in "
            f"{runs['rose'].mean():.0f} % of its steps."
        )
    return tuple(notes)


def _by(vary: str, words: str, **fixed: Any) -> Callable[..., Result]:
    """The experiment that varies one option."""
    return partial(convergence, vary=vary, words=words, **fixed)


SETTINGS = {"repeats": 10, "k": 4, "iterations": 500, "size": SAMPLE_SIZE}
BY_T = Experiment(
    name="convergence-t",
    title="Convergence by t",
    description="Tilted SSE over the iterations of the paper's SGD for six values of t; dotted: the exact solver.",
    paper_figure="Effect of t on the convergence of TKM",
    work=_by("t", "t", learning_rate=0.05, n_epochs=5, batch_size=100),
    data=cities_and_blobs,
    settings={**SETTINGS, "t": DIALS},
    quick={"repeats": 1, "iterations": 60, "size": 500},
)
BY_EPOCHS = replace(
    BY_T,
    name="convergence-epochs",
    title="Convergence by epochs",
    description="Tilted SSE over the iterations of the paper's SGD with 1 to 9 gradient steps in each.",
    paper_figure="Effect of the epoch on the convergence of TKM",
    work=_by("n_epochs", "epochs", t=0.5, learning_rate=0.03, batch_size=50),
    settings={**SETTINGS, "n_epochs": EPOCHS},
)
BY_RATE = replace(
    BY_T,
    name="convergence-lr",
    title="Convergence by learning rate",
    description="Tilted SSE over the iterations of the paper's SGD with learning rates from 0.01 to 0.05.",
    paper_figure="Effect of the learning rate on the convergence of TKM",
    work=_by("learning_rate", "learning rate", t=0.5, n_epochs=5, batch_size=50),
    settings={**SETTINGS, "learning_rate": RATES},
)
