"""What a method is, what it says before it starts, and what it hands back."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from tkm_core.arrays import Floats, Labels
from tkm_core.notebooks import data_frame, figure, html_table
from tkm_core.progress import Progress

Rows = NDArray[np.intp]

MAX_BYTES = 4 * 2**30
MAX_SECONDS = 600.0
SAMPLE_SIZE = 1000
SHOWN = 20  # facilities in a notebook


@dataclass(frozen=True)
class Estimate:
    """What a method expects to need, said before it starts.

    Attributes
    ----------
    seconds, bytes : float, int
        For one core of a 2020s server; right within a factor of about three.
    feasible : bool
        Whether ``run_method`` starts it without a sample.
    sentence : str
        The same for people.
    """

    seconds: float
    bytes: int
    feasible: bool
    sentence: str

    @property
    def need(self) -> str:
        """Time and memory in words."""
        return f"about {_duration(self.seconds)} and {_size(self.bytes)} of memory"


class MethodTooLargeError(ValueError):
    """The method would need more time or memory than is sensible; ``estimate`` says what, and a way out."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__(estimate.sentence)
        self.estimate = estimate


@dataclass(frozen=True)
class Placement:
    """Where a method puts its facilities: the part of a solution that each method writes itself.

    ``rows`` says which of the points it was given became centres; None where centres lie anywhere.
    """

    centers: Floats
    rows: Rows | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What every method is given: checked residents with positive weights, and someone to report to.

    ``unit`` is the length of one in ``points``, for what is reported in the coordinates of the data. ``groups`` numbers
    the group of each resident from 0, where groups were given.
    """

    points: Floats
    weights: Floats
    n_clusters: int
    random_state: RandomState
    report: Progress
    max_seconds: float = MAX_SECONDS
    unit: float = 1.0
    groups: Rows | None = None


@dataclass(frozen=True)
class Method:
    """One entry of the registry.

    Attributes
    ----------
    name, title, description, source : str
        How it is called in code and on screen, what it does in a planner's words, and who published it.
    centers_are_points : bool
        Whether every facility is put on a resident's own place.
    options : mapping
        The options it takes, with their defaults.
    place : callable
        Does the work: ``place(task, **options)``.
    cost : callable
        ``cost(n, d, k)`` gives the expected seconds and bytes.
    scales : bool
        Whether its time grows no faster than the residents: it then always serves everyone, as the Plan page does.
    may_give_up : bool
        Whether it may find out only on the way that it takes longer than it may.
    fair : bool
        Whether it looks after those who live far out.
    needs_groups : bool
        Whether it looks at groups of residents: it is offered only where residents have groups.
    """

    name: str
    title: str
    description: str
    source: str
    centers_are_points: bool
    options: Mapping[str, Any]
    place: Callable[..., Placement]
    cost: Callable[[int, int, int], tuple[float, int]]
    scales: bool = False
    may_give_up: bool = False
    fair: bool = True
    needs_groups: bool = False

    @property
    def has_dial(self) -> bool:
        """Whether it is turned by the fairness dial, t."""
        return "t" in self.options

    @property
    def keeps_existing(self) -> bool:
        """Whether it can keep facilities that exist already where they are."""
        return "fixed_centers" in self.options


@dataclass(frozen=True, repr=False)
class Solution:
    """Facilities found by one method; judge them with ``evaluate``.

    Attributes
    ----------
    method : str
    centers : array (k', d)
        Distinct facilities; some methods open fewer than they may.
    labels : array (n,)
        The nearest facility of every resident, also of those outside the sample.
    seconds : float
        Wall-clock time, sampling and labelling included.
    centers_are_points : bool
        True where every facility stands on a resident's place, which cannot always be built on.
    rows : array (k',) or None
        Which rows of X the facilities stand on, if they stand on rows.
    sampled : int or None
        How many residents were drawn, if the method ran on a sample.
    notes : tuple of str
        What a reader should know about this run, in sentences.
    options : mapping
        The options in force.
    details : mapping
        What the method itself reports, such as ``lower_bound`` of FR.
    """

    method: str
    centers: Floats
    labels: Labels
    seconds: float
    centers_are_points: bool
    rows: Rows | None
    sampled: int | None
    notes: tuple[str, ...]
    options: Mapping[str, Any]
    details: Mapping[str, Any]

    def __repr__(self) -> str:
        sample = "" if self.sampled is None else f", from a sample of {self.sampled:,}"
        return f"<Solution of {self.method}: {len(self.centers)} facilities{sample}, {self.seconds:.2g} s>"

    def _repr_html_(self) -> str:
        """Where the facilities are, whom they serve, and what the method said."""
        frame = np.column_stack([self.centers, np.bincount(self.labels, minlength=len(self.centers))])
        head = ["", *(f"x{axis}" for axis in range(self.centers.shape[1])), "rows"]
        rows = [(str(j), *map(figure, row)) for j, row in enumerate(frame[:SHOWN])]
        more = [f"and {len(frame) - SHOWN} more facilities"] if len(frame) > SHOWN else []
        return html_table(repr(self)[1:-1], head, rows, [*more, *self.notes])

    def to_frame(self) -> Any:
        """One row for each facility: its coordinates x0, x1, ... and how many rows of X it serves.

        Returns
        -------
        pandas.DataFrame
        """
        columns = {f"x{axis}": self.centers[:, axis] for axis in range(self.centers.shape[1])}
        served = np.bincount(self.labels, minlength=len(self.centers))
        return data_frame({**columns, "rows": served}).rename_axis("facility")


def judge(title: str, what: str, seconds: float, size: int, max_seconds: float) -> Estimate:
    """The estimate for running ``title`` on ``what``, in figures and in a sentence.

    >>> judge("JKL", "10,000 residents", 2.5, 5_000_000, 600).sentence
    'JKL on 10,000 residents takes about 3 s and 5 MB of memory.'
    """
    feasible = seconds <= max_seconds and size <= MAX_BYTES
    bare = Estimate(seconds, size, feasible, "")
    if feasible:
        return replace(bare, sentence=f"{title} on {what} takes {bare.need}.")
    sentence = (
        f"{title} on {what} would need {bare.need}, which is more than is sensible; "
        f"run it on a sample of {SAMPLE_SIZE:,} residents instead (sample={SAMPLE_SIZE})."
    )
    return replace(bare, sentence=sentence)


def distinct(found: Placement, title: str, allowed: int) -> Placement:
    """A placement without repeated centres, in their order, with a note if fewer opened than may.

    >>> once = distinct(Placement(np.array([[2.0], [1.0], [2.0]])), "NF", 3)
    >>> once.centers.ravel().tolist(), once.notes
    ([2.0, 1.0], ('NF opened 2 of the 3 facilities it may open.',))
    """
    first = np.sort(np.unique(found.centers, axis=0, return_index=True)[1])
    fewer = f"{title} opened {len(first)} of the {allowed} facilities it may open."
    return replace(
        found,
        centers=found.centers[first],
        rows=None if found.rows is None else found.rows[first],
        notes=(*found.notes, fewer) if len(first) < allowed else found.notes,
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.0f} h"


def _size(size: int) -> str:
    return f"{max(1, round(size / 2**20)):,} MB" if size < 2**30 else f"{size / 2**30:,.1f} GB"
