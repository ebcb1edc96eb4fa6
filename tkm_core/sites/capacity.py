"""Capacities: checking them, the assignment at one t, and the search for sites with limited room.

People are divisible: a place's people may be served by several facilities (in an optimal assignment at most k - 1
places are split). The city-wide cost then counts people, each at their own facility.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import city_cost
from tkm_core.progress import Progress
from tkm_core.sites import transport
from tkm_core.sites.search import Found, Search
from tkm_core.wording import counted

ENOUGH = 1e-9  # share of all people by which room may be short, for rounding
# How far above the largest exponent in use costs are exact; beyond it they only have to be too high.
CAP = 12.0
HIGHEST = 500.0  # larger exponents are not used as a factor
GRAIN = 2.0**-20  # costs are rounded to multiples of this, so that their sums are exact
NEAR = 30.0  # t f up to which e^{t f} needs no shift
CLOSE = 8.0  # how far the exponent of the largest cost may be from 0
TIE = 1e-13  # this part of the squared distance is added to the cost, so that ties go to the nearest
EVERY = 60  # up to this many combinations of sites, all are tried
TRIES = 24  # swaps that are evaluated exactly, the most promising first


@dataclass(frozen=True)
class Capacity:
    """How many people a facility may serve: at most, and at least. One number for all, or one for each site.

    Examples
    --------
    >>> Capacity(40_000)
    Capacity(most=40000, least=0.0)
    """

    most: ArrayLike = math.inf
    least: ArrayLike = 0.0

    def limits(self, m: int, people: float) -> tuple[Floats, Floats]:
        """Least and most of each of m sites; ``most`` is never more than all people."""
        sides = []
        for name, given in (("least", self.least), ("most", self.most)):
            values = np.asarray(given, dtype=np.float64)
            if values.ndim > 1 or (values.ndim == 1 and len(values) != m):
                msg = f"capacity: {name} has shape {values.shape}; give one number, or one for each of the {m} sites."
                raise ValueError(msg)
            values = np.broadcast_to(values, (m,)).copy()
            if not (values >= 0).all():
                site = int(np.argmin(values >= 0))
                msg = f"capacity: {name} is {values[site]} for site {site}; it must be a number of people, 0 or more."
                raise ValueError(msg)
            sides.append(values)
        least, most = sides
        if (least > most).any():
            site = int(np.argmax(least > most))
            msg = (
                f"capacity: site {site} must serve at least {least[site]:,.6g} and at most {most[site]:,.6g} people; "
                "swap the two."
            )
            raise ValueError(msg)
        return least, np.minimum(most, people)


def as_capacity(capacity: "Capacity | ArrayLike | None") -> Capacity | None:
    """A plain number, or one for each site, is read as the most people that may be served."""
    return capacity if capacity is None or isinstance(capacity, Capacity) else Capacity(capacity)


@dataclass(frozen=True)
class Room:
    """Limits of each site, in the table's weights."""

    least: Floats
    most: Floats

    @classmethod
    def of(cls, capacity: Capacity, m: int, people: float, weight: float, n_free: int, fixed: Ints) -> Self:
        """Limits scaled to weights that add up to ``weight``; an error if no plan has room for everyone."""
        least, most = capacity.limits(m, people)
        others = np.setdiff1d(np.arange(m), fixed)
        top = float(most[fixed].sum() + np.sort(most[others])[::-1][:n_free].sum())
        k = n_free + len(fixed)
        if top < people * (1 - ENOUGH):
            msg = (
                f"{counted(k, 'facility', 'facilities')} can serve at most {top:,.0f} people, but there are "
                f"{people:,.0f}. Allow more of them, or more people each."
            )
            raise ValueError(msg)
        low = float(least[fixed].sum() + np.sort(least[others])[:n_free].sum())
        if low > people * (1 + ENOUGH):
            msg = (
                f"{counted(k, 'facility', 'facilities')} must serve at least {low:,.0f} people, but there are only "
                f"{people:,.0f}. Allow fewer of them, or fewer people each."
            )
            raise ValueError(msg)
        scale = weight / people
        return cls(least * scale, most * scale)


def tilted_costs(F: Floats, t: float, top: float, far: float) -> Floats:
    """Costs e^{t (f - top)} per person, without overflow and with ties going to the nearest.

    >>> tilted_costs(np.array([1.0, np.inf]), 0.0, 1.0, 1.0)
    array([ 1., inf])
    """
    if t == 0:
        return F
    shift = 0.0 if t * top <= NEAR else t * top
    limit = t * top + CAP - shift
    z = t * F - shift
    over = 1 + np.clip(z - limit, 0.0, 1e3)
    C = np.expm1(np.minimum(z, limit)) / t if shift == 0 else np.exp(np.minimum(z, limit))
    return np.where(np.isfinite(F), C * over + TIE * np.where(np.isfinite(F), F, 0.0) / (far or 1.0), np.inf)


@dataclass
class Warm:
    """Warm start of an assignment: prices of the facilities, and the largest squared distance they were made for."""

    prices: Floats
    top: float = 0.0

    def lift(self, top: float, t: float) -> None:
        """Convert the prices to costs e^{t (f - top)} with another top."""
        if t * top > NEAR:
            factor = (
                math.exp(min(max(t * (self.top - top), -HIGHEST), HIGHEST)) if t * self.top > NEAR else 0.0
            )
            self.prices *= factor
        self.top = top


def assign(
    F: Floats, weights: Floats, least: Floats, most: Floats, t: float, warm: Warm
) -> tuple[Floats, float] | None:
    """People of each place served by each facility (k, n) at the least city-wide cost, and that cost.

    F (k, n) holds squared distances. ``warm`` is the start, and is updated. None if there is no feasible assignment.
    """
    x = np.empty_like(F)
    finite = np.isfinite(F)
    far = float(F.max(where=finite, initial=0.0))
    if math.isinf(t):
        return _least_top(F, weights, least, most, x)
    warm.lift(max(float(F.min(axis=0).max()), warm.top), t)
    for _ in range(50):
        C = tilted_costs(F, t, warm.top, far)
        if not transport.assign(C, weights, least, most, warm.prices, x):
            # where costs differ by many powers of ten, old prices and rounding may mislead
            warm.prices[:] = 0.0
            if not transport.assign(C, weights, least, most, warm.prices, x):
                warm.prices[:] = 0.0
                if not transport.assign(np.rint(C / GRAIN), weights, least, most, warm.prices, x):
                    return None
                warm.prices *= GRAIN
        reached = float(F.max(where=(x > 0) & finite, initial=0.0))
        low = t * warm.top <= NEAR or t * (warm.top - reached) <= CLOSE
        # Nobody pays a clipped cost, and the farthest are told apart.
        if low and t * (reached - warm.top) <= CLOSE:
            break
        warm.lift(reached, t)
    return x, served_cost(F, x, t)


def served_cost(F: Floats, x: Floats, t: float) -> float:
    """City-wide cost of an assignment x (k, n) with squared distances F."""
    used = x > 0
    return city_cost(F[used], x[used], t)


def _least_top(
    F: Floats, weights: Floats, least: Floats, most: Floats, x: Floats
) -> tuple[Floats, float] | None:
    """Infinite t: the smallest distance within which everyone can be served, by bisection; then the smallest mean."""
    values = np.unique(F[np.isfinite(F)])
    low, high = int(np.searchsorted(values, F.min(axis=0).max())) if len(values) else 0, len(values) - 1

    def possible(limit: float) -> bool:
        """Whether everyone can be served within a squared distance."""
        C = np.where(limit >= F, F, np.inf)
        return bool(transport.assign(C, weights, least, most, np.zeros(len(F)), x))

    if not len(values) or not possible(values[high]):
        return None
    while low < high:
        middle = (low + high) // 2
        if possible(values[middle]):
            high = middle
        else:
            low = middle + 1
    possible(values[high])
    return x, float(values[high])


@dataclass(frozen=True)
class RoomySearch(Search):
    """Choose sites when each has limited room."""

    room: Room

    def _assigned(self, sites: Ints, t: float, prices: Floats | None = None) -> tuple[Floats, float] | None:
        """The assignment to given sites, and its cost."""
        F = np.ascontiguousarray(self.table.F[sites])
        warm = Warm(np.zeros(len(sites)) if prices is None else prices)
        return assign(F, self.table.weights, self.room.least[sites], self.room.most[sites], t, warm)

    def shares(self, sites: Ints, t: float) -> Floats:
        """The part of each place's people that each site serves (k, n)."""
        found = self._assigned(sites, t)
        assert found is not None, "the sites of a path have room for everyone"  # noqa: S101
        return found[0] / self.table.weights

    def judge(self, sites: Ints, t: float) -> Found:
        """The cost of given sites; infinite, with people left over, if they have too little room."""
        found = self._assigned(sites, t)
        return Found(sites, 0, found[1]) if found else Found(sites, self._short(sites), math.inf)

    def _short(self, sites: Ints) -> int:
        """How infeasible a plan is: at least 1, and more for more people without room."""
        weight = float(self.table.weights.sum())
        missing = max(
            weight - float(self.room.most[sites].sum()), float(self.room.least[sites].sum()) - weight, 0.0
        )
        return 1 + int(1000 * missing / weight) + int(np.isinf(self.table.F[sites].min(axis=0)).sum())

    def descend(self, sites: Ints, t: float, seed: int) -> Found:
        """Improve the sites: each facility moves among its own people, then sites are swapped."""
        if math.comb(len(self.choice), self.n_free) <= EVERY:
            plans = [
                np.array([*plan, *self.fixed], np.int64)
                for plan in combinations(self.choice.tolist(), self.n_free)
            ]
            return min((self.judge(plan, t) for plan in plans), key=lambda found: (found.lost, found.value))
        best = self.judge(super().descend(sites, t, seed).sites if seed % 2 else sites, t)
        while True:
            for plan in self._moves(best, t):
                found = self.judge(plan, t)
                if found.lower(best):
                    best = found
                    break
            else:
                return best

    def _moves(self, plan: Found, t: float) -> list[Ints]:
        """Plans that differ in one site, with the most promising first."""
        F, w, sites = self.table.F, self.table.weights, plan.sites
        prices = np.zeros(len(sites))
        found = self._assigned(sites, t, prices)
        others = np.setdiff1d(self.choice, sites)
        mild = min(t, 300.0 / self.table.far) if self.table.far else 0.0
        top = float(F[sites].min(axis=0).max(where=np.isfinite(F[sites].min(axis=0)), initial=0.0))
        C = tilted_costs(F, mild, top, self.table.far)
        C = np.where(np.isfinite(C), C, 1e3 * C.max(where=np.isfinite(C), initial=1.0))
        scores: list[tuple[float, int, int]] = []
        if found:  # what a facility's own people would pay at another site
            for slot in range(self.n_free):
                paid = C[others] @ found[0][slot] - C[sites[slot]] @ found[0][slot]
                fits = self.room.most[others] >= found[0][slot].sum() * (1 - ENOUGH)
                scores += [(float(v), slot, int(j)) for v, j in zip(paid[fits], others[fits], strict=True)]
        dear = C[sites] + prices[:, None]
        for slot in range(self.n_free):
            rest = (
                np.delete(dear, slot, axis=0).min(axis=0, initial=np.inf)
                if len(sites) > 1
                else np.full(len(w), C.max())
            )
            gain = np.minimum(C[others], rest) @ w - dear.min(axis=0) @ w
            short = self.room.most[np.delete(sites, slot)].sum() + self.room.most[others] < w.sum() * (
                1 - ENOUGH
            )
            gain = gain + np.where(short, abs(gain).max() + 1.0, 0.0)
            scores += [(float(v), slot, int(j)) for v, j in zip(gain, others, strict=True)]
        plans, seen = [], set()
        for _, slot, site in sorted(scores):
            if (slot, site) not in seen:
                seen.add((slot, site))
                moved = sites.copy()
                moved[slot] = site
                plans.append(moved)
            if len(plans) == TRIES:
                break
        return plans


def roomy(search: Search, capacity: Capacity, people: float, report: Progress) -> RoomySearch:
    """A search with checked capacities."""
    report(0.0, "Checking capacities")
    room = Room.of(
        capacity, len(search.table.F), people, float(search.table.weights.sum()), search.n_free, search.fixed
    )
    return RoomySearch(search.table, search.n_free, search.fixed, room)
