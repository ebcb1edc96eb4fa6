"""Search for the best sites at every t: swaps from several starts, with plans passed up and down the t grid."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import in_parallel
from tkm_core.progress import Progress
from tkm_core.sites import compiled
from tkm_core.sites.table import Table

ANCHORS = 9  # values of t at which the search starts afresh
STARTS, FEWEST_STARTS = 10, 2  # starts at each of them; fewer in large tables
WORK = 100_000_000  # table entries times starts, in total
# t f of the farthest resident: milder tilts on the way to one at which only the farthest count.
LADDER = (30.0, 100.0, 300.0, 1000.0)
ROUNDS = 20  # the most times that plans are passed along the whole path


@dataclass(frozen=True)
class Found:
    """Chosen sites (new ones first), the number of rows they do not reach, and their city-wide cost."""

    sites: Ints
    lost: int
    value: float

    @property
    def key(self) -> frozenset[int]:
        """The sites regardless of order."""
        return frozenset(self.sites.tolist())

    def lower(self, other: "Found") -> bool:
        """Whether this plan is clearly better than another."""
        return (self.lost, self.value) < (other.lost, other.value - 1e-12 * abs(other.value))


Descend = Callable[[Ints, float, int], Found]
"""From sites, at a tilt and with a seed, to sites that no exchange improves."""


@dataclass(frozen=True)
class Search:
    """Choose ``n_free`` sites of a table, in addition to the fixed ones."""

    table: Table
    n_free: int
    fixed: Ints

    @cached_property
    def choice(self) -> Ints:
        """The sites that may be chosen."""
        return np.setdiff1d(np.arange(len(self.table.F)), self.fixed)

    def judge(self, sites: Ints, t: float) -> Found:
        """The cost of given sites."""
        f = self.table.F[sites].min(axis=0)
        lost = int(np.isinf(f).sum())
        return Found(sites, lost, self.table.phi(f, t) if lost == 0 else math.inf)

    def descend(self, sites: Ints, t: float, seed: int) -> Found:
        """Swap sites until no swap is an improvement.

        At a large t only the farthest resident counts, and nearly all swaps change nothing; so the search goes through
        milder tilts first, at which the next farthest count too.
        """
        n = len(self.table.weights)
        order = np.random.default_rng(seed).permutation(self.choice)
        buffers = np.empty(n, np.int32), np.empty(n), np.empty(n)
        best = self.judge(sites, t)
        here = sites.copy()
        for tilt in self._ladder(best, t):
            compiled.swap(
                self.table.F, self.table.weights, here, self.n_free, tilt, self.table.far, order, *buffers
            )
            found = self.judge(here.copy(), t)
            if found.lower(best):
                best = found
        return best

    def _ladder(self, start: Found, t: float) -> list[float]:
        """The tilts to go through on the way to t."""
        f = self.table.F[start.sites].min(axis=0)
        top = float(f.max(where=np.isfinite(f), initial=0.0)) or 1.0
        if t * top <= LADDER[-2]:
            return [t]
        mild = [z / top for z in LADDER if z < t * top]
        return mild if t * top > 1e6 else [*mild, t]

    def start(self, number: int, rng: np.random.Generator) -> Ints:
        """Starting sites: each next to a resident whom the previous ones serve badly."""
        F, w = self.table.F, self.table.weights
        chosen = list(self.fixed)
        f = F[chosen].min(axis=0) if chosen else np.full(F.shape[1], np.inf)
        free = np.isin(np.arange(len(F)), self.choice)
        for _ in range(self.n_free):
            lost = np.isinf(f)
            burden = np.where(lost, w, 0.0) if lost.any() else w * f
            if number % 2 == 0 and not lost.any():
                burden = f * free.any()  # every other start begins with the farthest
                resident = int(burden.argmax())
            elif burden.sum() > 0:
                resident = int(rng.choice(len(w), p=burden / burden.sum()))
            else:
                resident = int(rng.integers(len(w)))
            site = int(np.where(free, F[:, resident], np.inf).argmin())
            if not free[site] or np.isinf(F[site, resident]):
                site = int(rng.choice(np.flatnonzero(free)))
            free[site] = False
            chosen.append(site)
            f = np.minimum(f, F[site])
        return np.array([*chosen[len(self.fixed) :], *self.fixed], dtype=np.int64)


def walk(
    search: Search, tilts: Floats, descend: Descend, rng: np.random.Generator, report: Progress
) -> list[Found]:
    """The best plan found at each of the growing ``tilts``: searched at some, then passed on both ways."""
    last = len(tilts) - 1
    entries = search.table.F.size
    anchors = sorted({round(i) for i in np.linspace(0, last, min(ANCHORS, max(3, WORK // 10 // entries)))})
    starts = max(FEWEST_STARTS, min(STARTS, WORK // (entries * len(anchors))))
    if math.comb(len(search.choice), min(search.n_free, 3)) < starts:
        starts = FEWEST_STARTS
    best: dict[int, Found] = {}
    for a, i in enumerate(anchors):
        report(0.5 * a / len(anchors), f"Searching, setting {i + 1} of {last + 1} of the dial")
        seeds = rng.integers(2**31, size=starts)
        begin = [search.start(number, np.random.default_rng(seed)) for number, seed in enumerate(seeds)]
        found: dict[int, Found] = {}

        def run(rows: slice) -> None:
            """Descend from some of the starts."""
            for r in range(rows.start, rows.stop):
                found[r] = descend(begin[r], tilts[i], int(seeds[r]))  # noqa: B023 - run at once

        in_parallel(run, starts, 1)
        for r in range(starts):
            if i not in best or found[r].lower(best[i]):
                best[i] = found[r]
    return _handed_on(best, tilts, descend, report)


def _handed_on(best: dict[int, Found], tilts: Floats, descend: Descend, report: Progress) -> list[Found]:
    """Descend at each t from the plan of its neighbour, up and down the grid in parallel, until nothing improves."""
    last = len(tilts) - 1
    tried: set[tuple[int, frozenset[int]]] = {(i, found.key) for i, found in best.items()}
    for number in range(ROUNDS):
        ways: list[dict[int, Found]] = [dict(best), dict(best)]
        news: list[set[tuple[int, frozenset[int]]]] = [set(), set()]

        def run(rows: slice) -> None:
            """Go along the grid in one direction."""
            for way in range(rows.start, rows.stop):
                mine, new = ways[way], news[way]  # noqa: B023 - run at once
                for i in range(1, last + 1) if way == 0 else range(last - 1, -1, -1):
                    before = mine.get(i - 1 if way == 0 else i + 1)
                    if before is None or (i, before.key) in tried or (i, before.key) in new:  # noqa: B023
                        continue
                    new.add((i, before.key))
                    found = descend(before.sites, tilts[i], i)
                    if i not in mine or found.lower(mine[i]):
                        mine[i] = found
                        new.add((i, found.key))

        report(0.5 + 0.4 * number / (number + 2), "Walking the dial both ways")
        in_parallel(run, 2, 1)
        improved = False
        for i in range(last + 1):
            for way in ways:
                if i in way and (i not in best or way[i].lower(best[i])):
                    best[i] = way[i]
                    improved = True
        tried |= news[0] | news[1]
        if not improved:
            break
    return [best[i] for i in range(last + 1)]
