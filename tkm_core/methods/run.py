"""`run_method`: run any method, with checks, sampling, timing and labels."""

import numbers
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from tkm_core.arrays import Floats
from tkm_core.clustering import (
    Frame,
    check_fixed,
    check_points,
    check_weights,
    level_weights,
    named_weights,
    served,
)
from tkm_core.methods.method import (
    MAX_SECONDS,
    SAMPLE_SIZE,
    Estimate,
    Method,
    MethodTooLargeError,
    Placement,
    Rows,
    Solution,
    Task,
    distinct,
    judge,
)
from tkm_core.methods.registry import describe
from tkm_core.progress import Progress, never_falling


def estimate(name: str, n: int, d: int, k: int, *, max_seconds: float = MAX_SECONDS) -> Estimate:
    """The time and memory a method should need for n residents in d dimensions and k facilities.

    Examples
    --------
    >>> estimate("fr", 1000, 2, 4).feasible
    True
    >>> print(estimate("fr", 90_000, 2, 4).sentence)
    FR on 90,000 residents would need about ... and ... GB of memory, which is more than is sensible; run it
    on a sample of 1,000 residents instead (sample=1000).
    """
    method = describe(name)
    return judge(method.title, f"{n:,} residents", *method.cost(n, d, k), max_seconds)


def run_method(
    name: str,
    X: Any,
    n_clusters: int,
    *,
    sample_weight: ArrayLike | str | None = None,
    groups: ArrayLike | None = None,
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
    sample_weight : array (n,) or str, optional
        Population of each resident point, or the name of its column in the table X. A weight of 3 counts as three
        residents at that point, 0 as none (nor can a facility be put on it).
    groups : array (n,), optional
        The group of each resident (district, income band), for methods that use groups
        (``describe(name).needs_groups``). Without it, everyone is in one group.
    random_state : int or RandomState, optional
        Makes the result repeatable. JKL, MV, FR and SFR use it only to draw a sample.
    progress : callable, optional
        Called with the fraction done and a sentence. To cancel, raise any exception in it: the method stops,
        also within the linear program of FR and SFR, and the exception comes out of ``run_method``.
    sample : int, "auto" or None
        None runs on everyone or, if that would take too long, raises ``MethodTooLargeError`` before it starts.
        A number runs on that many residents if there are more. "auto" takes a sample of 1,000 only if None would
        raise, and says so in ``notes``. With ``sample_weight`` they are drawn by population (a point may be drawn
        more than once, and then counts as often), otherwise without repetition.
    max_seconds : float
        The longest estimated time for which the method is started.
    **options
        Options of the method, see ``describe(name).options``.

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
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    k = _check_count(n_clusters, int((weights > 0).sum()))
    used = _check_options(method, options)
    draw = _check_sample(sample, k)
    group_of = _check_groups(groups, len(points))
    rng = check_random_state(random_state)
    report = never_falling(progress)

    def attempt(size: int | None, limit: float) -> tuple[Rows, Placement, int | None]:
        """Run the method on a sample or everyone, if it should not take too long."""
        rows, counts = _draw(weights, size, rng, by_population=sample_weight is not None)
        expected = estimate(name, len(rows), points.shape[1], k, max_seconds=limit)
        if not expected.feasible:
            raise MethodTooLargeError(expected)
        task = Task(
            points[rows], counts, min(k, len(rows)), rng, report, limit, groups=_numbered(group_of, rows)
        )
        drawn = size if size is not None and size < np.count_nonzero(weights) else None
        return rows, _place(method, task, used), drawn

    why = ""
    try:
        rows, placement, drawn = attempt(draw, max_seconds)
    except MethodTooLargeError as refusal:
        if sample != "auto":
            raise
        why = f", because everyone would need {refusal.estimate.need}"
        rows, placement, drawn = attempt(SAMPLE_SIZE, np.inf)
    notes = placement.notes
    if drawn is not None:
        how = "drawn at random" if sample_weight is None else "drawn by population"
        of = f"{drawn:,} of the {np.count_nonzero(weights):,} resident points"
        notes = (f"{method.title} ran on a sample of {of}, {how}{why}.", *notes)
    labels = served(points, placement.centers, weights > 0)[0]
    report(1.0, f"{method.title}: done")
    return Solution(
        method=name,
        centers=placement.centers,
        labels=labels,
        seconds=perf_counter() - began,
        centers_are_points=method.centers_are_points,
        rows=None if placement.rows is None else rows[placement.rows],
        sampled=drawn,
        notes=notes,
        options=used,
        details=placement.details,
    )


def _place(method: Method, task: Task, options: dict[str, Any]) -> Placement:
    """Run a method; if its centres are points, on distinct places, so that repeated rows and weights mean the same.

    Methods whose centres are points are given scaled coordinates here; the others scale their own. A centre found
    twice counts once.
    """
    existing = check_fixed(options.get("fixed_centers"), task.points.shape[1])
    allowed = task.n_clusters + len(existing)
    if not method.centers_are_points:
        return distinct(method.place(task, **options), method.title, allowed)
    places, first, place_of = np.unique(task.points, axis=0, return_index=True, return_inverse=True)
    population = np.bincount(place_of.ravel(), task.weights, minlength=len(places)).astype(np.float64)
    frame = Frame.of(places)
    framed = replace(task, points=frame.inside(places), weights=level_weights(population), unit=frame.unit)
    found = method.place(framed, **options)
    found = replace(found, centers=places[found.rows], rows=first[found.rows])
    return distinct(found, method.title, allowed)


def _draw(weights: Floats, size: int | None, rng: RandomState, *, by_population: bool) -> tuple[Rows, Floats]:
    """Rows to run on and their weights; everyone if ``size`` is None or not smaller."""
    everyone = np.flatnonzero(weights > 0)
    if size is None or size >= len(everyone):
        return everyone, weights[everyone]
    if by_population:
        times = rng.multinomial(size, weights[everyone] / weights.sum())
        return everyone[times > 0], times[times > 0].astype(np.float64)
    return np.sort(rng.choice(everyone, size, replace=False)), np.ones(size)


def _check_groups(groups: ArrayLike | None, n: int) -> Rows | None:
    """The group of each row as a number; missing values (None, NaN) are a group too."""
    if groups is None:
        return None
    named = np.asarray(groups)
    if named.shape != (n,):
        msg = f"groups has the shape {named.shape}; it must have one entry for each of the {n} rows of X."
        raise ValueError(msg)
    if named.dtype == object:
        named = np.array([str(name) for name in named])
    return np.unique(named, return_inverse=True)[1].ravel().astype(np.intp)


def _numbered(groups: Rows | None, rows: Rows) -> Rows | None:
    """The groups of some rows, numbered from 0 without gaps."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1].ravel().astype(np.intp)


def _check_sample(sample: object, k: int) -> int | None:
    """Check the size of the sample; None for "auto"."""
    if sample is None or sample == "auto":
        return None
    if not isinstance(sample, numbers.Integral) or int(sample) < k:
        msg = f'sample is {sample!r}; it must be None, "auto" or a whole number of at least n_clusters ({k}).'
        raise ValueError(msg)
    return int(sample)


def _check_count(n_clusters: object, n: int) -> int:
    """Check the number of facilities."""
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
    """The options with their defaults; unknown ones are an error."""
    unknown = sorted(options.keys() - method.options.keys())
    if unknown:
        allowed = ", ".join(method.options) or "none"
        msg = f"{method.title} has no option {unknown[0]!r}; its options are: {allowed}."
        raise ValueError(msg)
    return {**method.options, **options}
