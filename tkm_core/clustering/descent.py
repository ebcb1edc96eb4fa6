"""The descent from given starting facilities to a fixed point, on one core or several."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.compiled import descents
from tkm_core.clustering.compiled.costs import log_noise, note_costs
from tkm_core.clustering.compiled.kernel import address_of
from tkm_core.clustering.compiled.passes import NEAREST, SMALL_Z, WIDE, find_nearest, sweep
from tkm_core.clustering.compiled.records import CLUSTER, City, Rule, frozen
from tkm_core.clustering.compiled.starts import open_facilities
from tkm_core.clustering.compiled.tilted_mean import MEAN, find_steps, tilted_mean
from tkm_core.clustering.compiled.wide import find_wide_steps
from tkm_core.clustering.threads import in_parallel, pool

FINEST = 1e-26  # rounding error, as a share of the squared width: costs below 1e-20 of it have fewer than six digits
CHUNK = 65_536  # rows per task: fixed, so that sums do not depend on the number of threads


def box(X: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest coordinate along each axis.

    >>> box(np.array([[0.0, 5.0], [2.0, 3.0]]))
    (array([0., 3.]), array([2., 5.]))
    """
    # column by column: many times faster than along axis 0 of a table with few columns
    return np.array([column.min() for column in X.T]), np.array([column.max() for column in X.T])


def nearest(X: Floats, centers: Floats) -> tuple[Labels, Floats]:
    """Index of each row's nearest centre, and its squared distance.

    >>> nearest(np.array([[0.0, 1.0], [5.0, 5.0]]), np.array([[0.0, 0.0], [5.0, 4.0]]))
    (array([0, 1], dtype=int32), array([1., 1.]))
    """
    labels, f = np.empty(len(X), np.int32), np.empty(len(X))
    find_nearest(frozen(X), np.array(centers, dtype=np.float64, order="C"), 0, len(X), labels, f)
    return labels, f


@dataclass(frozen=True)
class Problem:
    """Residents, weights and the number of facilities that may move; the others are fixed and come last."""

    X: Floats
    weights: Floats
    n_free: int
    diameter2: float

    @classmethod
    def of(cls, X: Floats, weights: Floats, n_free: int) -> "Problem":
        """Make a problem, with the diagonal of the residents' box as the longest distance to a facility."""
        low, high = box(X)
        return cls(frozen(X), frozen(weights), n_free, float(((high - low) ** 2).sum()))

    @property
    def city(self) -> City:
        """The residents in the form that compiled functions take."""
        return City(self.X, self.weights)

    def reach(self, free: Floats) -> float:
        """The largest possible squared distance to the nearest facility; ``free`` ones may move."""
        low, high = free.min(axis=0), free.max(axis=0)
        across = np.sqrt(self.diameter2)
        if (low < self.X[0] - across).any() or (high > self.X[0] + across).any():
            return float((np.maximum(np.abs(self.X[0] - low), np.abs(self.X[0] - high)) ** 2).sum()) * 4
        return self.diameter2

    def small(self, t: float, free: Floats) -> bool:
        """Whether t f is so small everywhere that the sums are kept as e^{t f} - 1; ``free`` facilities may move."""
        return float(t) * self.reach(free) <= SMALL_Z

    def rule(self, t: float, tol: float, free: Floats) -> Rule:
        """How to descend at t; the code for exact steps is compiled only if it may be needed."""
        most = float(t) * self.reach(free) if t > 0 else 0.0
        wide = self.X.shape[1] > WIDE
        exact = most > descents.HOT_Z or (wide and t > 0)
        steps = address_of(find_wide_steps if wide else find_steps, descents.STEPS) if exact else 0
        return Rule(
            t=float(t),
            small=bool(most <= SMALL_Z),
            n_free=int(self.n_free),
            tol=float(tol),
            nearest=address_of(find_nearest, NEAREST),
            sweep=address_of(sweep, descents.SWEEP),
            judge=address_of(descents.judge_and_step, descents.JUDGE),
            steps=steps,
            mean=address_of(tilted_mean, MEAN) if exact else 0,
            wide=wide,
            stop=np.zeros(1, np.int64),
        )

    def noise(self, t: float) -> float:
        """Differences of cost below this are rounding: of coordinates, and of the logarithm where there is one."""
        return FINEST * self.diameter2 + log_noise(t, self.small(t, self.X[:1]))


@dataclass(frozen=True)
class Descent:
    """The end of a descent."""

    centers: Floats
    labels: Labels
    n_iter: int
    left: float  # longest remaining step, relative to its cluster's radius
    history: Floats  # (n_iter + 1, 3): city-wide cost, tilted SSE, SSE

    @property
    def city_cost(self) -> float:
        """City-wide tilted cost of the result."""
        return float(self.history[-1, 0])

    @property
    def tilted_sse(self) -> float:
        """Tilted SSE of the result."""
        return float(self.history[-1, 1])

    @property
    def sse(self) -> float:
        """SSE of the result."""
        return float(self.history[-1, 2])


def seeds(X: Floats, weights: Floats, centers: Floats, n_free: int, kind: int, seed: int) -> None:
    """Fill the free rows of ``centers`` with seeds of one kind, given the fixed rows after them."""
    filled = np.array(centers, dtype=np.float64, order="C")
    open_facilities(City(frozen(X), frozen(weights)), filled, 0, int(n_free), int(kind), int(seed))
    centers[:n_free] = filled[:n_free]


def descend(
    problem: Problem, start: Floats, t: float, max_iter: int = 300, tol: float = 1e-6, *, alone: bool = False
) -> Descent:
    """Nearest assignment and tilted means in turn, from ``start`` to a fixed point. The city-wide cost never rises.

    It ends when no facility has a longer step left than ``tol`` times its cluster's radius. With more than ``CHUNK``
    residents, the square root of ``tol`` is used, at which about ``tol`` of the cost is left to gain. That many
    residents are spread over threads, unless ``alone`` keeps the descent on one thread, with the same result: for
    callers that run many descents at once.
    """
    centers = np.array(start, dtype=np.float64, order="C")
    labels = np.empty(len(problem.X), np.int32)
    history = np.empty((max_iter + 1, 3))
    free = centers[: problem.n_free]
    if len(problem.X) <= CHUNK:
        rule = problem.rule(t, tol, free)
        n_iter, left = descents.descend(problem.city, centers, rule, labels, history, 0, np.inf)
    else:
        rule = problem.rule(t, np.sqrt(tol), free)
        n_iter, left = _descend_in_chunks(problem.city, centers, rule, labels, history, alone=alone)
    return Descent(centers, labels, n_iter, left, history[: n_iter + 1].copy())


def descend_all(
    problem: Problem, starts: Floats, t: float, max_iter: int = 300, tol: float = 1e-6
) -> tuple[Floats, Floats]:
    """Descend from each of ``starts`` (r, k, d); returns the ends and their (city-wide cost, tilted SSE, SSE)."""
    ends = np.array(starts, dtype=np.float64, order="C")
    values = np.empty((len(ends), 3))
    rule = problem.rule(t, tol, ends[:, : problem.n_free].reshape(-1, ends.shape[-1]))

    def run(rows: slice) -> None:
        """Descend from some of the starts."""
        labels, history = np.empty(len(problem.X), np.int32), np.empty((max_iter + 1, 3))
        for i in range(rows.start, rows.stop):
            n_iter, _ = descents.descend(problem.city, ends[i], rule, labels, history, 0, np.inf)
            values[i] = history[n_iter]

    in_parallel(run, len(ends), 1 if len(problem.X) * len(ends) > 4096 else len(ends), rule.stop)
    return ends, values


def _descend_in_chunks(
    city: City, centers: Floats, rule: Rule, labels: Labels, history: Floats, *, alone: bool
) -> tuple[int, float]:
    """The loop of ``descents.descend`` with its pass in chunks, spread over threads unless ``alone``."""
    n = len(city.X)
    k, d = centers.shape
    bounds = [(i, min(n, i + CHUNK)) for i in range(0, n, CHUNK)]
    parts = np.zeros((len(bounds), k), CLUSTER)
    clusters = np.zeros(k, CLUSTER)
    first = np.empty((len(bounds), k, d))
    second = np.empty((len(bounds), k, 0 if rule.wide else d * d))
    before = np.full(n, -1, np.int32)
    trial = centers.copy()
    n_iter = 0
    while True:

        def run(c: int) -> tuple[int, float]:
            """Pass over one chunk."""
            low, high = bounds[c]
            found: tuple[int, float] = sweep(
                city, trial, rule, low, high, before, labels, parts[c], first[c], second[c]
            )
            return found

        found = list((map if alone else pool().map)(run, range(len(bounds))))
        worst = max(found, key=lambda each: each[1])[0]
        moments = merge(parts, first, second, rule, clusters)
        state = descents.judge_and_step(
            city, before, labels, centers, trial, rule, clusters, *moments, worst, n_iter > 0
        )
        if state == descents.RETRY:
            continue
        note_costs(clusters.view(np.recarray), rule.t, rule.small, history[n_iter])
        if state == descents.DONE or n_iter == len(history) - 1:
            return n_iter, float(clusters["left"].max())
        n_iter += 1
        before[:] = labels


def merge(
    parts: NDArray[np.void], first: Floats, second: Floats, rule: Rule, clusters: NDArray[np.void]
) -> tuple[Floats, Floats]:
    """Merge the sums of several chunks into ``clusters``, and the moments, scaled to their common largest exponent."""
    for name in ("mass", "weight", "cost", "mass_before", "moved"):
        clusters[name] = parts[name].sum(axis=0)
    for name in ("top", "top_before"):
        clusters[name] = parts[name].max(axis=0)
    if rule.small or np.isinf(rule.t):
        return first.sum(axis=0), second.sum(axis=0)
    with np.errstate(invalid="ignore"):
        now, before = (
            np.nan_to_num(np.exp(rule.t * (parts[name] - clusters[name]))) for name in ("top", "top_before")
        )
    clusters["mass"] = (parts["mass"] * now).sum(axis=0)
    clusters["mass_before"] = (parts["mass_before"] * before).sum(axis=0)
    return (first * now[:, :, None]).sum(axis=0), (second * now[:, :, None]).sum(axis=0)
