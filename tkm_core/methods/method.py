"""Definitions shared by all methods: `Method`, its cost estimate, its task and its solution."""

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
SHOWN = 20  # the most facilities listed in a notebook


@dataclass(frozen=True)
class Estimate:
    """The time and memory a method is expected to need.

    Attributes
    ----------
    seconds, bytes : float, int
        For one core of a 2020s server; right within a factor of about three.
    feasible : bool
        Whether ``run_method`` starts it without a sample.
    sentence : str
        The same as a sentence.
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
    """The method would need too much time or memory; ``estimate`` says how much, and what to do instead."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__(estimate.sentence)
        self.estimate = estimate

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.estimate,)  # a worker sends it back to whoever waits


@dataclass(frozen=True)
class Placement:
    """The facilities a method places: the part of a solution that each method makes itself.

    ``rows`` are the points that became centres; None if centres may lie anywhere.
    """

    centers: Floats
    rows: Rows | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """The input of every method: checked residents with positive weights, k, a random state and a progress function.

    ``unit`` is the length of 1 in ``points``, for figures in the coordinates of the data. ``groups`` has the number of
    each resident's group from 0, if groups were given.
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
        Its name in code and on screen, what it does in planners' words, and its publication.
    centers_are_points : bool
        Whether every facility is placed where a resident lives.
    options : mapping
        The options it takes, with their defaults.
    place : callable
        Does the work: ``place(task, **options)``.
    cost : callable
        ``cost(n, d, k)`` returns the expected seconds and bytes.
    scales : bool
        Whether it is quick enough for millions of residents, so that it never needs a sample.
    may_give_up : bool
        Whether it may notice only while running that it takes too long.
    fair : bool
        Whether it takes fairness into account.
    needs_groups : bool
        Whether it works on groups of residents; it is offered only if there are groups.
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
        """Whether it depends on the fairness dial, t."""
        return "t" in self.options

    @property
    def keeps_existing(self) -> bool:
        """Whether it can keep existing facilities in place."""
        return "fixed_centers" in self.options


@dataclass(frozen=True, repr=False)
class Solution:
    """Facilities found by one method; measure them with ``evaluate``.

    Attributes
    ----------
    method : str
    centers : array (k', d)
        Distinct facilities; some methods open fewer than allowed.
    labels : array (n,)
        The nearest facility of every resident, including those outside the sample.
    seconds : float
        Wall-clock time, including sampling and labelling.
    centers_are_points : bool
        True if every facility stands where a resident lives, which cannot always be built on.
    rows : array (k',) or None
        The rows of X at which the facilities stand, if they stand at residents' places.
    sampled : int or None
        How many residents were drawn, if the method ran on a sample.
    notes : tuple of str
        What a reader should know about this run, in sentences.
    options : mapping
        The options used.
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
        """The facilities, whom they serve, and the notes."""
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
    """A placement without repeated centres, in order, with a note if fewer opened than allowed.

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
    """Seconds, minutes or hours in words."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.0f} h"


def _size(size: int) -> str:
    """Bytes in words."""
    return f"{max(1, round(size / 2**20)):,} MB" if size < 2**30 else f"{size / 2**30:,.1f} GB"
