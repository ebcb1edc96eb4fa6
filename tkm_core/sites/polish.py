"""Better plans at one t: swaps from a given plan, then from plans in which a few sites were replaced."""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.sites import compiled
from tkm_core.sites.solver import Deadline

SHAKEN = (2, 3, 4, 6)  # sites that are replaced at once
AROUND = 6  # replacements are drawn from this many times as many sites around a place


@dataclass
class Polish:
    """Swaps on a table of costs (m sites, n residents), none above ``most``.

    ``fixed`` sites are in every plan; the others in ``choice`` may be chosen.
    """

    C: Floats
    most: float
    fixed: Ints
    choice: Ints
    rng: np.random.Generator

    def swapped(self, chosen: Ints) -> tuple[Ints, float]:
        """The chosen sites after swaps that lower the sum, without the fixed ones; and the sum."""
        sites = np.concatenate([chosen, self.fixed]).astype(np.int64)
        order = self.rng.permutation(self.choice)
        total = compiled.exchange(self.C, sites, len(chosen), self.most, order)
        return sites[: len(chosen)], total

    def shaken(self, chosen: Ints) -> Ints:
        """The chosen sites with a few of them replaced, mostly around one place."""
        rng, k = self.rng, len(chosen)
        size = min(int(rng.choice(SHAKEN)), k)
        others = np.setdiff1d(self.choice, chosen)
        size = min(size, len(others))
        if rng.random() < 0.25:
            slots, new = rng.permutation(k)[:size], rng.permutation(others)[:size]
        else:
            place = int(rng.integers(self.C.shape[1]))
            slots = np.argsort(self.C[chosen, place], kind="stable")[:size]
            around = min(len(others), max(AROUND * size * len(others) // max(k, 1), 2 * size))
            close = others[np.argpartition(self.C[others, place], around - 1)[:around]]
            new = rng.permutation(close)[:size]
        moved = chosen.copy()
        moved[slots] = new
        return moved

    def search(
        self, chosen: Ints, total: float, goal: float, deadline: Deadline, shakes: int
    ) -> tuple[Ints, float]:
        """The best plan found from ``chosen``, which costs ``total``.

        It ends when a plan costs ``goal``, time is up, or after as many ``shakes`` without a better one.
        """
        best, least = chosen, total
        here, now = chosen, total
        idle = 0
        movable = 0 < len(chosen) < len(self.choice)
        while movable and least > goal and idle < shakes and deadline.left > 0:
            deadline.say()
            idle += 1
            moved, cost = self.swapped(self.shaken(here))
            # a little worse is fine now and then, but never far from the best
            if cost <= now or (cost < least + 2e-3 * abs(least) and self.rng.random() < 0.1):
                here, now = moved, cost
            if cost < least * (1 - compiled.LOWER):
                best, least, idle = moved, cost, 0
            elif now > least and self.rng.random() < 0.05:
                here, now = best, least
        return best, least
