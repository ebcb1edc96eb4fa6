"""Experiment: running time against the number of residents, and where each method becomes too slow."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tkm_core.arrays import Floats
from tkm_core.clustering import CHUNK, LARGE
from tkm_core.experiments.data import large_city
from tkm_core.experiments.drawing import legend_above
from tkm_core.experiments.methods_on_samples import SGD, Contender, colours
from tkm_core.experiments.model import Dataset, Experiment, Job, Result, Run, seed_of
from tkm_core.figures import Look, layout, palette
from tkm_core.methods import MAX_BYTES, OWN, MethodTooLargeError, describe, estimate, run_method
from tkm_core.progress import Progress

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 90_000, 1_000_000)
TIMED = ("tkm", "fasttkm", "lspp", "cdcs", "sfr", "mv", "fr")  # the paper's table and its successors
DONE, TOO_LONG, TOO_MUCH, TOO_FEW = "done", "too long", "too much memory", "too few rows"
CELL = 25  # height of a table row in pixels; one that says "too much memory" takes two
WARM_UP = 60  # points of a first run that is not timed, so that everything is compiled


class _TimeUpError(Exception):
    """One run has taken longer than allowed."""


def running_time(
    run: Run, *, sizes: Sequence[int], methods: Sequence[str], t: float, k: int, max_seconds: float
) -> Result:
    """Time the methods on samples of growing size.

    Parameters
    ----------
    run : Run
        Weights of its data are ignored, as in the paper; `repeats` is the number of runs at each size.
    sizes : sequence of int
        Numbers of residents.
    methods : sequence of str
        Some of ``METHODS``; "tkm" is timed twice, with the exact solver and with the paper's SGD (500 iterations, 5
        epochs, batch n/50).
    t : float
        The dial of TKM.
    k : int
        Facilities.
    max_seconds : float
        A run that takes longer, or is expected to, is stopped or skipped and counts as "too long".

    Returns
    -------
    Result
        One row per run: data set, n, method, repeat, seconds (none if it was not finished), CPU seconds of all threads
        (which do not depend on other work on the machine) and status.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> EXPERIMENT.run([blobs(2, seed=0)], sizes=(50, 100, 500), methods=("jkl",)).table["status"].tolist()
    ['done', 'done', 'too few rows']
    """
    rows = _contenders(methods, t)
    last: dict[tuple[str, str], tuple[int, float]] = {}  # n and seconds of the previous size

    def job(source: Dataset, n: int, each: Contender, repeat: int) -> Job:
        """The job of one method, size and repeat."""

        def work(report: Progress) -> pd.DataFrame:
            """Run the method if it should be quick enough, and time it."""
            number = seed_of(run.seed, repeat)
            status, seconds, cpu = TOO_FEW, np.nan, np.nan
            if n <= len(source.X):
                X, _ = replace(source, weights=None).draw(n, number)
                status = foreseen(each.method, X.shape, k, max_seconds, last.get((source.name, each.label)))
                began = process_time()
                if status == DONE:
                    status, seconds = _timed(each, X, k, number, max_seconds, report)
                    cpu = process_time() - began if status == DONE else np.nan
                last[source.name, each.label] = (n, seconds if status == DONE else np.inf)
            return pd.DataFrame(
                [{"data": source.name, "n": n, "method": each.label, "repeat": repeat, "k": k,
                  "d": source.X.shape[1], "seconds": seconds, "cpu_seconds": cpu, "status": status}]
            )  # fmt: skip

        return f"{source.name}, n = {n:,}, {each.label}", work

    _warm_up(rows, max(sizes))
    jobs = [
        job(source, n, each, repeat)
        for source in run.data
        for n in sorted(sizes)
        for each in rows
        for repeat in range(run.repeats)
    ]
    table, stopped = run.gather(jobs)
    labels = [each.label for each in rows]
    notes = (*_findings(table, labels, max_seconds), *stopped)
    return Result(table, _draw(table, labels, run.theme), notes, not stopped)


def _warm_up(rows: Sequence[Contender], largest: int) -> None:
    """Run everything once without timing; the exact solver also at a size at which it condenses and works in chunks."""
    for each in rows:
        exact = each.method == OWN and "solver" not in each.options
        for n in (WARM_UP, CHUNK + 1) if exact and largest > LARGE else (WARM_UP,):
            points = np.random.default_rng(0).normal(size=(n, 2))
            run_method(each.method, points, 2, random_state=0, **_options(each, points))


def _contenders(methods: Sequence[str], t: float) -> list[Contender]:
    """The methods to time; TKM once with each solver."""
    found = []
    for name in methods:
        if name == OWN:
            found += [Contender("TKM", name, {"t": t}), Contender("TKM by SGD", name, {**SGD, "t": t})]
        else:
            found.append(Contender(describe(name).title, name, {}))
    return found


def _options(each: Contender, X: Floats) -> dict[str, Any]:
    """The options of a run; as in the paper, SGD's batch is a fiftieth of the data."""
    batch = {"batch_size": max(1, len(X) // 50)} if "batch_size" in each.options else {}
    return {**each.options, **batch}


def foreseen(
    method: str, shape: tuple[int, ...], k: int, max_seconds: float, before: tuple[int, float] | None
) -> str:
    """Whether to start a run, by the method's own estimate, corrected by its time at the previous size.

    Examples
    --------
    >>> foreseen("fr", (90_000, 2), 4, 60.0, None) in (TOO_LONG, TOO_MUCH)
    True
    >>> foreseen("jkl", (2_000, 2), 4, 60.0, (1_000, 59.0)), foreseen("jkl", (2_000, 2), 4, 60.0, (1_000, 0.1))
    ('too long', 'done')
    """
    n, d = shape
    expected = estimate(method, n, d, k)
    if expected.bytes > MAX_BYTES:
        return TOO_MUCH
    seconds = expected.seconds
    if before is not None:
        seconds *= before[1] / estimate(method, before[0], d, k).seconds
    return TOO_LONG if seconds > max_seconds else DONE


def _timed(
    each: Contender, X: Floats, k: int, seed: int, max_seconds: float, report: Progress
) -> tuple[str, float]:
    """Run a method within the time allowed; its status and seconds."""
    began = perf_counter()

    def watch(fraction: float, text: str) -> None:
        """Stop the run when the time is up."""
        if perf_counter() - began > max_seconds:
            raise _TimeUpError
        report(fraction, text)

    try:
        found = run_method(
            each.method, X, k, random_state=seed, progress=watch, max_seconds=np.inf, **_options(each, X)
        )
    except _TimeUpError:
        return TOO_LONG, np.nan
    except MethodTooLargeError as refusal:
        return (TOO_MUCH if refusal.estimate.bytes > MAX_BYTES else TOO_LONG), np.nan
    except MemoryError:
        return TOO_MUCH, np.nan
    return DONE, found.seconds


def _draw(table: pd.DataFrame, labels: Sequence[str], theme: str) -> go.Figure:
    """Above: seconds against n, on logarithmic axes. Below: the paper's table."""
    look = palette(theme)
    names, sizes = table["data"].unique().tolist(), sorted(table["n"].unique().tolist())
    rows = len(sizes) + 1 + (table["status"] == TOO_MUCH).groupby([table["data"], table["n"]]).any().sum()
    plot, listing = 400, 60 + CELL * int(rows)  # heights in pixels of a panel and of the table below it
    figure = make_subplots(
        2 * len(names), 1,
        specs=[[{"type": "xy"}], [{"type": "table"}]] * len(names),
        row_heights=[plot, listing] * len(names), vertical_spacing=56 / ((plot + listing) * len(names)),
        subplot_titles=[title for name in names for title in (name, "")],
    )  # fmt: skip
    frame = layout(
        Look(theme=theme), height=(plot + listing) * len(names) + 72, x="residents, n", y="seconds"
    )
    across, up = frame.pop("xaxis"), frame.pop("yaxis")
    figure.update_layout({**frame, "margin": {"l": 64, "r": 16, "t": 64, "b": 8}, "showlegend": True})
    figure.update_layout(legend=legend_above((plot + listing) * len(names)), dragmode="zoom")
    figure.update_xaxes({**across, "type": "log", "dtick": 1, "fixedrange": False})
    figure.update_yaxes({**up, "type": "log", "dtick": 1, "fixedrange": False})
    tints = colours(labels, theme)
    for number, name in enumerate(names):
        mine = table[table["data"] == name]
        cells = [[f"{n:,}" for n in sizes]]
        for label in labels:
            own = mine[mine["method"] == label]
            done = own[own["status"] == DONE].groupby("n")["seconds"].median()
            figure.add_scatter(
                x=done.index.tolist(), y=[float(f"{value:.4g}") for value in done], mode="lines+markers",
                name=label, legendgroup=label, showlegend=number == 0, line={"color": tints[label], "width": 2},
                marker={"size": 8}, hovertemplate=f"{label}, n = %{{x:,}}: %{{y:.3g}} s<extra></extra>",
                row=2 * number + 1, col=1,
            )  # fmt: skip
            cells.append([_cell(own[own["n"] == n]) for n in sizes])
        figure.add_table(
            header={"values": ["n", *labels], "fill": {"color": look.ground}, "align": "right",
                    "font": {"color": look.ink, "size": 13}, "line": {"color": look.border}},
            cells={"values": cells, "fill": {"color": look.page}, "align": "right", "height": CELL,
                   "font": {"color": look.ink, "size": 13}, "line": {"color": look.border}},
            row=2 * number + 2, col=1,
        )  # fmt: skip
    return figure


def _cell(runs: pd.DataFrame) -> str:
    """Seconds, or the reason why there are none."""
    if runs.empty:
        return ""
    seconds = runs.loc[runs["status"] == DONE, "seconds"]
    return f"{seconds.median():,.3g} s" if len(seconds) else str(runs["status"].iloc[0])


def _findings(table: pd.DataFrame, labels: Sequence[str], max_seconds: float) -> list[str]:
    """Sentences: the largest size each method finished, and its time there compared with TKM's."""
    notes = []
    for name, mine in table.groupby("data", sort=False):
        done = mine[mine["status"] == DONE].groupby(["method", "n"])[["seconds", "cpu_seconds"]].median()
        for label in labels:
            if label not in done.index:
                notes.append(f"{name}: {label} finished at no size.")
                continue
            own = done.loc[label]
            n, (seconds, cpu) = own.index[-1], own.iloc[-1]
            ends = mine[(mine["method"] == label) & (mine["status"] != DONE) & (mine["n"] > n)]
            end = f"; {ends['status'].iloc[0]} from n = {ends['n'].min():,} on" if len(ends) else ""
            ratio = ""
            if label != "TKM" and ("TKM", n) in done.index:
                times = done.loc[(label, n)] / done.loc[("TKM", n)]
                ratio = f", {times['seconds']:,.1f} times TKM's (CPU {times['cpu_seconds']:,.1f} times)"
            notes.append(
                f"{name}: {label} takes {seconds:,.3g} s (CPU {cpu:,.3g} s) at n = {n:,}{ratio}{end}."
            )
    notes.append(
        f"A run may take {max_seconds:g} s; the first run of each method, which compiles, is not timed."
    )
    return notes


EXPERIMENT = Experiment(
    name="running-time",
    title="Running time against the number of residents",
    description="Seconds of TKM, exact and by the paper's SGD, and of the published methods, and where each "
    "stops being usable.",
    paper_figure="Comparison among TKM, MV and FR in terms of running time (table)",
    work=running_time,
    data=large_city,
    settings={"sizes": SIZES, "methods": TIMED, "t": 0.1, "k": 4, "max_seconds": 600.0, "repeats": 1},
    quick={"sizes": (200, 500, 1_000), "max_seconds": 5.0},
)
