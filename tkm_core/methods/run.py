"""One way to run every method: checks, sampling, timing, labels."""

import math
import numbers
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from tkm_core.checks import check_points, check_weights
from tkm_core.kernels import nearest
from tkm_core.methods.method import (
    MAX_BYTES,
    MAX_SECONDS,
    Estimate,
    Method,
    MethodTooLargeError,
    Placement,
    Progress,
    Rows,
    Solution,
    Task,
)
from tkm_core.methods.registry import describe
from tkm_core.objective import Array

SAMPLE_SIZE = 1000


def estimate(name: str, n: int, d: int, k: int, *, max_seconds: float = MAX_SECONDS) -> Estimate:
    """What a method expects to need for n residents in d dimensions and k facilities.

    Examples
    --------
    >>> estimate("fr", 1000, 2, 4).feasible
    True
    >>> print(estimate("fr", 90_000, 2, 4).sentence)
    FR on 90,000 residents would need about ... and ... GB of memory, which is more than is sensible; run it
    on a sample of 1,000 residents instead (sample=1000).
    """
    method = describe(name)
    seconds, size = method.cost(n, d, k)
    feasible = seconds <= max_seconds and size <= MAX_BYTES
    need = _need(seconds, size)
    if feasible:
        sentence = f"{method.title} on {n:,} residents takes {need}."
    else:
        sentence = (
            f"{method.title} on {n:,} residents would need {need}, which is more than is sensible; "
            f"run it on a sample of {SAMPLE_SIZE:,} residents instead (sample={SAMPLE_SIZE})."
        )
    return Estimate(seconds, size, feasible, sentence)


def run_method(
    name: str,
    X: ArrayLike,
    n_clusters: int,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: int | RandomState | None = None,
    progress: Progress | None = None,
    sample: int | Literal["auto"] | None = None,
    max_seconds: float = MAX_SECONDS,
    **options: Any,
) -> Solution:
    """Place facilities with one of ``METHODS``.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    X : array (n, d)
        Residents.
    n_clusters : int
        How many facilities may open.
    sample_weight : array (n,), optional
        Population of each resident point. A weight of 3 counts as three residents at that point, 0 as none
        (nor can a facility be put on it).
    random_state : int or RandomState, optional
        Makes the result repeatable. JKL, MV, FR and SFR use it only to draw a sample.
    progress : callable, optional
        Called with the fraction done and a sentence. To cancel, raise any exception in it: the method stops,
        also within the linear program of FR and SFR, and the exception comes out of ``run_method``.
    sample : int, "auto" or None
        None runs on everyone or, where that would take too much, raises ``MethodTooLargeError`` before it
        starts: nothing is left out unasked. A number runs on that many residents if there are more. "auto"
        takes 1,000 only where None would raise, and says so in ``notes``. With ``sample_weight`` residents
        are drawn by population (a point may be drawn more than once, and then counts so), otherwise without
        repetition.
    max_seconds : float
        The longest estimated time that is still started on everyone.
    **options
        The method's own, see ``describe(name).options``.

    Returns
    -------
    Solution

    Examples
    --------
    >>> residents = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]]
    >>> found = run_method("jkl", residents, 2)
    >>> found.centers, found.labels
    (array([[0., 0.], [9., 0.]]), array([0, 0, 1, 1], dtype=int32))
    """
    began = perf_counter()
    method = describe(name)
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    k = _check_count(n_clusters, int((weights > 0).sum()))
    used = _check_options(method, options)
    rng = check_random_state(random_state)
    rows, counts, size, notes = _draw(
        method, points, weights, k, sample, max_seconds, rng, weighted=sample_weight is not None
    )
    report = _never_falling(progress)
    if method.centers_are_points:
        placement = _place_on_points(method, points[rows], counts, k, rng, report, used)
    else:
        placement = method.place(Task(points[rows], counts, k, rng, report), **used)
    labels, _ = nearest(points, placement.centers)
    report(1.0, f"{method.title}: done")
    return Solution(
        method=name,
        centers=placement.centers,
        labels=labels,
        seconds=perf_counter() - began,
        centers_are_points=method.centers_are_points,
        rows=None if placement.rows is None else rows[placement.rows],
        sampled=size,
        notes=notes + placement.notes,
        options=used,
        details=placement.details,
    )


def _place_on_points(
    method: Method,
    points: Array,
    weights: Array,
    k: int,
    rng: RandomState,
    report: Progress,
    options: dict[str, Any],
) -> Placement:
    """Run on distinct places: repeated rows and weights mean the same, the order of rows means nothing."""
    places, first, place_of = np.unique(points, axis=0, return_index=True, return_inverse=True)
    population = np.bincount(place_of.ravel(), weights, minlength=len(places)).astype(np.float64)
    found = method.place(Task(places, population, k, rng, report), **options)
    assert found.rows is not None  # noqa: S101 - what centers_are_points promises
    return Placement(found.centers, first[found.rows], found.notes, found.details)


def _draw(
    method: Method,
    points: Array,
    weights: Array,
    k: int,
    sample: int | Literal["auto"] | None,
    max_seconds: float,
    rng: RandomState,
    *,
    weighted: bool,
) -> tuple[Rows, Array, int | None, tuple[str, ...]]:
    """Rows to run on, how much each counts, the size of the sample (None: everyone), what to say about it."""
    everyone = np.flatnonzero(weights > 0)
    why = ""
    if sample is None or sample == "auto":
        expected = estimate(method.name, len(everyone), points.shape[1], k, max_seconds=max_seconds)
        if expected.feasible:
            return everyone, weights[everyone], None, ()
        if sample is None:
            raise MethodTooLargeError(expected.sentence)
        size = SAMPLE_SIZE
        why = f", because everyone would need {_need(expected.seconds, expected.bytes)}"
    else:
        size = _check_sample(sample, k)
    if size >= len(everyone):
        return everyone, weights[everyone], None, ()
    if weighted:
        drawn = rng.multinomial(size, weights[everyone] / weights.sum())
        rows, counts = everyone[drawn > 0], drawn[drawn > 0].astype(np.float64)
        how = "drawn by population"
    else:
        rows = np.sort(rng.choice(everyone, size, replace=False))
        counts, how = np.ones(size), "drawn at random"
    note = f"{method.title} ran on a sample of {size:,} of the {len(everyone):,} resident points, {how}{why}."
    return rows, counts, size, (note,)


def _check_sample(sample: object, k: int) -> int:
    if not isinstance(sample, numbers.Integral) or int(sample) < k:
        msg = f'sample is {sample!r}; it must be None, "auto" or a whole number of at least n_clusters ({k}).'
        raise ValueError(msg)
    return int(sample)


def _check_count(n_clusters: object, n: int) -> int:
    if not isinstance(n_clusters, numbers.Integral) or int(n_clusters) < 1:
        msg = f"n_clusters is {n_clusters!r}; it must be a whole number of at least 1."
        raise ValueError(msg)
    if int(n_clusters) > n:
        msg = (
            f"n_clusters is {n_clusters}, but only {n} residents have a weight above 0; ask for at most {n}."
        )
        raise ValueError(msg)
    return int(n_clusters)


def _check_options(method: Method, options: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(options.keys() - method.options.keys())
    if unknown:
        allowed = ", ".join(method.options) or "none"
        msg = f"{method.title} has no option {unknown[0]!r}; its options are: {allowed}."
        raise ValueError(msg)
    return {**method.options, **options}


def _never_falling(progress: Progress | None) -> Progress:
    highest = 0.0

    def report(fraction: float, text: str) -> None:
        nonlocal highest
        highest = max(highest, min(fraction, 1.0))
        if progress is not None:
            progress(highest, text)

    return report


def _need(seconds: float, size: int) -> str:
    return f"about {_duration(seconds)} and {_size(size)} of memory"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.0f} h"


def _size(size: int) -> str:
    return f"{max(1, round(size / 2**20)):,} MB" if size < 2**30 else f"{size / 2**30:,.1f} GB"
