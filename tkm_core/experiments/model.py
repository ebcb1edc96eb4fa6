"""Experiments: their data, samples and jobs, and runs that keep finished results when stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tkm_core.arrays import Floats
from tkm_core.clustering import check_points, check_weights
from tkm_core.progress import Progress, part, silent
from tkm_core.residents import Residents

SAMPLE_SIZE = 1000  # points of the paper's samples


class Stopped(Exception):  # noqa: N818 - a request, not an error
    """Raised in ``progress`` to end an experiment and keep what is finished, as Ctrl-C does."""


@dataclass(frozen=True)
class Dataset:
    """Points, scaled such that t is a pure number.

    Attributes
    ----------
    name : str
        Title of a panel.
    X : array (n, d)
    weights : array (n,) or None
        Population of each point; None counts every point once.
    columns : tuple of str
        Names of the d coordinates.
    notes : tuple of str
        What was read, left out or scaled, in sentences.

    Examples
    --------
    >>> data = Dataset("line", np.arange(10.0)[:, None], columns=("x",))
    >>> points, weights = data.draw(4, seed=1)
    >>> points.shape, weights
    ((4, 1), array([1., 1., 1., 1.]))
    """

    name: str
    X: Floats
    weights: Floats | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        points = check_points(self.X)
        object.__setattr__(self, "X", points)
        if self.weights is not None:
            object.__setattr__(self, "weights", check_weights(self.weights, len(points)))
        names = self.columns or tuple(f"x{axis + 1}" for axis in range(points.shape[1]))
        object.__setattr__(self, "columns", names)

    @classmethod
    def from_residents(cls, residents: Residents, name: str = "") -> "Dataset":
        """A city in the app's own scale: one unit for both axes, so that the map keeps its shape."""
        name = name or residents.name
        weighted = len(residents) > 0 and bool((residents.weights != residents.weights[0]).any())
        return cls(
            name,
            residents.scaled,
            residents.weights if weighted else None,
            ("x", "y"),
            (f"{name}: one unit is {residents.scale / 1000:.2f} km.",),
        )

    def draw(self, size: int, seed: int) -> tuple[Floats, Floats]:
        """A random sample, and the weight of each of its points.

        Without weights: ``size`` points without repetition, or all if there are fewer. With weights: ``size`` people
        drawn by population; those at the same point are one row.
        """
        rng = np.random.default_rng(seed)
        if self.weights is not None:
            people = rng.multinomial(size, self.weights / self.weights.sum())
            return self.X[people > 0], people[people > 0].astype(np.float64)
        if size >= len(self.X):
            return self.X, np.ones(len(self.X))
        return self.X[np.sort(rng.choice(len(self.X), size, replace=False))], np.ones(size)


@dataclass(frozen=True)
class Sample:
    """The sample of a data set in one repeat; its points are drawn on demand, always the same."""

    source: Dataset
    size: int
    repeat: int
    seed: int

    def draw(self) -> tuple[Floats, Floats]:
        """Points and their weights."""
        return self.source.draw(self.size, self.seed)

    def words(self, setting: str) -> str:
        """A sentence on what is done with the sample."""
        return f"{self.source.name}, {setting}, repeat {self.repeat + 1}"


Job = tuple[str, Callable[[Progress], pd.DataFrame]]
"""A sentence on what is done, and the work: given someone to report to, it returns rows."""


@dataclass(frozen=True)
class Run:
    """What all experiments have in common: data, samples, seed, progress and theme.

    Attributes
    ----------
    data : sequence of Dataset
    repeats, size : int
        Number of samples of each data set, and of points in a sample.
    seed : int
        Seed of everything that is drawn.
    progress : callable or None
        Called with the fraction done and a sentence.
    theme : {"light", "dark"}
        Of the figure.

    Examples
    --------
    >>> line = Dataset("line", np.arange(10.0)[:, None])
    >>> [each.words("k = 2") for each in Run([line], repeats=2, size=5).samples()]
    ['line, k = 2, repeat 1', 'line, k = 2, repeat 2']
    """

    data: Sequence[Dataset]
    repeats: int = 1
    size: int = SAMPLE_SIZE
    seed: int = 0
    progress: Progress | None = None
    theme: str = "light"

    def samples(self) -> Iterator[Sample]:
        """Every sample of every data set, by repeat, so that a run stopped early has used all data sets."""
        for repeat in range(self.repeats):
            for source in self.data:
                yield Sample(source, self.size, repeat, seed_of(self.seed, repeat))

    def gather(self, jobs: Sequence[Job]) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Do the jobs one after the other; rows of all that were finished, and a note if some were not."""
        return gather(jobs, self.progress)


@dataclass(frozen=True)
class Result:
    """The result of an experiment.

    Attributes
    ----------
    table : DataFrame
        The numbers, with one row per measurement.
    figure : plotly Figure
        In the form of the paper.
    notes : tuple of str
        What the numbers say, computed from them, in sentences.
    complete : bool
        False if it was stopped: the table then holds what was finished.
    """

    table: pd.DataFrame
    figure: go.Figure
    notes: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True)
class Experiment:
    """One entry of ``EXPERIMENTS``.

    Attributes
    ----------
    name, title, description, paper_figure : str
        Its key, title and description, and the figure or table of the paper that it repeats.
    work : callable
        ``work(run, **settings) -> Result``; see `Run`.
    data : callable
        ``data(seed)`` returns the default data sets.
    settings, quick : mapping
        Its options with their defaults (the paper's), and options for a run of a few seconds. "repeats" and "size" are
        passed in `run`.
    """

    name: str
    title: str
    description: str
    paper_figure: str
    work: Callable[..., Result]
    data: Callable[[int], list[Dataset]]
    settings: Mapping[str, Any]
    quick: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        data: Sequence[Dataset],
        *,
        seed: int = 0,
        progress: Progress | None = None,
        theme: str = "light",
        **settings: Any,
    ) -> Result:
        """Run the experiment.

        Parameters
        ----------
        data : sequence of Dataset
        seed : int
            Seed of samples, starts and everything else that is random.
        progress : callable, optional
            Called with the fraction done and a sentence; an exception ends the run (`Stopped` keeps what is done).
        theme : {"light", "dark"}
            Of the figure.
        **settings
            Options that replace the experiment's own `settings`.

        Returns
        -------
        Result
        """
        used = {**self.settings, **settings}
        shared = {name: used.pop(name) for name in ("repeats", "size") if name in self.settings}
        return self.work(Run(data, seed=seed, progress=progress, theme=theme, **shared), **used)


def gather(jobs: Sequence[Job], progress: Progress | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Do the jobs one after the other; rows of all that were finished, and a note if some were not.

    Examples
    --------
    >>> def stop(fraction, text):
    ...     if fraction >= 0.5:
    ...         raise Stopped
    >>> row = lambda report: pd.DataFrame({"value": [1]})
    >>> table, note = gather([("first", row), ("second", row)], stop)
    >>> len(table), note
    (1, ('Stopped after 1 of 2 runs: the figures are those of the finished runs.',))
    """
    report = progress or silent
    found: list[pd.DataFrame] = []
    for number, (text, job) in enumerate(jobs):
        try:
            report(number / len(jobs), text)
            found.append(job(_named(part(report, number / len(jobs), (number + 1) / len(jobs)), text)))
        except (KeyboardInterrupt, Stopped):
            if not found:
                raise
            note = f"Stopped after {number} of {len(jobs)} runs: the figures are those of the finished runs."
            return pd.concat(found, ignore_index=True), (note,)
    report(1.0, "Done")
    return pd.concat(found, ignore_index=True), ()


def seed_of(seed: int, repeat: int) -> int:
    """A separate seed for each repeat, the same in every experiment: repeat r always has the same sample.

    >>> seed_of(0, 0) == seed_of(0, 0), seed_of(0, 0) == seed_of(0, 1)
    (True, False)
    """
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0] >> 1)


def _named(report: Progress, text: str) -> Progress:
    """Show the experiment's own sentence while a method reports its progress."""
    return lambda fraction, _: report(fraction, text)
