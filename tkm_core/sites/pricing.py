"""The Lagrangian lower bound: prices for serving residents, and what the best k sites earn at them.

Over sites the city-wide cost is a p-median problem: choose k sites so that sum_i min_j c_ij is least, with costs
c_ij = w_i e^{t d_ij²}. For any prices,

    sum_i price_i + min over k sites of sum_j rho_j,      rho_j = sum_i min(c_ij - price_i, 0)

is a lower bound on the cost of every plan. Good prices come from subgradient steps or a linear program, but the bound
is always this sum, computed here, minus what rounding could have added.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.sites import compiled
from tkm_core.sites.table import Step, Table

CLOSED = 1e-9  # relative gap of the sums at which a plan counts as proven best
ROUNDING = 4e-16  # relative error of each number that enters a sum

Order = NDArray[np.int32]
Rule = NDArray[np.int8]
"""For each site 1: in every plan, -1: in none, 0: free."""


@dataclass(frozen=True)
class Ranked:
    """For each resident, the sites from nearest to farthest and their squared distances."""

    order: Order
    F: Floats

    @classmethod
    def of(cls, table: Table) -> "Ranked":
        """Sort every row once: the order is the same at every t."""
        m, n = table.F.shape
        order, F = np.empty((n, m), np.int32), np.empty((n, m))
        size = max(1, 2_000_000 // m)
        for start in range(0, n, size):
            block = np.ascontiguousarray(table.F[:, start : start + size].T)
            ranks = np.argsort(block, axis=1, kind="stable")
            order[start : start + size] = ranks
            F[start : start + size] = np.take_along_axis(block, ranks, axis=1)
        return cls(order, F)


@dataclass(frozen=True)
class Priced:
    """The p-median problem at one t, scaled to the best plan known.

    Attributes
    ----------
    order, C : arrays (n, m)
        Sites of each resident by cost, and the costs, clipped just above ``upper``.
    upper : float
        Sum of costs of the best plan known.
    whole : bool
        Whether everyone goes to one site, so that sums of whole costs are whole; with limited room people are split.
    """

    table: Table
    order: Order
    C: Floats
    t: float
    shift: float
    small: bool
    upper: float
    whole: bool = True

    @classmethod
    def of(cls, table: Table, ranked: Ranked, t: float, value: float, *, whole: bool = True) -> "Priced":
        """Costs at a finite tilt, given the city-wide cost of the best plan known, in the table's units."""
        small = t * value <= compiled.SMALL
        shift = 0.0 if small else t * value
        upper = float(table.weights.sum()) * compiled.cost(value, 1.0, t, shift, small, np.inf)
        C = np.empty_like(ranked.F)
        priced = cls(table, ranked.order, C, t, shift, small, upper, whole)
        compiled.costs(ranked.F, table.weights, t, shift, small, priced.most, C)
        return priced

    @property
    def goal(self) -> float:
        """Plans whose sum is at least this are not better than the best plan known."""
        return self.below(self.upper)

    def step(self, total: float) -> Step | None:
        """At t = 0, sums may only come in whole steps; None if they do not, or only roughly."""
        step = self.table.step if self.t == 0 and self.whole else None
        return step if step is not None and 4 * step.error <= CLOSED * total else None

    def below(self, total: float) -> float:
        """The least sum that is not clearly below ``total``."""
        step, closed = self.step(total), total * (1 - CLOSED)
        return closed if step is None else min(closed, total - 0.999 * step.size)

    def proven(self, total: float) -> float:
        """The bound if no plan is below `below`: ``total`` but for what counts as closed."""
        step = self.step(total)
        return total * (1 - CLOSED) if step is None else total - 4 * step.error

    def lifted(self, bound: float) -> float:
        """A bound on the sum that uses that a plan as good as the best known cannot be told from it."""
        return max(bound, self.proven(self.upper)) if bound >= self.goal else bound

    def plain(self, sites: Ints) -> Floats:
        """Costs of given sites (m, n), clipped like ``C``."""
        F, w, most = self.table.F[sites], self.table.weights, self.most
        if self.t == 0:
            return np.minimum(w * F, most)
        with np.errstate(over="ignore"):
            C = w * (np.expm1(self.t * F) / self.t if self.small else np.exp(self.t * F - self.shift))
        return np.minimum(C, most)

    @property
    def most(self) -> float:
        """Where costs are clipped: what costs more than a whole plan is in no better one."""
        return self.upper * (1 + 1e-9) + 1e-300

    def bound(self, prices: Floats, rule: Rule, k: int) -> tuple[float, Floats, Bools]:
        """The bound at given prices, minus rounding; rho; and the sites whose rho are summed."""
        rho, chosen = np.empty(len(rule)), np.empty(len(rule), np.bool_)
        compiled.reduced_costs(self.C, self.order, prices, rho)
        total = float(prices.sum()) + compiled.cheapest(rho, rule, k, chosen)
        entered = float(np.abs(prices).sum()) + float(np.abs(rho[chosen]).sum()) + self.upper
        return total - ROUNDING * len(prices) * entered, rho, chosen

    def ascend(self, prices: Floats, rule: Rule, k: int, steps: int, theta: float) -> Floats:
        """Better prices, by at most `steps` subgradient steps."""
        found = prices.copy()
        pace = np.maximum(prices, 1e-6 * self.upper)
        compiled.ascend(self.C, self.order, rule, k, self.upper, pace, prices.copy(), steps, theta, found)
        return found

    def phi(self, total: float) -> float:
        """The city-wide cost of a sum of costs, in the table's units."""
        weight = float(self.table.weights.sum())
        if total <= 0:
            return 0.0
        if self.t == 0:
            return total / weight
        if self.small:
            return float(np.log1p(self.t * total / weight)) / self.t
        return max((self.shift + float(np.log(total / weight))) / self.t, 0.0)

    def reach(self, prices: Floats) -> Floats:
        """The squared distance at which each resident's cost equals their price; it carries prices to another t."""
        w, t = self.table.weights, self.t
        if t == 0:
            return prices / w
        with np.errstate(divide="ignore"):
            z = np.log1p(prices * t / w) if self.small else np.log(prices / w) + self.shift
        return np.maximum(z, 0.0) / t

    def prices(self, reach: Floats) -> Floats:
        """The costs at given squared distances."""
        C = np.empty((len(reach), 1))
        most = self.upper * (1 + 1e-9)
        compiled.costs(
            np.ascontiguousarray(reach[:, None]), self.table.weights, self.t, self.shift, self.small, most, C
        )
        return np.maximum(C[:, 0], self.C[:, 0])

    def carried(self, other: "Carried", rule: Rule, k: int) -> Floats:
        """The better of two ways to use the prices of another t: as distances or as shares."""
        tried = (self.prices(other.reach), np.clip(other.share * self.upper, self.C[:, 0], self.upper))
        return max(tried, key=lambda prices: self.bound(prices, rule, k)[0])

    def carry(self, prices: Floats) -> "Carried":
        """Prices in the form in which another t can use them."""
        return Carried(self.reach(prices), prices / self.upper)


@dataclass(frozen=True)
class Carried:
    """Prices as squared distances at which the cost equals the price, and as shares of the best plan's cost."""

    reach: Floats
    share: Floats
