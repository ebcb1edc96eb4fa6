"""Tilted SSE against the iterations of the paper's SGD: by t, by epochs, by learning rate."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedKMeans
from tkm_core.experiments.drawing import panels, place, ramp, spread_line
from tkm_core.experiments.model import SAMPLE_SIZE, Dataset, Job, Result, Sample, gather, samples
from tkm_core.progress import Progress

DIALS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
EPOCHS = (1, 3, 5, 7, 9)
RATES = (0.01, 0.02, 0.03, 0.04, 0.05)
SETTLED = 0.01  # of the start's tilted SSE: nearer than that to its end, a run counts as arrived


def by_t(
    data: Sequence[Dataset],
    *,
    t: Sequence[float] = DIALS,
    learning_rate: float = 0.05,
    n_epochs: int = 5,
    batch_size: int = 100,
    **options: Any,
) -> Result:
    """Effect of t on the convergence of TKM; ``options`` as in ``convergence``."""
    fixed = {"learning_rate": learning_rate, "n_epochs": n_epochs, "batch_size": batch_size}
    return convergence(data, "t", "t", list(t), fixed, **options)


def by_epochs(
    data: Sequence[Dataset],
    *,
    n_epochs: Sequence[int] = EPOCHS,
    t: float = 0.5,
    learning_rate: float = 0.03,
    batch_size: int = 50,
    **options: Any,
) -> Result:
    """Effect of the number of epochs on the convergence of TKM; ``options`` as in ``convergence``."""
    fixed = {"t": t, "learning_rate": learning_rate, "batch_size": batch_size}
    return convergence(data, "n_epochs", "epochs", list(n_epochs), fixed, **options)


def by_rate(
    data: Sequence[Dataset],
    *,
    learning_rate: Sequence[float] = RATES,
    t: float = 0.5,
    n_epochs: int = 5,
    batch_size: int = 50,
    **options: Any,
) -> Result:
    """Effect of the learning rate on the convergence of TKM; ``options`` as in ``convergence``."""
    fixed = {"t": t, "n_epochs": n_epochs, "batch_size": batch_size}
    return convergence(data, "learning_rate", "learning rate", list(learning_rate), fixed, **options)


def convergence(
    data: Sequence[Dataset],
    vary: str,
    words: str,
    values: Sequence[float],
    fixed: dict[str, Any],
    *,
    k: int = 4,
    repeats: int = 10,
    iterations: int = 500,
    size: int = SAMPLE_SIZE,
    seed: int = 0,
    progress: Progress | None = None,
    theme: str = "light",
) -> Result:
    """Run the SGD solver with one option varied, and the exact solver beside it as the mark to reach.

    Parameters
    ----------
    data : sequence of Dataset
    vary, words : str
        The option of ``TiltedKMeans`` that varies, and what people call it.
    values : sequence of float
        Its values.
    fixed : dict
        The other options.
    k, repeats, iterations, size, seed : int
        Facilities; samples of each data set; iterations of a run; points of a sample; seed of all of it.
    progress, theme
        Whom to report to; "light" or "dark".

    Returns
    -------
    Result
        One row an iteration: data set, value, repeat, iteration, tilted SSE, city-wide cost, and in ``exact``
        the tilted SSE of the exact solver on the same sample.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> found = by_t([blobs(2, seed=0)], t=(0.1,), k=2, repeats=1, iterations=3)
    >>> found.table["iteration"].tolist()
    [0, 1, 2, 3]
    """

    def job(sample: Sample, value: float) -> Job:
        def work(_: Progress) -> pd.DataFrame:
            X, weights = sample.draw()
            options = {**fixed, vary: value}
            run = TiltedKMeans(k, solver="sgd", max_iter=iterations, random_state=sample.seed, **options)
            history = run.fit(X, sample_weight=weights).history_
            exact = TiltedKMeans(k, t=options["t"], random_state=sample.seed).fit(X, sample_weight=weights)
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

    drawn = samples(data, repeats=repeats, size=size, seed=seed)
    jobs = [job(sample, value) for sample in drawn for value in values]
    table, stopped = gather(jobs, progress)
    notes = (*_findings(table, vary, words), *stopped)
    return Result(table, _draw(table, vary, words, theme), notes, not stopped)


def _draw(table: pd.DataFrame, vary: str, words: str, theme: str) -> go.Figure:
    """One panel a data set, one line a value; a dotted line where the exact solver ends."""
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
            if vary == "t" or value == values[-1]:  # elsewhere t is the same in every line
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
    """Every iteration of the first 50, then every fifth: the curve is flat there."""
    return np.array([i for i in range(count) if i < 50 or i % 5 == 0 or i == count - 1], dtype=np.intp)


def _findings(table: pd.DataFrame, vary: str, words: str) -> tuple[str, ...]:
    """Where each line ends, against the exact solver; when it got there; how often it rose on the way."""
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
            f"{len(runs)} runs; worst {runs['above'].max():.1f} %), is near that end after "
            f"{runs['arrived'].median():.0f} iterations (median), and rises in "
            f"{runs['rose'].mean():.0f} % of its steps."
        )
    return tuple(notes)
