"""Global search for good starts: several searches, each with starts of different kinds.

There are bad local minima: a fast solver with a single start may return twice the cost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled import descents, starts, swaps
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.kernel import address_of
from tkm_core.clustering.covers import applies, least_radius
from tkm_core.clustering.descent import Problem, descend_all, seeds
from tkm_core.clustering.stand_ins import cells, condense
from tkm_core.clustering.threads import in_parallel
from tkm_core.spread import spread

LARGE = 20_000  # beyond this many residents, candidates are compared on stand-ins
WALK = 3_000  # stand-ins on which the path is found
MILD_TILT = 1.0  # t times the mean squared distance from the middle up to which the problem is nearly k-means
# Beyond this many columns, searches are fewer and shorter, so that time grows no faster than the columns.
MANY_COLUMNS = 50
FARTHEST_TILT = 15.0  # t times a typical squared distance from which on the farthest resident decides
COARSE = 1e-2  # tolerance of the descents of a search
FINE = 1e-4  # tolerance of the descents by which the ends of searches are compared
ROUND = 2  # searches at a time: fixed, so that the result does not depend on the number of threads
# up to so many facilities, where t is mild, one search less has to agree: on a map or among all residents there are few
# ways to go wrong
FEW_FACILITIES = 4
FEW = 10_000  # table entries up to which searches go on among all residents
FINALISTS = 3  # plans compared on the middle level if there are many residents
PARENTS = 12  # the lowest plans, of which two at a time are combined
ALIKE = 1e-5  # relative difference up to which two plans count as the same
SAME = 1e-7  # relative difference between two descents to the same plan
AGREE = 2e-4  # relative difference up to which two searches agree


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes
    ----------
    patience : int
        Failed moves in a row after which a search gives up.
    first : int
        Searches that start from their own seeds; the others start from combined plans.
    confirmed : int
        Number of searches that must end at the lowest value found.
    stalled : int
        Searches in a row that find nothing lower, after which no more are made.
    most : int
        The most searches.
    """

    patience: int
    first: int
    confirmed: int
    stalled: int
    most: int

    @property
    def expected(self) -> float:
        """About how many searches there will be: between the fewest and the most."""
        return float(np.sqrt(min(max(self.confirmed, ROUND), ROUND + self.stalled) * self.most))


# If t is mild, a plan found several times is the best; if it is strong, most searches may end in the same trap.
MILD, STRONG = Effort(10, 4, 3, 16, 16), Effort(10, 12, 90, 30, 90)
USUAL_ROWS, MOST_TIMES = (
    1_000,
    3.0,
)  # with fewer residents, strong searches are cheap: up to so many times as many
WALKED = {True: 20, False: 40}  # patience on the path, by whether t is mild: there are few searches at each t
COLUMN = {"city": 0, "cluster": 1}  # column of a descent's costs


@dataclass(frozen=True)
class Search:
    """A problem at three levels: all residents, stand-ins for many of them, a few hundred cells."""

    full: Problem
    fixed: Floats
    criterion: str
    seconds: list[float] = field(default_factory=list)  # that each search took, without compiling

    @cached_property
    def middle(self) -> Problem:
        """The level on which candidates are compared: the residents themselves, unless there are too many."""
        if len(self.full.X) <= LARGE:
            return self.full
        return self._problem(*condense(self.full.X, self.full.weights))

    @cached_property
    def variance(self) -> float:
        """Weighted variance per axis: the unit in which t is mild or strong."""
        return spread(self.middle.X, self.middle.weights) ** 2

    @cached_property
    def tail(self) -> float:
        """The variance per axis of a normal distribution with the same ratio of fourth to second moments.

        With f the squared distance to the mean, mean f² / mean f is d + 2 times that variance. If a few residents live
        very far out, it is much larger than the variance of the data, and a smaller t is already strong.
        """
        X, shares = self.middle.X, self.middle.weights / self.middle.weights.sum()
        f = ((X - shares @ X) ** 2).sum(axis=1)
        return float(shares @ f**2) / (float(shares @ f) * (X.shape[1] + 2)) if f.any() else 0.0

    @cached_property
    def walk(self) -> Problem:
        """The level on which the path over t is found."""
        return self._cells(max(WALK, 100 * self.full.n_free))

    def _problem(self, X: Floats, weights: Floats) -> Problem:
        """The problem on weighted points."""
        return Problem.of(X, weights, self.full.n_free)

    @cached_property
    def _levels(self) -> dict[int, Problem]:
        """Problems on cells by their number, made once."""
        return {}

    def _cells(self, count: int) -> Problem:
        """The problem on at most `count` cells."""
        if len(self.middle.X) <= count:
            return self.middle
        if count not in self._levels:
            self._levels[count] = self._problem(*cells(self.middle.X, self.middle.weights, count))
        return self._levels[count]

    @cached_property
    def _cover(self) -> Floats:
        """The plan with the nearest farthest resident that could be found, whatever t is."""
        k, walk = self.full.n_free, self.walk
        start = np.vstack([np.zeros((k, self.full.X.shape[1])), self.fixed])
        seeds(walk.X, walk.weights, start, k, starts.FARTHEST, 0)
        return least_radius(walk, start, 0)

    def cover(self, t: float) -> Floats | None:
        """A plan for the farthest resident, from which to set out where t is strong; None where it does not help."""
        # with facilities spread evenly over a plane, a typical squared distance is about the variance over k
        strong = t * self.variance > FARTHEST_TILT * self.full.n_free
        return self._cover if strong and applies(self.walk) else None

    @property
    def _few(self) -> bool:
        """Whether residents are so few that searches go on among all of them."""
        return self.middle.X.size <= FEW

    def _mild(self, t: float) -> bool:
        """Whether t is so small that the problem is nearly k-means."""
        d = min(max(self.full.X.shape[1], 2), MANY_COLUMNS)
        return float(t) * d * max(self.variance, self.tail) <= MILD_TILT

    def _effort(self, t: float) -> Effort:
        """How hard to search at t: less with so many columns that every descent takes long, more with few residents."""
        mild, k = self._mild(t), self.full.n_free
        usual, (n, d) = MILD if mild else STRONG, self.full.X.shape
        share = min(1.0, MANY_COLUMNS / d)
        times = share if mild else share * min(max(USUAL_ROWS / n, 1.0), MOST_TIMES)
        patience = min(max(usual.patience, 5 * k // 2 if mild else k), 2 * usual.patience)
        most = max(2, round(usual.most * times))
        confirmed = MILD.confirmed if mild or k == 1 else most
        if mild and k <= FEW_FACILITIES and (d <= 2 or self._few):
            confirmed -= 1
        return Effort(
            max(4, round(patience * share)), min(usual.first, most), min(confirmed, most),
            max(2, round(usual.stalled * times)), most,
        )  # fmt: skip

    def candidates(
        self,
        t: float,
        rng: np.random.Generator,
        count: int,
        start: Floats | None = None,
        patience: int | None = None,
        before: int = 0,
    ) -> Floats:
        """The winners (count, k, d) of independent searches at t, on a few hundred cells.

        Each starts from its own seeds, or from ``start`` (one for all, or one for each); if t is strong, they use more
        cells. Searches alternate between two numbers of cells: a result of both is less likely an effect of the cells.
        """
        mild, k, d = self._mild(t), self.full.n_free, self.full.X.shape[1]
        fine = d > 3 or (d == 3 and not self._few)
        least = max(500 if fine else 250, 30 * k) if mild else max(1000, 60 * k)
        problems = [self._cells(least), self._cells(least * 3 // 2)]
        share = min(1.0, MANY_COLUMNS / d)
        patience = patience or max(4, round(WALKED[mild] * share))
        return self._search(problems, t, rng, count, start, patience, before)

    def improved(
        self, found: Floats, t: float, rng: np.random.Generator, count: int, patience: int
    ) -> Floats:
        """Plans as further moves on ``count`` cells leave them, until ``patience`` of them in a row have failed."""
        return self._search([self._cells(count)], t, rng, len(found), found, patience)

    def _search(
        self,
        problems: list[Problem],
        t: float,
        rng: np.random.Generator,
        count: int,
        start: Floats | None,
        patience: int,
        before: int = 0,
    ) -> Floats:
        """The winners of searches, each on the next of ``problems``, after so many ``before``.

        If t is strong, two kinds of moves alternate between searches: a result of both is less likely a trap of one.
        """
        mild, k = self._mild(t), self.full.n_free
        third = starts.KMEANS if mild else starts.RESIDENTS
        kinds = [starts.KMEANS_PP, starts.FARTHEST, third] if start is None else []
        found = np.zeros((count, k + len(self.fixed), self.full.X.shape[1]))
        found[:, k:] = self.fixed
        if start is not None:
            found[:] = start
        numbers = rng.integers(2**31, size=count)
        stop = np.zeros(1, np.int64)
        rules = [problem.rule(t, COARSE, problem.X[:1])._replace(stop=stop) for problem in problems]
        down = address_of(descents.descend, descents.DESCEND)
        open_ = address_of(starts.open_facilities, starts.OPEN)
        # no swaps are ranked where t is mild: then what ranks them is not compiled
        rank = 0 if mild else address_of(swaps.rank_swaps, swaps.RANK)
        address_of(starts.find_start, starts.FIND)  # compiled here, so that no search is timed with it
        begin, column = np.array(kinds, dtype=np.int64), COLUMN[self.criterion]
        habits = (starts.BY_CHANCE, starts.BY_CHANCE) if mild else (starts.BY_RANK, starts.BY_CHANCE)

        def run(rows: slice) -> None:
            """Run some of the searches."""
            for i in range(rows.start, rows.stop):
                turn = before + i
                problem, rule = problems[turn % len(problems)], rules[turn % len(problems)]
                began = perf_counter()
                starts.find_start(
                    problem.city, down, open_, rank, rule, column, begin, habits[turn % 2], patience,
                    problem.noise(t), int(numbers[i]), found[i],
                )  # fmt: skip
                self.seconds.append(perf_counter() - began)

        in_parallel(run, count, 1, stop)
        return found

    def _ends(self, problem: Problem, found: Floats, t: float) -> tuple[Floats, Floats]:
        """Where plans end, and what they cost there."""
        ends, values = descend_all(problem, found, t, tol=FINE)
        return ends, values[:, COLUMN[self.criterion]]

    def best(
        self,
        t: float,
        rng: np.random.Generator,
        count: int | None = None,
        say: Callable[[str], None] | None = None,
    ) -> Floats:
        """The lowest plan that several searches find, at its end on the middle level.

        With a ``count``, that many independent searches are made. Otherwise they go on until enough agree or nothing
        lower has come up for long, and those after the first set out from crossings of two plans. If there are few
        residents, these look at all of them, because the best plan for cells may be another one. After the first
        round, ``say`` is told how long the search will take, if that is a second or more.
        """
        effort = self._effort(t)
        few = self._few
        ground = self.middle if few else self.walk
        if count is not None:
            return self.lowest(self.candidates(t, rng, count, None, effort.patience), t)
        plans = self.candidates(t, rng, ROUND, None, effort.patience)
        cover = self.cover(t)
        if cover is not None:
            moved = self._search([ground], t, rng, 1, cover, effort.patience)
            plans = np.concatenate([plans, cover[None], moved])
        found, values = self._ends(ground, plans, t)
        searched, since = ROUND, 0
        while searched < effort.most and since < effort.stalled:
            wanted = effort.confirmed - self._agreeing(values, t)
            if wanted <= 0:
                break
            seconds = max(self.seconds[-ROUND:]) * effort.expected / ROUND
            if say is not None and searched == ROUND and seconds >= 1.0:
                say(f"the search will take about {seconds:.0f} s")
            size = min(wanted, ROUND)
            begin = self.crossed(found, values, t, rng, size) if searched >= effort.first else None
            if few:
                more = self._search([ground], t, rng, size, begin, effort.patience, searched)
            else:
                more = self.candidates(t, rng, size, begin, effort.patience, searched)
            ends, their_values = self._ends(ground, more, t)
            lower = clearly_lower(their_values.min(), values.min(), ALIKE, ground.noise(t))
            searched, since = searched + size, 0 if lower else since + size
            found, values = np.concatenate([found, ends]), np.concatenate([values, their_values])
        winners = found[self._different(values, t)[: 1 if few else FINALISTS]]
        return winners[0] if ground is self.middle else self.lowest(winners, t)

    def _agreeing(self, values: Floats, t: float) -> int:
        """Number of searches that ended at the lowest value."""
        noise = self.middle.noise(t)
        return sum(not clearly_lower(values.min(), value, AGREE, noise) for value in values)

    def _different(self, values: Floats, t: float) -> NDArray[np.int64]:
        """The plans to compare, the lowest first, with only one of those that cost the same.

        Of those that share the lowest cost but for rounding, the first one found: which one rounding favours would
        depend on the unit.
        """
        noise = self.middle.noise(t)
        first = [clearly_lower(values.min(), value, SAME, noise) for value in values].index(False)
        order = np.argsort(values, kind="stable")
        order = np.concatenate([[first], order[order != first]])
        lower = [clearly_lower(values[a], values[b], ALIKE, noise) for a, b in pairwise(order)]
        return order[np.array([True, *lower])]

    def crossed(
        self, found: Floats, values: Floats, t: float, rng: np.random.Generator, count: int
    ) -> Floats | None:
        """Crossings of two good plans: each facility of the one, or that of the other which stands for it.

        None where there are no two different plans.
        """
        order, k = self._different(values, t)[:PARENTS], self.full.n_free
        if len(order) < 2:
            return None
        children = np.empty((count, *found.shape[1:]))
        for child in children:
            # of two drawn, the better; then another
            one = rng.integers(len(order), size=2).min()
            other = (one + 1 + rng.integers(len(order) - 1, size=2).min()) % len(order)
            child[:] = found[order[one]]
            theirs = found[order[other], :k]
            away = ((child[:k, None] - theirs[None]) ** 2).sum(axis=2)
            taken = rng.random(k) < 0.5
            child[:k][taken] = theirs[linear_sum_assignment(away)[1]][taken]
        return children

    def lowest(self, found: Floats, t: float) -> Floats:
        """The start that ends lowest on the middle level, and its end there if that is not all residents.

        With many columns always its end: what is left to do from there takes a small part of the time.
        """
        ends, values = self._ends(self.middle, found, t)
        again = self.middle is self.full and self.full.X.shape[1] <= MANY_COLUMNS
        return (found if again else ends)[values.argmin()]
