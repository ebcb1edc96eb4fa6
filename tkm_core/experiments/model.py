"""What an experiment is, what it works on, and how it runs: job after job, and nothing finished is lost."""

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


class Stopped(Exception):  # noqa: N818 - it is a wish, not an error
    """Raise it in ``progress`` to end an experiment and keep what is finished, as Ctrl-C does."""


@dataclass(frozen=True)
class Dataset:
    """Points in units in which t is a pure number.

    Attributes
    ----------
    name : str
        For people: the title of a panel.
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
        """A seeded sample and how much each of its points counts.

        Without weights: ``size`` points without repetition, or all if there are no more. With weights:
        ``size`` people drawn by population; those who live at the same point are one row.
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
    """One repeat's sample of a data set; its points are drawn when they are asked for, the same every time."""

    source: Dataset
    size: int
    repeat: int
    seed: int

    def draw(self) -> tuple[Floats, Floats]:
        """Points, and how much each counts."""
        return self.source.draw(self.size, self.seed)

    def words(self, setting: str) -> str:
        """What is done with it, for people."""
        return f"{self.source.name}, {setting}, repeat {self.repeat + 1}"


Job = tuple[str, Callable[[Progress], pd.DataFrame]]
"""A sentence on what is done, and the work: given someone to report to, it returns rows."""


@dataclass(frozen=True)
class Run:
    """What every experiment is given, whatever it does.

    Attributes
    ----------
    data : sequence of Dataset
    repeats, size : int
        Samples of each data set, and how many points a sample has.
    seed : int
        Of all of it.
    progress : callable or None
        Whom to report to.
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
        """Every sample of every data set, repeat after repeat: what is stopped early has seen all data sets."""
        for repeat in range(self.repeats):
            for source in self.data:
                yield Sample(source, self.size, repeat, seed_of(self.seed, repeat))

    def gather(self, jobs: Sequence[Job]) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Do the jobs one after the other; rows of all that were finished, and a note if some were not."""
        return gather(jobs, self.progress)


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes
    ----------
    table : DataFrame
        The numbers, one row a measurement.
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
        How it is called, what it shows, and which figure or table of the paper it repeats.
    work : callable
        ``work(run, **settings) -> Result``; `run` has what all experiments share.
    data : callable
        ``data(seed)`` gives the data sets it runs on by default.
    settings, quick : mapping
        Its options with their defaults (the paper's), and those of a run of a few seconds. "repeats" and "size" are
        handed over in `run`.
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
        """Run it.

        Parameters
        ----------
        data : sequence of Dataset
        seed : int
            Of samples, starts and whatever else is drawn.
        progress : callable, optional
            Called with the fraction done and a sentence; what it raises ends the run (`Stopped` keeps what is done).
        theme : {"light", "dark"}
            Of the figure.
        **settings
            In place of the experiment's own `settings`.

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
    """An own seed for each repeat, the same in every experiment: repeat r always sees the same sample.

    >>> seed_of(0, 0) == seed_of(0, 0), seed_of(0, 0) == seed_of(0, 1)
    (True, False)
    """
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0] >> 1)


def _named(report: Progress, text: str) -> Progress:
    """Keep the experiment's own sentence on the bar while a method reports its fraction."""
    return lambda fraction, _: report(fraction, text)
