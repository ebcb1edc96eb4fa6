"""A lower bound on the city-wide cost of k facilities anywhere in the plane, in the solver's coordinates."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import cKDTree

from tkm_core.arrays import Bools, Floats
from tkm_core.clustering import Problem, cells, city_cost, descend, nearest
from tkm_core.sites.plane_bound.cells import Cells, Hull, TiltedSum
from tkm_core.sites.plane_bound.discs import Discs
from tkm_core.sites.plane_bound.prices import Priced, least, raised
from tkm_core.sites.solver import Deadline

PLACES = 12_000  # beyond so many, prices are found on weighted cells of residents and then used for all
FIRST = 400  # cells at the start
ENTRIES = 20_000_000  # of the table of costs: cells times places
ROUNDS = 200  # of the bundle, for one set of cells
LOOSE = 0.02  # share of the gap, by facility, that splitting a cell must be able to gain
GAIN = 0.1  # share of the gap that eight rounds of it must gain
CLOSED = 1e-9  # relative gap at which the work ends
BLIND = 1e6  # t times the cost beyond which e^{tf} has too few digits for sums
STRONG = 4.0  # t times the cost from which discs are tried, and milder settings first
RUNG = 2.5  # between two of these settings
MILD = 0.15  # share of the remaining time for one of them
LOWER = 1e-10  # relative: smaller improvements of a plan count as none
SAFE = 1e-12  # relative: what rounding may have added between a sum and the city-wide cost


@dataclass
class Proving:
    """The work on one setting of the dial: the best plan and the best bound so far, both in the solver's units.

    Attributes
    ----------
    problem : Problem
        Different places with weights that add up to 1.
    fixed : array (f, 2)
        Existing facilities.
    t : float
    centers : array (k + f, 2)
        The best plan known.
    deadline : Deadline
    """

    problem: Problem
    fixed: Floats
    t: float
    centers: Floats
    deadline: Deadline
    bound: float = 0.0
    value: float = field(init=False)

    def __post_init__(self) -> None:
        X = self.problem.X
        self.value = self._cost(self.centers)
        self.far = nearest(X, self.fixed)[1] if len(self.fixed) else np.full(len(X), np.inf)

    def _cost(self, centers: Floats) -> float:
        return city_cost(nearest(self.problem.X, centers)[1], self.problem.weights, self.t)

    @property
    def gap(self) -> float:
        """The share of the best plan's cost that is open."""
        return (self.value - self.bound) / self.value if self.value > 0 else 0.0

    def work(self) -> None:
        """Raise the bound, and lower the plan, until they meet or time is up."""
        if self.value <= 0 or self._enough_for_everyone():
            return
        blind = math.isinf(self.t) or self.t * self.value > BLIND
        # a start by descent: the given plan need not be a fixed point
        self.consider(descend(self.problem, self.centers, self.t).centers)
        if blind or self.t * self.value > STRONG:
            self._discs(self.deadline if blind else self.deadline.part(0.15 * self.deadline.left))
        if not blind and self.gap > CLOSED:
            self._cells()

    def _enough_for_everyone(self) -> bool:
        """Whether there is a facility for every place; that plan costs nothing."""
        waiting = np.flatnonzero(self.far > 0)
        if len(waiting) > self.problem.n_free:
            return False
        plan = self.centers.copy()
        plan[: len(waiting)] = self.problem.X[waiting]
        self.consider(plan)
        return True

    def consider(self, centers: Floats) -> bool:
        """Adopt a plan if it costs less."""
        value = self._cost(centers)
        if not value < self.value * (1 - LOWER):
            return False
        self.centers, self.value = centers, value
        return True

    def raise_to(self, bound: float) -> None:
        """Keep a bound if it is higher; no bound is above the best plan known."""
        self.bound = max(self.bound, min(bound * (1 - SAFE), self.value))

    def _discs(self, deadline: Deadline) -> None:
        """The bound by covers: the strong one at large t."""
        finite = not math.isinf(self.t)
        logs = np.log(self.problem.weights) if finite else np.zeros(len(self.problem.X))
        discs = Discs(self.problem, self.t, self.fixed, self.far, logs)
        found = discs.search(self.centers, 1e-6 if finite else CLOSED, deadline)
        self.consider(found.centers)
        if not finite:
            self.raise_to(found.bound)
            return
        self.consider(descend(self.problem, found.centers, self.t).centers)
        others = 1.0 - float(self.problem.weights.max())
        total = np.logaddexp(found.bound, math.log(others)) if others > 0 else found.bound
        self.raise_to(float(total - SAFE * (1 + abs(total))) / self.t)

    def _cells(self) -> None:
        """The bound by cells and prices."""
        X, w = self.problem.X, self.problem.weights
        many = len(X) > PLACES
        few, mass = cells(X, w, PLACES // 2) if many else (X, w)
        far = nearest(few, self.fixed)[1] if len(self.fixed) else np.full(len(few), np.inf)
        hull, found = Hull.of(X), None
        for t in self._ladder():
            value = city_cost(nearest(few, self.centers)[1], mass, t)
            found = Shrinking(self, TiltedSum.of(few, mass, t, value, far), hull, many=many, milder=found)
            found.work(
                self.deadline.part((MILD if t < self.t else 0.5 if many else 1.0) * self.deadline.left)
            )
        if many and found is not None:
            self._on_all(found)

    def _ladder(self) -> list[float]:
        """Milder settings whose prices lead to good ones at a strong t, and the setting itself.

        No plan costs less at a larger t, so that a bound at a milder setting holds too.
        """
        steps = math.ceil(math.log(max(self.t * self.value / STRONG, 1.0)) / math.log(RUNG))
        return [self.t * RUNG**-step for step in range(steps, -1, -1)]

    def _on_all(self, found: "Shrinking") -> None:
        """Evaluate the prices found on stand-ins for all residents, over all cells: always valid."""
        X, w, few = self.problem.X, self.problem.weights, found.sum.X
        whole = TiltedSum.of(X, w, self.t, self.value, self.far)
        group = cKDTree(few).query(X)[1]
        excess = found.sum.reach(found.prices) - nearest(few, self.centers)[1]
        prices = np.minimum(
            whole.at(np.maximum(nearest(X, self.centers)[1] + excess[group], 0.0)), whole.ceiling
        )
        parts = found.cells.joined(found.dropped)
        rho = np.empty(len(parts))
        size = max(1, ENTRIES // len(X))
        for start in range(0, len(parts), size):
            self.deadline.say()
            part = slice(start, start + size)
            rho[part] = whole.costs(parts[part], prices)[1]
        total = float(prices.sum()) + least(rho, self.problem.n_free)
        self.raise_to(whole.phi(total - whole.rounding(prices)))


@dataclass
class Shrinking:
    """Cells that are dropped where no better plan has a facility, and split where it may have one."""

    proving: Proving
    sum: TiltedSum
    hull: Hull
    many: bool
    milder: "Shrinking | None" = None
    dropped: Cells = field(init=False)

    def __post_init__(self) -> None:
        self.cells = Cells.over(self.hull, FIRST)
        self.dropped = self.cells[:0]
        self.prices = self._first_prices()
        if self.milder is not None:
            # the distance at which somebody pays their price changes little with t
            handed = self.sum.at(self.milder.sum.reach(self.milder.prices))
            self.prices = np.minimum(handed, self.sum.ceiling)
            parts = self.milder.cells.joined(self.milder.dropped)
            if 2 * len(parts) * len(self.sum.X) <= ENTRIES:
                self.cells = parts
            self.milder = None

    def _first_prices(self) -> Floats:
        """Halfway between the costs at the nearest and the second nearest facility of the plan."""
        X, centers = self.sum.X, self.proving.centers
        D = np.partition(((X[:, None] - centers) ** 2).sum(axis=2), min(1, len(centers) - 1), axis=1)
        own = self.sum.at(D[:, 0])
        second = self.sum.at(D[:, min(1, len(centers) - 1)])
        prices = own + 0.5 * (second - own)
        return np.minimum(prices if self.sum.t == 0 else np.minimum(prices, 20 * own), self.sum.ceiling)

    def work(self, deadline: Deadline) -> None:
        """Raise prices and split cells in turn."""
        proving, step = self.proving, 0.3
        k = proving.problem.n_free
        while True:
            V, _ = self.sum.costs(self.cells, self.prices)
            region = nearest(self.cells.M, proving.centers)[0]
            found = raised(
                V, k, self.prices, self.sum.ceiling, region, self.sum.upper, GAIN, step, ROUNDS, deadline
            )
            self.prices, step = found.prices, min(max(found.step, 0.05), 100.0)
            bound = found.bound - self.sum.rounding(found.prices)
            if not self.many:
                proving.raise_to(self.sum.phi(min(bound, self.sum.upper)))
                self._better(found)
            if deadline.left <= 0 or self._done(bound) or not self._shrink(found, bound):
                return

    def _done(self, bound: float) -> bool:
        mild = self.sum.t < self.proving.t
        return bound >= self.sum.upper * (1 - (1e-2 if mild else 1e-3 if self.many else CLOSED))

    def _shrink(self, found: Priced, bound: float) -> bool:
        """Drop cells and split others; whether anything was split."""
        k, room = self.proving.problem.n_free, self.sum.upper - bound
        last = float(np.partition(found.rho, k - 1)[k - 1]) if len(found.rho) > k else 0.0
        # a plan with a facility in the cell costs at least bound - last + rho
        alive = found.rho <= last + room
        if self.many or self.sum.t < self.proving.t:
            self.dropped = self.dropped.joined(self.cells[~alive])
        self.cells, rho = self.cells[alive], found.rho[alive]
        likely = np.flatnonzero((rho <= last + 2 * room / k) & self._large(self.cells))
        loose = self.sum.looseness(self.cells[likely], rho[likely], found.prices)
        free = (max(ENTRIES // len(self.sum.X), 2 * FIRST) - len(self.cells)) // 3
        chosen = likely[loose > LOOSE * room / k]
        if not len(chosen):  # prices are still far too low: smaller cells let them rise
            chosen = likely
        chosen = chosen[np.argsort(rho[chosen], kind="stable")[: max(free, 0)]]
        if not len(chosen):
            return False
        wanted = np.zeros(len(self.cells), dtype=bool)
        wanted[chosen] = True
        self.cells = self.cells[~wanted].joined(self.cells[wanted].split(self.hull))
        return True

    def _large(self, parts: Cells) -> Bools:
        """Cells that are not yet as small as rounding allows."""
        width = float((self.hull.high - self.hull.low).max())
        return np.asarray(parts.H.max(axis=1) > 1e-7 * width)

    def _better(self, found: Priced) -> None:
        """Try the plan that the shares of the cells point to."""
        proving = self.proving
        k, opened = proving.problem.n_free, found.opened
        if not opened.any():
            return
        # the heaviest cells, by what is opened around them, and no two close to each other
        heavy = self.cells.M[np.argsort(-opened, kind="stable")[: 8 * k]]
        reach = float(np.median(nearest(self.sum.X, proving.centers)[1]))
        pull = opened @ (((self.cells.M[:, None] - heavy) ** 2).sum(axis=2) < reach)
        chosen: list[Floats] = []
        for place in heavy[np.argsort(-pull, kind="stable")]:
            if all(((place - other) ** 2).sum() > reach for other in chosen):
                chosen.append(place)
        plan = proving.centers.copy()
        plan[: min(k, len(chosen))] = chosen[:k]
        moved = descend(proving.problem, plan, self.sum.t).centers
        proving.consider(moved)
        f = nearest(self.sum.X, moved)[1]
        self.sum.upper = min(self.sum.upper, self.sum.total(city_cost(f, self.sum.w, self.sum.t)))
