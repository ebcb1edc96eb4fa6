"""Lower bounds for the plans of a path at every t, which get tighter the longer the work goes on."""

import math
from dataclasses import dataclass, field

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.sites import compiled
from tkm_core.sites.bottleneck import SHAKES, Burdens, least_burden
from tkm_core.sites.capacity import RoomySearch
from tkm_core.sites.linear import Bounded, Master, narrowed, programmed, settled
from tkm_core.sites.polish import Polish
from tkm_core.sites.pricing import Carried, Priced, Ranked, Rule
from tkm_core.sites.room_bound import RoomBound
from tkm_core.sites.search import Found, Search
from tkm_core.sites.solver import Deadline
from tkm_core.sites.tree import Tree

OPEN = 5e-9  # relative gap above which there is something left to prove
ROUGH = 2e-3  # gap that is enough at first: every stop gets there before any is worked on further
SAFE = 1e-13  # relative rounding error between a sum of costs and the city-wide cost
QUICK = 60_000_000  # table entries read for the first bound at each t
# Subgradient steps: at first, in large tables, with a neighbour's prices.
MOST_STEPS, FEWEST_STEPS, HANDED = (100, 10, 50)
APART = 8  # about how many stops prices are passed on
FIRST_SHARE = 0.1  # largest share of the remaining time for one t in the first round
STEEP = 0.7  # the bottleneck bound is tried if at best it leaves less than this share of the gap
PACKING = 1.0  # seconds for the first bound at infinite t
# Replacements tried without success in a search for a better plan, for each site: before and after the linear program.
BEFORE, AFTER = 0.5, 2.0
FEWEST = 20  # the fewest of them
POLISHED = 0.15  # largest share of the time for it
SLICE = (
    4.0  # seconds of branching at first, before plans are searched for again; each time half as long again
)
WIDEST = 30_000_000  # entries of the table that is searched; with more sites, the most promising ones
ASCENTS = 300  # subgradient steps before each linear program


@dataclass
class Stop:
    """What is remembered of the work at one t, so that a later call goes on from there."""

    visits: int = 0
    exhausted: bool = False  # with capacities: nothing that is known here can raise the bound any more
    tree: Tree | None = None
    burdens: Burdens | None = None
    room: RoomBound | None = None


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

    def __post_init__(self) -> None:
        self.stops = [Stop() for _ in self.tilts]
        self.rng = np.random.default_rng(0)
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
            if self.found[i].value <= 0:
                continue
            if math.isinf(t):
                self._farthest(i, deadline.part(PACKING), first=True)
                continue
            priced = self._priced(i)
            if before is None:
                second = np.partition(self.search.table.F[self.found[i].sites], min(1, self.k - 1), axis=0)
                before = priced.carry(priced.prices(second[min(1, self.k - 1)]))
            before = self._steps(i, priced, before, 3 * steps if i == 0 else steps)

    def work(self, deadline: Deadline) -> None:
        """Tighten the bounds, one stop after another, until all plans are proven or time is up."""
        while deadline.left > 0:
            open_ = [i for i, stop in enumerate(self.stops) if self.gap(i) > OPEN and not stop.exhausted]
            rough = [i for i in open_ if self.gap(i) > ROUGH and i not in self.looked]
            if not open_:
                return
            # far from the stops worked on, since prices are passed on; among those the smallest gap, which is quick
            i = min(rough or open_, key=lambda at: (self.stops[at].visits, -self._apart(at), self.gap(at)))
            deadline.text = (
                f"Proving how good the plan is, setting {i + 1} of the dial, {100 * self.gap(i):.2g} % to go"
            )
            self.looked.add(i)
            # also if it ends early: another stop may gain more; each round takes longer than the one before
            share = FIRST_SHARE if rough and len(open_) > 1 else 1 / len(open_)
            part = deadline.part(max(share * deadline.left, 2.0 ** self.stops[i].visits))
            self.stops[i].visits += not rough
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
        return Priced.of(
            self.search.table, self.ranked, float(self.tilts[i]), self.found[i].value, whole=self.free
        )

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
        bound = priced.phi(priced.lifted(priced.bound(prices, self.rule, self.k)[0]))
        if i not in self.carried or bound > self.bound[i]:
            self.carried[i] = priced.carry(prices)
        self._raise(i, bound)
        return self.carried[i]

    def _sum(self, i: int, deadline: Deadline, *, thorough: bool) -> None:
        """The linear program at one finite t, then branching; neighbours get the prices and better plans."""
        stop = self.stops[i]
        if not thorough or stop.tree is None or stop.tree.value != self.found[i].value:
            self._programmed(i, deadline, thorough=thorough)
        length = SLICE
        while thorough and self.gap(i) > OPEN and deadline.left > 0 and not stop.exhausted:
            deadline.say()
            if stop.tree is None or stop.tree.value != self.found[i].value:
                self._plant(i)
            self._with_room(i, deadline.part(length))
            self._branched(i, deadline.part(length))
            if self.gap(i) > OPEN:
                self._polished(i, self._node(i, self._priced(i)), deadline.part(length), AFTER)
            ended = stop.tree is not None and stop.tree.closed
            stop.exhausted = ended and stop.room is not None and stop.room.done
            length *= 1.5

    def _programmed(self, i: int, deadline: Deadline, *, thorough: bool) -> None:
        """Prices by the linear program, over the sites that a better plan may have; and plans made from them."""
        node = self._polished(
            i, self._node(i, self._priced(i), ASCENTS), deadline.part(POLISHED * deadline.left), BEFORE
        )
        priced, k = self._priced(i), self.k
        rule = settled(priced, k, node, self.rule)
        small, names = narrowed(priced, rule)
        if self.gap(i) <= OPEN or len(names) <= k:
            return
        useful = np.unique(np.concatenate([found.sites for found in self.found[max(i - 4, 0) : i + 5]]))
        goal = small.goal if thorough else self._sum_of(small, i)
        node = programmed(
            small, k, Bounded(node.bound, node.prices, node.rho[names], node.y[names]), rule[names],
            np.flatnonzero(np.isin(names, useful)), goal, deadline,
        )  # fmt: skip
        self._raise(i, priced.phi(priced.lifted(node.bound)))
        self.carried[i] = priced.carry(node.prices)
        if thorough and self.gap(i) > OPEN:
            openings = np.zeros(len(rule))
            openings[names] = node.y
            part = deadline.part(POLISHED * deadline.left)
            self._polished(i, self._node(i, priced, openings=openings), part, AFTER)

    def _plant(self, i: int) -> None:
        """A new tree with the sites that a better plan may have."""
        priced = self._priced(i)
        node = self._node(i, priced)
        rule = settled(priced, self.k, node, self.rule)
        names = np.flatnonzero(rule != -1)
        tree = self.stops[i].tree = Tree(names, self.found[i].value)
        tree.add(node.bound, rule[names], Bounded(node.bound, node.prices, node.rho[names], node.y[names]))

    def _node(self, i: int, priced: Priced, steps: int = 0, openings: Floats | None = None) -> Bounded:
        """The bound at stop i from the prices that are known there, after some more subgradient steps."""
        rule = self.rule
        prices = priced.carried(self.carried[i], rule, self.k)
        if steps:
            prices = priced.ascend(prices, rule, self.k, steps, 0.5)
        bound, rho, chosen = priced.bound(prices, rule, self.k)
        self._raise(i, priced.phi(priced.lifted(bound)))
        self.carried[i] = priced.carry(prices)
        return Bounded(bound, prices, rho, chosen.astype(float) if openings is None else openings)

    def _polished(self, i: int, node: Bounded, deadline: Deadline, effort: float) -> Bounded:
        """Look for a better plan by swaps, from the best one and from the sites that the prices choose."""
        if not self.free or self.search.n_free == 0 or self.gap(i) <= OPEN:
            return node
        search, priced = self.search, self._priced(i)
        rule = settled(priced, self.k, node, self.rule)
        rule[self.found[i].sites] = np.maximum(rule[self.found[i].sites], 0)
        names = np.flatnonzero(rule >= 0)
        names = names[np.argsort(node.rho[names], kind="stable")[: WIDEST // len(node.prices)]]
        names = np.union1d(names, self.found[i].sites)
        fixed = np.searchsorted(names, np.sort(search.fixed))
        choice = np.setdiff1d(np.arange(len(names)), fixed)
        polish = Polish(priced.plain(names), priced.most, fixed, choice, self.rng)
        known = np.searchsorted(names, self.found[i].sites[: search.n_free])
        likely = choice[np.argsort(-node.y[names[choice]], kind="stable")][: search.n_free]
        best, least = polish.swapped(known)
        chosen, total = polish.swapped(likely)
        if total < least:
            best, least = chosen, total
        shakes = FEWEST + round(effort * self.k)
        best, least = polish.search(best, least, priced.proven(node.bound), deadline, shakes)
        before = self.found[i].value
        self._better(i, names[best])
        return node if self.found[i].value == before else self._node(i, self._priced(i))

    def _with_room(self, i: int, deadline: Deadline) -> None:
        """Prices for limited room, where there is any."""
        stop, search = self.stops[i], self.search
        if not isinstance(search, RoomySearch):
            return
        priced = self._priced(i)
        if stop.room is None:
            prices = priced.carried(self.carried[i], self.rule, self.k)
            stop.room = RoomBound(search.room, self.rule, self.k, prices)
        self._raise(i, priced.phi(stop.room.work(priced, deadline)))

    def _branched(self, i: int, deadline: Deadline) -> None:
        """Go on with the tree of stop i."""
        tree = self.stops[i].tree
        if tree is None or tree.closed or deadline.left <= 0:
            return
        priced, rule = self._priced(i), np.full(len(self.search.table.F), -1, np.int8)
        rule[tree.names] = 0
        small, names = narrowed(priced, rule)
        fixed = np.searchsorted(names, np.sort(self.search.fixed))
        choice = np.setdiff1d(np.arange(len(names)), fixed)
        polish = Polish(priced.plain(names), priced.most, fixed, choice, self.rng)
        master = Master(small, self.k, tree.waiting[0][3].prices)
        bound, better = tree.work(master, polish, deadline)
        self._raise(i, priced.phi(bound))
        if better is not None:
            self._better(i, names[better])

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

    def _farthest(self, i: int, deadline: Deadline, *, first: bool = False) -> None:
        """Infinite t: the p-center problem."""
        stop, search = self.stops[i], self.search
        if stop.burdens is None:
            stop.burdens = Burdens(search.table.F, search.n_free, search.fixed, self.found[i].value)
        burdens = stop.burdens
        burdens.high = min(burdens.high, self.found[i].value)
        if first:
            burdens.pack(deadline)
            burdens.reach(deadline, SHAKES[0])
        elif not burdens.narrowed:
            burdens.program(deadline)
            burdens.reach(deadline, SHAKES[1])
        if not first:
            burdens.settle(deadline)
        if burdens.sites is not None:
            self._better(i, burdens.sites)
        self._raise(i, burdens.found.bound)
        stop.exhausted = not self.free and burdens.low >= burdens.high

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
                if math.isinf(self.tilts[at]) or self.gap(at) <= OPEN or self.found[at].value <= 0:
                    break
                known = self.bound[at]
                deadline.say()
                before = self._steps(at, self._priced(at), before, HANDED)
                if self.bound[at] <= known:
                    break
                at += step
