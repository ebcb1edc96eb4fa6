"""A lower bound that knows capacities: at given prices no site earns more than its room allows.

As in `pricing`, but rho_j is the least of sum_i x_ij (c_ij - price_i) over shares 0 <= x_ij <= 1 of residents whose
people fit into site j, no more than its most and no fewer than its least. That is a knapsack whose items may be split:
the best people by cost per head are taken first.
"""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Bools, Floats
from tkm_core.sites import compiled
from tkm_core.sites.capacity import ENOUGH, Room
from tkm_core.sites.pricing import ROUNDING, Priced, Rule
from tkm_core.sites.solver import Deadline

BLOCK = 2_000_000  # entries of the table that are sorted at a time
PATIENT = 10  # steps without a better bound after which steps get shorter
SHORTEST = 1e-4  # length at which no further gain is to be expected


@dataclass
class RoomBound:
    """Subgradient steps on prices when sites have limited room; they can stop at any time and go on later."""

    room: Room
    rule: Rule
    k: int
    prices: Floats
    best: float = -np.inf
    length: float = 1.0

    @property
    def done(self) -> bool:
        """Whether more steps are of no use."""
        return self.length < SHORTEST

    def work(self, priced: Priced, deadline: Deadline) -> float:
        """Take steps until time is up or they get nowhere; return the best bound on the sum of costs."""
        C, best = priced.plain(np.arange(len(self.rule))), self.prices
        here, idle = best.copy(), 0
        while not self.done and deadline.left > 0 and self.best < priced.goal:
            deadline.say()
            bound, served = self.at(priced, C, here)
            if bound > self.best:
                idle = 0 if bound > self.best + 1e-4 * (priced.upper - self.best) else idle + 1
                self.best, best = bound, here.copy()
            else:
                idle += 1
            if idle >= PATIENT:
                self.length, idle, here = self.length / 2, 0, best.copy()
            missing = 1.0 - served
            pace = np.maximum(here, 1e-6 * priced.upper)
            size = float((pace * missing * missing).sum())
            if (
                size <= 0
            ):  # everyone is served once, within all limits: this is the best plan of the relaxation
                self.length = 0.0
                break
            here = here + self.length * max(priced.upper - bound, 0.0) / size * pace * missing
        self.prices = best
        return self.best

    def at(self, priced: Priced, C: Floats, prices: Floats) -> tuple[float, Floats]:
        """The bound at given prices, less rounding; and how often the chosen sites serve each resident."""
        m, n = C.shape
        rho, chosen = np.empty(m), np.empty(m, np.bool_)
        size = max(1, BLOCK // n)
        for start in range(0, m, size):
            rows = slice(start, start + size)
            rho[rows] = self._earned(C[rows] - prices, priced.table.weights, rows)[0]
        total = float(prices.sum()) + compiled.cheapest(rho, self.rule, self.k, chosen)
        served = np.zeros(n)
        for site in np.flatnonzero(chosen):
            row = slice(int(site), int(site) + 1)
            served += self._earned(C[row] - prices, priced.table.weights, row)[1][0]
        entered = float(np.abs(prices).sum()) + float(np.abs(rho[chosen]).sum()) + priced.upper
        return total - 4 * ROUNDING * n * entered, served

    def _earned(self, net: Floats, weights: Floats, rows: slice) -> tuple[Floats, Floats]:
        """For some sites, the least sum of ``net`` costs that their limits allow, and the shares that they serve."""
        order = np.argsort(net / weights, axis=1, kind="stable")
        heads, cost = weights[order], np.take_along_axis(net, order, axis=1)
        before = np.cumsum(heads, axis=1) - heads
        gains: Bools = cost < 0
        # room may be short by as much as the search allows
        slack = ENOUGH * float(weights.sum())
        most, least = self.room.most[rows] + slack, np.maximum(self.room.least[rows] - slack, 0.0)
        limit = np.where(gains, most[:, None], least[:, None])
        part = np.clip((limit - before) / heads, 0.0, 1.0)
        shares = np.empty_like(part)
        np.put_along_axis(shares, order, part, axis=1)
        return (cost * part).sum(axis=1), shares
