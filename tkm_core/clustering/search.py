"""Where to start: several searches, each with starts of different kinds.

The landscape has bad local minima: a fast solver with a single start may return twice the cost.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled import descents, starts, swaps
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.kernel import address_of
from tkm_core.clustering.descent import Problem, descend_all
from tkm_core.clustering.stand_ins import cells, condense
from tkm_core.clustering.threads import in_parallel
from tkm_core.spread import spread

LARGE = 20_000  # residents beyond which candidates are compared on stand-ins
WALK = 3_000  # stand-ins on which the path is walked
MILD_TILT = 0.5  # t times the variance up to which the landscape is nearly that of k-means
MANY_COLUMNS = (
    50  # beyond which searches are fewer, and shorter, so that time grows with the columns and no faster
)
COARSE = 1e-2  # tolerance of the descents of a search
FINALISTS = 3  # candidates that are compared on the middle level
ROUND = 2  # searches at a time: fixed, so that the result does not depend on the number of threads
CHILDREN = 2  # crossings of plans, after the searches
POLISHED = 10_000  # numbers in the residents' table up to which the winner is searched on among all of them
POLISH = 6  # moves in a row that may fail there
ALIKE = 1e-6  # relative difference up to which two plans are one
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


MILD, STRONG = Effort(20, 2, 4), Effort(40, 5, 12)
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
        return spread(self.middle.X, self.middle.weights) ** 2

    @cached_property
    def tail(self) -> float:
        """The variance per axis of a normal distribution in which the far residents weigh as much as they do here.

        With f the squared distance to the mean, mean f² / mean f is d + 2 times that variance. Where a few live very
        far out it is much larger than the variance of the data, and t is strong sooner.
        """
        X, shares = self.middle.X, self.middle.weights / self.middle.weights.sum()
        f = ((X - shares @ X) ** 2).sum(axis=1)
        return float(shares @ f**2) / (float(shares @ f) * (X.shape[1] + 2)) if f.any() else 0.0

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

    def _mild(self, t: float) -> bool:
        return float(t) * max(self.variance, self.tail) <= MILD_TILT

    def _effort(self, t: float) -> Effort:
        """How hard to search at t; less where the columns are so many that every descent takes long."""
        usual = MILD if self._mild(t) else STRONG
        share = min(1.0, MANY_COLUMNS / self.full.X.shape[1])
        most = max(2, round(usual.most * share))
        return Effort(max(4, round(usual.patience * share)), min(usual.confirmed, most), most)

    def candidates(
        self,
        t: float,
        rng: np.random.Generator,
        count: int,
        start: Floats | None = None,
        patience: int | None = None,
    ) -> tuple[Floats, Floats]:
        """The winners (count, k, d) of independent searches at t, and their values on a few hundred cells.

        Each begins with seeds of its own, or with ``start``: one for all, or one for each; where t is strong they look
        at more cells.
        """
        mild, k, d = self._mild(t), self.full.n_free, self.full.X.shape[1]
        problem = self._cells(max(250 if d <= 3 else 500, 30 * k) if mild else max(1000, 60 * k))
        third = starts.KMEANS if mild else starts.RESIDENTS
        kinds = [starts.KMEANS_PP, starts.FARTHEST, third] if start is None else []
        found = np.zeros((count, k + len(self.fixed), d))
        found[:, k:] = self.fixed
        if start is not None:
            found[:] = start
        return found, self._search(problem, t, rng, found, kinds, patience or self._effort(t).patience)

    def _search(
        self,
        problem: Problem,
        t: float,
        rng: np.random.Generator,
        found: Floats,
        kinds: list[int],
        patience: int,
    ) -> Floats:
        """Search from each of ``found``, which take the winners; returns their values.

        Where t is strong, two habits take turns: what both find is less likely to be the trap of one.
        """
        values = np.full(len(found), np.inf)
        seeds = rng.integers(2**31, size=len(found))
        rule, noise = problem.rule(t, COARSE, problem.X[:1]), problem.noise(t)
        descend = address_of(descents.descend, descents.DESCEND)
        open_ = address_of(starts.open_facilities, starts.OPEN)
        rank = address_of(swaps.rank_swaps, swaps.RANK)
        begin, column = np.array(kinds, dtype=np.int64), COLUMN[self.criterion]
        habits = (starts.BY_CHANCE, starts.BY_CHANCE) if self._mild(t) else (starts.BY_RANK, starts.BY_CHANCE)

        def run(rows: slice) -> None:
            for i in range(rows.start, rows.stop):
                values[i] = starts.find_start(
                    problem.city, descend, open_, rank, rule, column, begin, habits[i % 2], patience, noise,
                    int(seeds[i]), found[i],
                )  # fmt: skip

        in_parallel(run, len(found), 1, rule.stop)
        return values

    def _agreeing(self, values: Floats, t: float) -> int:
        """How many searches ended at the lowest value."""
        noise = self.middle.noise(t)
        return sum(not clearly_lower(values.min(), value, AGREE, noise) for value in values)

    def best(self, t: float, rng: np.random.Generator, count: int | None = None) -> Floats:
        """The candidate that ends lowest on the middle level, and its end there if that is not all residents.

        Without a ``count``, searches go on until enough of them agree on the lowest value; then, where t is strong,
        the best plan is crossed with the others, and the winner is improved on the middle level.
        """
        effort = self._effort(t)
        found, values = self.candidates(t, rng, count or ROUND)
        while count is None and len(values) < effort.most and self._agreeing(values, t) < effort.confirmed:
            more, their_values = self.candidates(t, rng, ROUND)
            found, values = np.concatenate([found, more]), np.concatenate([values, their_values])
        children = found[:0] if count is not None or self._mild(t) else self._crossed(found, values, t, rng)
        if len(children):
            more, their_values = self.candidates(t, rng, len(children), children, POLISH)
            found, values = np.concatenate([found, more]), np.concatenate([values, their_values])
        finalists = found[self._different(values, t)[:FINALISTS]]
        return self.lowest(finalists, t, rng if count is None else None)

    def _different(self, values: Floats, t: float) -> NDArray[np.int64]:
        """Which plans to compare, the lowest first: one of those that cost the same."""
        order = np.argsort(values, kind="stable")
        noise = self.middle.noise(t)
        lower = [clearly_lower(values[a], values[b], ALIKE, noise) for a, b in pairwise(order)]
        return order[np.array([True, *lower])]

    def _crossed(self, found: Floats, values: Floats, t: float, rng: np.random.Generator) -> Floats:
        """Plans with some facilities of the best and, in place of the others, those of another that stand for them."""
        order, k = self._different(values, t), self.full.n_free
        if len(order) < 2 or k < 2:
            return found[:0]
        children = np.repeat(found[order[:1]], CHILDREN, axis=0)
        for c, child in enumerate(children):
            other = found[order[1 + c % (len(order) - 1)], :k]
            away = ((child[:k, None] - other[None]) ** 2).sum(axis=2)
            taken = rng.random(k) < 0.5
            child[:k][taken] = other[linear_sum_assignment(away)[1]][taken]
        return children

    def lowest(self, found: Floats, t: float, rng: np.random.Generator | None = None) -> Floats:
        """The start that ends lowest on the middle level, and its end there if that is not all residents.

        With many columns always its end: what is left to do from there takes a small part of the time. With random
        numbers, and where residents are few, it is searched on from there: cells have another best plan than they.
        """
        ends, values = descend_all(self.middle, found, t, tol=1e-4)
        winner = int(values[:, COLUMN[self.criterion]].argmin())
        if rng is not None and len(self.middle.X) * self.full.X.shape[1] <= POLISHED:
            best = ends[[winner]]
            self._search(self.middle, t, rng, best, [], POLISH)
            found = ends = best
            winner = 0
        again = self.middle is self.full and self.full.X.shape[1] <= MANY_COLUMNS
        return found[winner] if again else ends[winner]
