"""Branch and bound on sites (open or closed), which can stop at any time and go on later."""

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from tkm_core.arrays import Ints
from tkm_core.sites.linear import Bounded, Master, settled
from tkm_core.sites.polish import Polish
from tkm_core.sites.pricing import Priced, Rule
from tkm_core.sites.solver import Deadline

FRACTION = 1e-5
SWAPPED = 8  # every so many nodes the rounded plan is also improved by swaps


@dataclass
class Tree:
    """The nodes still open at one t: what they forbid, and what is known about them.

    Attributes
    ----------
    names : int array (m,)
        The sites that the nodes are about.
    value : float
        City-wide cost of the best plan when the tree was made; with another the sums have another scale.
    best : float
        The least sum of costs of a plan found here; what is not below it is not looked at.
    closed : bool
        Whether the bound has met the best plan.
    waiting : list
        Nodes as (bound, number, rule, Bounded), a heap.
    """

    names: Ints
    value: float
    best: float = np.inf
    closed: bool = False
    waiting: list[tuple[float, int, Rule, Bounded]] = field(default_factory=list)
    numbers: count = field(default_factory=count)  # type: ignore[type-arg]

    def add(self, bound: float, rule: Rule, node: Bounded) -> None:
        """One more node to look at."""
        heapq.heappush(self.waiting, (bound, next(self.numbers), rule, node))

    def work(self, master: Master, polish: Polish, deadline: Deadline) -> tuple[float, Ints | None]:
        """Branch until the bound meets the best plan, or time is up.

        Returns the bound, and the sites of a plan better than ``upper`` if one was found. A node that is interrupted
        stays open.
        """
        priced, k = master.priced, master.k
        better: Ints | None = None
        best = min(priced.upper, self.best)
        while self.waiting and deadline.left > 0:
            bound, number, rule, node = self.waiting[0]
            if bound >= priced.below(best):
                break
            rule = settled(priced, k, node, rule)
            free, opened = np.flatnonzero(rule == 0), np.flatnonzero(rule == 1)
            if len(opened) >= k or len(free) + len(opened) <= k:
                plan = opened[:k] if len(opened) >= k else np.concatenate([opened, free])
                better, best = _keep(priced, plan, better, best)
                heapq.heappop(self.waiting)
                continue
            rounded = np.argsort(-node.y - 2.0 * (rule == 1) + 4.0 * (rule == -1))[:k]
            if number % SWAPPED == 0:
                rounded = np.concatenate(
                    [polish.swapped(np.setdiff1d(rounded, polish.fixed))[0], polish.fixed]
                )
            better, best = _keep(priced, rounded, better, best)
            children = []
            for side in (1, -1):
                child = rule.copy()
                child[_pick(node, free)] = side
                found = master.solve(child, node.prices, deadline)
                children.append((max(found.bound, bound), child, found))
            if deadline.left <= 0:
                break
            heapq.heappop(self.waiting)
            for entry in children:
                if entry[0] < priced.below(best):
                    self.add(*entry)
        bound = min([entry[0] for entry in self.waiting], default=best)
        self.best, self.closed = best, bound >= priced.below(best)
        return (priced.proven(best) if self.closed else bound), better


def _pick(node: Bounded, free: Ints) -> int:
    """The site to branch on: the one farthest from whole."""
    fraction = np.abs(node.y[free] - 0.5)
    if fraction.min() > 0.5 - FRACTION:  # all whole, yet a gap: take the most promising
        return int(free[int(node.rho[free].argmin())])
    return int(free[int(fraction.argmin())])


def _keep(priced: Priced, plan: Ints, better: Ints | None, best: float) -> tuple[Ints | None, float]:
    """The plan, if it costs less than the best so far."""
    cost = plan_sum(priced, plan)
    return (plan, cost) if cost < priced.below(best) else (better, best)


def plan_sum(priced: Priced, plan: Ints) -> float:
    """The sum of costs of a plan."""
    inside = np.zeros(priced.order.max() + 1, dtype=bool)
    inside[plan] = True
    first = inside[priced.order].argmax(axis=1)
    return float(priced.C[np.arange(len(first)), first].sum())
