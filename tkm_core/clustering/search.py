"""Where to start: several searches, each with starts of different kinds.

The landscape has bad local minima: a fast solver with a single start may return twice the cost.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled import starts
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.descent import Problem, descend_all
from tkm_core.clustering.stand_ins import cells, condense
from tkm_core.clustering.threads import in_parallel

LARGE = 20_000  # residents beyond which candidates are compared on stand-ins
WALK = 3_000  # stand-ins on which the path is walked
MILD_TILT = 0.5  # t times the variance up to which the landscape is nearly that of k-means
FINALISTS = 3  # candidates that are compared on the middle level
ROUND = 2  # searches at a time: fixed, so that the result does not depend on the number of threads
AGREE = 1e-3  # relative difference up to which two searches have found the same


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes
    ----------
    patience : int
        Moves in a row that may fail before a search gives up.
    confirmed : int
        Searches that have to end at the lowest value found.
    most : int
        Searches after which it is taken as it is.
    """

    patience: int
    confirmed: int
    most: int


MILD, STRONG = Effort(20, 2, 4), Effort(20, 5, 24)
COLUMN = {"city": 0, "cluster": 1}  # of a descent's values


@dataclass(frozen=True)
class Search:
    """A problem at three levels: all residents, stand-ins for many of them, a few hundred cells."""

    full: Problem
    fixed: Floats
    criterion: str

    @cached_property
    def middle(self) -> Problem:
        """The level on which candidates are compared: the residents themselves, if they are not too many."""
        if len(self.full.X) <= LARGE:
            return self.full
        return self._problem(*condense(self.full.X, self.full.weights))

    @cached_property
    def variance(self) -> float:
        """Weighted variance per axis: the unit in which t is mild or strong."""
        X, w = self.middle.X, self.middle.weights
        spread = np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w)
        return float(spread.mean())

    @cached_property
    def walk(self) -> Problem:
        """The level on which the path over t is walked."""
        return self._cells(max(WALK, 100 * self.full.n_free))

    def _problem(self, X: Floats, weights: Floats) -> Problem:
        return Problem.of(X, weights, self.full.n_free)

    @cached_property
    def _levels(self) -> dict[int, Problem]:
        return {}

    def _cells(self, count: int) -> Problem:
        if len(self.middle.X) <= count:
            return self.middle
        if count not in self._levels:
            self._levels[count] = self._problem(*cells(self.middle.X, self.middle.weights, count))
        return self._levels[count]

    def _effort(self, t: float) -> Effort:
        return MILD if float(t) * self.variance <= MILD_TILT else STRONG

    def candidates(
        self, t: float, rng: np.random.Generator, count: int, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """The winners (count, k, d) of independent searches at t, and their values on a few hundred cells.

        Each begins with seeds of its own, or all with ``start``; where t is strong they look at more cells.
        """
        effort = self._effort(t)
        mild = effort is MILD
        k, d = self.full.n_free, self.full.X.shape[1]
        problem = self._cells(max(250 if d <= 3 else 500, 30 * k) if mild else max(1000, 60 * k))
        third = starts.KMEANS if mild else starts.RESIDENTS
        kinds = np.array([starts.KMEANS_PP, starts.FARTHEST, third] if start is None else [], dtype=np.int64)
        found, values = np.zeros((count, k + len(self.fixed), d)), np.full(count, np.inf)
        if start is not None:
            found[:] = start
        seeds = rng.integers(2**31, size=count)
        small, noise = problem.small(t, problem.X[:1]), problem.noise(t)

        def run(rows: slice) -> None:
            for i in range(rows.start, rows.stop):
                values[i] = starts.explore(
                    problem.X, problem.weights, self.fixed, problem.n_free, t, small, COLUMN[self.criterion], kinds,
                    effort.patience, 1e-2, noise, seeds[i], found[i],
                )  # fmt: skip

        in_parallel(run, count, 1)
        return found, values

    def _agreeing(self, values: Floats, t: float) -> int:
        """How many searches ended at the lowest value."""
        noise = self.middle.noise(t)
        return sum(not clearly_lower(values.min(), value, AGREE, noise) for value in values)

    def best(self, t: float, rng: np.random.Generator, count: int | None = None) -> Floats:
        """The candidate that ends lowest on the middle level, and its end there if that is not all residents.

        Without a ``count``, searches go on until enough of them agree on the lowest value.
        """
        effort = self._effort(t)
        found, values = self.candidates(t, rng, count or ROUND)
        while count is None and len(values) < effort.most and self._agreeing(values, t) < effort.confirmed:
            more, their_values = self.candidates(t, rng, ROUND)
            found, values = np.concatenate([found, more]), np.concatenate([values, their_values])
        found = found[np.argsort(values, kind="stable")[:FINALISTS]]
        ends, values = descend_all(self.middle, found, t, tol=1e-4)
        winner = values[:, COLUMN[self.criterion]].argmin()
        return found[winner] if self.middle is self.full else ends[winner]
