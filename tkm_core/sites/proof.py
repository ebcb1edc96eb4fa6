"""Lower bounds for the plans of a path at every t, which get tighter the longer the work goes on."""

import math
from dataclasses import dataclass, field

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.sites import compiled
from tkm_core.sites.bottleneck import least_burden
from tkm_core.sites.linear import CLOSED, Bounded, Master, branch, narrowed, programmed, settled
from tkm_core.sites.pricing import Carried, Priced, Ranked, Rule
from tkm_core.sites.search import Found, Search
from tkm_core.sites.solver import Deadline

ROUGH = 2e-3  # gap that is enough at first: every stop gets there before any is worked on further
SAFE = 1e-13  # relative rounding error between a sum of costs and the city-wide cost
QUICK = 60_000_000  # table entries read for the first bound at each t
# Subgradient steps: at first, in large tables, with a neighbour's prices.
MOST_STEPS, FEWEST_STEPS, HANDED = (100, 10, 50)
BRANCHED = 400  # up to this many sites, branching is worth it
APART = 8  # about how many stops prices are passed on
SHARE, FIRST_SHARE = 0.25, 0.1  # largest share of the remaining time for one t: later, and at first
STEEP = 0.7  # the bottleneck bound is tried if at best it leaves less than this share of the gap


@dataclass
class Proof:
    """Bounds for the plans of a path; the work can stop at any time, and the bounds are valid at any time.

    Attributes
    ----------
    search : Search
    tilts : array (s,)
        The values of t in the table's units.
    found : list of Found
        The best plans; better ones found on the way replace them.
    bound : array (s,)
        Lower bounds on the cost of any plan, in the table's units.
    free : bool
        Whether everyone goes to the nearest site: only then can a better plan replace the known one.
    """

    search: Search
    tilts: Floats
    found: list[Found]
    bound: Floats
    free: bool = True
    carried: dict[int, Carried] = field(default_factory=dict)
    looked: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.ranked = Ranked.of(self.search.table)
        self.k = self.search.n_free + len(self.search.fixed)

    @property
    def rule(self) -> Rule:
        """The rule that existing sites are in every plan."""
        rule = np.zeros(len(self.search.table.F), np.int8)
        rule[self.search.fixed] = 1
        return rule

    def gap(self, i: int) -> float:
        """The relative gap between the bound and the plan."""
        value = self.found[i].value
        return (value - self.bound[i]) / value if value > 0 else 0.0

    def begin(self, deadline: Deadline) -> None:
        """First bounds for every t: prices are passed from one to the next, with a few steps at each."""
        steps = max(FEWEST_STEPS, min(MOST_STEPS, QUICK // self.ranked.F.size))
        before: Carried | None = None
        for i, t in enumerate(self.tilts):
            deadline.say()
            self._raise(i, float(self.search.table.F.min(axis=0).max()) if math.isinf(t) else 0.0)
            if math.isinf(t) or self.found[i].value <= 0:
                continue
            priced = self._priced(i)
            if before is None:
                second = np.partition(self.search.table.F[self.found[i].sites], min(1, self.k - 1), axis=0)
                before = priced.carry(priced.prices(second[min(1, self.k - 1)]))
            before = self._steps(i, priced, before, 3 * steps if i == 0 else steps)

    def work(self, deadline: Deadline) -> None:
        """Tighten the bounds, one stop after another, until all plans are proven or time is up."""
        while deadline.left > 0:
            open_ = [i for i in range(len(self.tilts)) if self.gap(i) > CLOSED and i not in self.done]
            rough = [i for i in open_ if self.gap(i) > ROUGH and i not in self.looked]
            if not open_:
                return
            # far from the stops worked on, since prices are passed on; among those the smallest gap, which is quick
            i = min(rough or open_, key=lambda stop: (-self._apart(stop), self.gap(stop)))
            deadline.text = (
                f"Proving how good the plan is, setting {i + 1} of the dial, {100 * self.gap(i):.2g} % to go"
            )
            # also if it ends early: another stop may gain more
            self.looked.add(i)
            if not rough:
                self.done.add(i)
            part = deadline.part(max((FIRST_SHARE if rough else SHARE) * deadline.left, 1.0))
            if math.isinf(self.tilts[i]):
                self._farthest(i, part)
            elif rough and self._steep(i):
                self._someone(i, part)
            else:
                self._sum(i, part, thorough=not rough)
                self._hand_on(i, deadline)

    def _apart(self, i: int) -> int:
        """Stops between this one and the nearest that was worked on, whose prices help its neighbours."""
        return min([abs(i - other) for other in self.looked] + [APART])

    def _priced(self, i: int) -> Priced:
        """The p-median problem at stop i."""
        return Priced.of(self.search.table, self.ranked, float(self.tilts[i]), self.found[i].value)

    def _sum_of(self, priced: Priced, i: int) -> float:
        """The sum of costs at which the gap is small enough for the first round."""
        weight = float(self.search.table.weights.sum())
        value = self.found[i].value * (1 - ROUGH)
        return weight * compiled.cost(value, 1.0, priced.t, priced.shift, priced.small, np.inf)

    def _raise(self, i: int, bound: float) -> None:
        """Raise the bound of stop i, less rounding and never above the plan."""
        self.bound[i] = max(self.bound[i], min(bound * (1 - SAFE), self.found[i].value))

    def _steps(self, i: int, priced: Priced, before: Carried, steps: int) -> Carried:
        """Subgradient steps from the prices of another t; returns the best prices known here."""
        prices = priced.ascend(priced.carried(before, self.rule, self.k), self.rule, self.k, steps, 1.0)
        bound = priced.phi(priced.bound(prices, self.rule, self.k)[0])
        if i not in self.carried or bound > self.bound[i]:
            self.carried[i] = priced.carry(prices)
        self._raise(i, bound)
        return self.carried[i]

    def _sum(self, i: int, deadline: Deadline, *, thorough: bool) -> None:
        """The linear program at one finite t, then branching; neighbours get the prices and better plans."""
        priced, rule = self._priced(i), self.rule
        prices = priced.carried(self.carried[i], rule, self.k)
        bound, rho, chosen = priced.bound(prices, rule, self.k)
        node = Bounded(bound, prices, rho, chosen.astype(float))
        self._raise(i, priced.phi(bound))
        useful = np.unique(np.concatenate([found.sites for found in self.found[max(i - 4, 0) : i + 5]]))
        goal = priced.upper * (1 - CLOSED) if thorough else self._sum_of(priced, i)
        node = programmed(priced, self.k, node, rule, useful, goal, deadline)
        self._raise(i, priced.phi(node.bound))
        self.carried[i] = priced.carry(node.prices)
        rule = settled(priced, self.k, node, rule)
        priced, names = narrowed(priced, rule)
        if thorough and len(names) <= BRANCHED and deadline.left > 0:
            rule = rule[names]
            master = Master(priced, self.k, node.prices)
            bound, better = branch(master, master.solve(rule, node.prices, deadline), rule, deadline)
            if better is not None:
                self._better(i, names[better])
            self._raise(i, priced.phi(bound))

    def _burdens(self, i: int, F: Floats) -> Floats:
        """Logarithms of the burdens at squared distances F, as shares of all people."""
        weights = self.search.table.weights
        return np.log(weights / weights.sum()) + float(self.tilts[i]) * F

    def _heaviest(self, i: int) -> float:
        """The largest burden in the plan at stop i."""
        return float(self._burdens(i, self.search.table.F[self.found[i].sites].min(axis=0)).max())

    def _steep(self, i: int) -> bool:
        """Whether one resident's burden may give a better bound than the linear program, which is weak at large t."""
        t, value = float(self.tilts[i]), self.found[i].value
        return t > 0 and STEEP * self.gap(i) * t * value > t * value - self._heaviest(i)

    def _someone(self, i: int, deadline: Deadline) -> None:
        """Finite but large t: the burden that somebody bears in every plan is most of the sum."""
        table, t, search = self.search.table, float(self.tilts[i]), self.search
        found = least_burden(
            self._burdens(i, table.F), search.n_free, search.fixed, self._heaviest(i), deadline, whole=False
        )
        # whoever bears it lives at least that far away, which gives a bound at every other t too
        apart = np.maximum((found.bound - self._burdens(i, np.zeros(len(table.weights)))) / t, 0.0)
        for j in range(len(self.tilts)):
            here = float(self.tilts[j])
            if not 0 < here < math.inf or self.found[j].value <= 0:
                continue
            others = np.sort(self._burdens(j, table.F.min(axis=0)))[:-1]
            total = np.logaddexp.reduce(np.append(others, self._burdens(j, apart).min()))
            # in a difference of logarithms, rounding is relative to the exponents
            self._raise(j, float(total - SAFE * (1.0 + abs(total) + here * table.far)) / here)

    def _farthest(self, i: int, deadline: Deadline) -> None:
        """Infinite t: the p-center problem."""
        search = self.search
        found = least_burden(search.table.F, search.n_free, search.fixed, self.found[i].value, deadline)
        if found.sites is not None:
            spare = np.setdiff1d(search.choice, found.sites)[: search.n_free - len(found.sites)]
            self._better(i, np.concatenate([found.sites, spare]))
        self._raise(i, found.bound)

    def _better(self, i: int, sites: np.ndarray) -> None:
        """Adopt a better plan, and try it at the neighbouring stops."""
        if not self.free:
            return
        search = self.search
        plan = np.concatenate([np.setdiff1d(sites, search.fixed), search.fixed])
        for step in (-1, 1):
            at = i
            while 0 <= at < len(self.tilts):
                found = search.judge(plan, float(self.tilts[at]))
                if not found.lower(self.found[at]):
                    break
                self.found[at] = found
                self.bound[at] = min(self.bound[at], found.value)
                at += step

    def _hand_on(self, i: int, deadline: Deadline) -> None:
        """Pass the prices of stop i on to its neighbours as long as they raise the bound."""
        for step in (-1, 1):
            at, before = i + step, self.carried[i]
            while 0 <= at < len(self.tilts) and deadline.left > 0:
                if math.isinf(self.tilts[at]) or at in self.done or self.found[at].value <= 0:
                    break
                known = self.bound[at]
                deadline.say()
                before = self._steps(at, self._priced(at), before, HANDED)
                if self.bound[at] <= known:
                    break
                at += step
