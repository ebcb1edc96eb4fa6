"""From given starting facilities down to a fixed point, on one core or several."""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.compiled import passes
from tkm_core.clustering.compiled.costs import log_noise, objectives
from tkm_core.clustering.threads import in_parallel, pool

FINEST = 1e-26  # of the squared width: costs below 1e-20 of it have fewer than six digits
CHUNK = 65_536  # rows per task: fixed, so that sums do not depend on the number of threads


def box(X: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest coordinate along each axis.

    >>> box(np.array([[0.0, 5.0], [2.0, 3.0]]))
    (array([0., 3.]), array([2., 5.]))
    """
    # column by column: many times as fast as along axis 0 of a table with few columns
    return np.array([column.min() for column in X.T]), np.array([column.max() for column in X.T])


@dataclass(frozen=True)
class Problem:
    """Residents, weights and the number of facilities that may move; the others are fixed and come last."""

    X: Floats
    weights: Floats
    n_free: int
    diameter2: float

    @classmethod
    def of(cls, X: Floats, weights: Floats, n_free: int) -> "Problem":
        """Gather a problem; no distance to the nearest facility is longer than across the residents' box."""
        low, high = box(X)
        return cls(X, weights, n_free, float(((high - low) ** 2).sum()))

    def small(self, t: float, free: Floats) -> bool:
        """Whether t f is so small everywhere that the sums are kept as e^{t f} - 1; ``free`` facilities may move."""
        reach = self.diameter2
        low, high = free.min(axis=0), free.max(axis=0)
        if (low < self.X[0] - np.sqrt(reach)).any() or (high > self.X[0] + np.sqrt(reach)).any():
            reach = float((np.maximum(np.abs(self.X[0] - low), np.abs(self.X[0] - high)) ** 2).sum()) * 4
        return float(t) * reach <= passes.SMALL_Z

    def noise(self, t: float) -> float:
        """Differences of cost below this are rounding: of coordinates, and of the logarithm where there is one."""
        return FINEST * self.diameter2 + log_noise(t, self.small(t, self.X[:1]))


@dataclass(frozen=True)
class Descent:
    """Where a descent ended."""

    centers: Floats
    labels: Labels
    n_iter: int
    left: float  # longest step that is left, relative to its cluster's radius
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


def descend(
    problem: Problem, start: Floats, t: float, max_iter: int = 300, tol: float = 1e-6, *, alone: bool = False
) -> Descent:
    """Nearest assignment and tilted means in turn, from ``start`` to a fixed point. The city-wide cost never rises.

    It ends when no facility has a longer step left than ``tol`` times its cluster's radius; with more than ``CHUNK``
    residents the square root of that, where about ``tol`` of the cost is left to gain. So many are spread over threads,
    unless it is to be ``alone`` on its own, with the same result: for those who have many descents to make.
    """
    centers = np.array(start, dtype=np.float64, order="C")
    labels = np.empty(len(problem.X), np.int32)
    history = np.empty((max_iter + 1, 3))
    small = problem.small(t, centers[: problem.n_free])
    if len(problem.X) <= CHUNK:
        n_iter, left = passes.descend(
            problem.X,
            problem.weights,
            centers,
            problem.n_free,
            t,
            small,
            max_iter,
            tol,
            labels,
            history,
            0,
            np.inf,
        )
    else:
        n_iter, left = _descend_in_chunks(
            problem, centers, t, max_iter, np.sqrt(tol), labels, history, small=small, alone=alone
        )
    return Descent(centers, labels, n_iter, left, history[: n_iter + 1].copy())


def descend_all(
    problem: Problem, starts: Floats, t: float, max_iter: int = 300, tol: float = 1e-6
) -> tuple[Floats, Floats]:
    """Descend from each of ``starts`` (r, k, d); returns the ends and their (city-wide cost, tilted SSE, SSE)."""
    ends = np.array(starts, dtype=np.float64, order="C")
    values = np.empty((len(ends), 3))
    small = problem.small(t, ends[:, : problem.n_free].reshape(-1, ends.shape[-1]))

    def run(rows: slice) -> None:
        passes.descend_many(
            problem.X, problem.weights, ends[rows], problem.n_free, t, small, max_iter, tol, values[rows]
        )

    in_parallel(run, len(ends), 1 if len(problem.X) * len(ends) > 4096 else len(ends))
    return ends, values


def _descend_in_chunks(
    problem: Problem,
    centers: Floats,
    t: float,
    max_iter: int,
    tol: float,
    labels: Labels,
    history: Floats,
    *,
    small: bool,
    alone: bool,
) -> tuple[int, float]:
    """The loop of ``passes.descend`` with its sweep in chunks, spread over threads unless ``alone``."""
    X, w = problem.X, problem.weights
    k, d = centers.shape
    bounds = [(i, min(len(X), i + CHUNK)) for i in range(0, len(X), CHUNK)]
    stats = np.empty((len(bounds), k, 7))
    moments = np.empty((len(bounds), k, d + d * d))
    old = np.full(len(X), -1, np.int32)
    trial, step, line = centers.copy(), np.zeros((k, d)), np.zeros((k, 7))
    n_iter = 0
    while True:

        def run(c: int) -> tuple[int, int, float]:
            low, high = bounds[c]
            return passes.sweep(X, w, trial, t, small, low, high, old, labels, stats[c], moments[c])

        found = list((map if alone else pool().map)(run, range(len(bounds))))
        worst = max(found, key=lambda each: each[2])[1]
        all_stats, all_moments = merge(stats, moments, t, small=small)
        state = passes.advance(
            X, w, old, labels, centers, trial, step, line, all_stats, all_moments, worst,
            problem.n_free, t, small, tol, n_iter == 0,
        )  # fmt: skip
        if state == passes.RETRY:
            continue
        history[n_iter] = objectives(all_stats, t, small)
        if state == passes.DONE or n_iter == max_iter:
            return n_iter, float(line[:, 4].max())
        n_iter += 1
        old[:] = labels


def merge(stats: Floats, moments: Floats, t: float, *, small: bool) -> tuple[Floats, Floats]:
    """The sums of several chunks as those of one: masses are brought to the common top first."""
    total = stats.sum(axis=0)
    total[:, 0] = stats[:, :, 0].max(axis=0)
    total[:, 4] = stats[:, :, 4].max(axis=0)
    if small or np.isinf(t):
        return total, moments.sum(axis=0)
    with np.errstate(invalid="ignore"):
        new = np.nan_to_num(np.exp(t * (stats[:, :, 0] - total[:, 0])))
        old = np.nan_to_num(np.exp(t * (stats[:, :, 4] - total[:, 4])))
    total[:, 1] = (stats[:, :, 1] * new).sum(axis=0)
    total[:, 5] = (stats[:, :, 5] * old).sum(axis=0)
    return total, (moments * new[:, :, None]).sum(axis=0)
