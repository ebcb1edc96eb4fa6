"""A lower bound that is strong at large t: the burden that somebody must bear, whichever sites are chosen.

If no k sites reach every resident i within a burden of b (log w_i + t d_ij², or d_ij² at infinite t), then in every
plan somebody bears at least the next larger burden that occurs. Set covers tell which b are too small; bisection over
all burdens that occur finds the smallest possible largest burden. At infinite t this solves the p-center problem.
"""

from dataclasses import dataclass, field

import numpy as np

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.sites.cover import packed, smallest_cover
from tkm_core.sites.polish import Polish
from tkm_core.sites.solver import Deadline

NEAR = 2e-3  # relative width down to which linear programs narrow the interval if nothing is settled exactly
PATIENCE = 2.0  # seconds for the first integer program; each round takes twice as long
SHAKES = (12, 60)  # replacements tried in a search for a cover: in the first bounds, and later
BLOCK = 30_000_000  # entries of the table up to which covers are searched for by swaps


@dataclass(frozen=True)
class Bottleneck:
    """A burden that somebody bears in every plan, the smallest one achieved, and the new sites that achieve it.

    ``sites`` is None if no plan better than the known one was found.
    """

    bound: float
    reached: float
    sites: Ints | None


@dataclass
class Burdens:
    """The search for the smallest possible largest burden; it can stop at any time and go on later.

    Attributes
    ----------
    burden : array (m, n)
    n_free : int
        How many sites may be chosen in addition to the ``fixed`` ones.
    low, high : float
        Every plan has a burden of at least ``low``; one with ``high`` is known.
    sites : int array or None
        The new sites of a plan with ``high``; None if it was given.
    """

    burden: Floats
    n_free: int
    fixed: Ints
    high: float
    low: float = field(init=False)
    sites: Ints | None = None
    patience: float = PATIENCE
    narrowed: bool = False

    def __post_init__(self) -> None:
        self.low = float(self.burden.min(axis=0).max())
        self.waiting = (
            self.burden[self.fixed].min(axis=0) if len(self.fixed) else np.full(self.burden.shape[1], np.inf)
        )
        self.rng = np.random.default_rng(0)

    @property
    def found(self) -> Bottleneck:
        """What is known now."""
        return Bottleneck(min(self.low, self.high), self.high, self.sites)

    def values(self) -> Floats:
        """The burdens that occur from ``low`` to ``high``."""
        if self.low >= self.high:
            return np.array([self.low])
        between = self.burden[(self.burden > self.low) & (self.burden < self.high)]
        return np.concatenate([[self.low], np.unique(between), [self.high]])

    def covers(self, limit: float) -> Bools:
        """Which sites reach which residents within a limit, without those whom fixed sites reach."""
        return (self.burden <= limit)[:, self.waiting > limit]

    def pack(self, deadline: Deadline) -> None:
        """Raise ``low`` without a solver: residents of whom no two can share a site need one each."""
        values = self.values()
        least, most = 0, len(values) - 1
        while least < most and deadline.left > 0:
            middle = (least + most) // 2
            deadline.say()
            if packed(self.covers(values[middle]), self.n_free) > self.n_free:
                least = middle + 1
            else:
                most = middle
        self.low = float(values[least])

    def program(self, deadline: Deadline, *, near: float = 0.0) -> None:
        """Raise ``low`` by linear programs, until the interval has the relative width ``near``."""
        values = self.values()
        least, most = 0, len(values) - 1
        close = near * max(abs(float(values[-1])), abs(float(values[0])))
        while least < most and values[most] - values[least] > close and deadline.left > 0:
            middle = (least + most) // 2
            found, needed = smallest_cover(
                self.covers(values[middle]), deadline, enough=self.n_free, whole=False
            )
            if needed > self.n_free:
                least = middle + 1
            else:
                most = middle
                self._adopt(found)
        self.low = float(values[least])
        self.narrowed = least == most

    def reach(self, deadline: Deadline, shakes: int) -> None:
        """Lower ``high`` by swaps: where nobody is beyond a limit, the sites are a cover."""
        if self.n_free == 0 or self.burden.size > BLOCK:
            return
        values = self.values()
        least, most = 0, len(values) - 1
        start = self.sites
        while least < most and deadline.left > 0:
            middle = (least + most) // 2
            limit = values[middle]
            top = float(self.burden.max(where=np.isfinite(self.burden), initial=limit))
            # those beyond the limit count once, and a little more the farther they are
            beyond = 1 + np.minimum((self.burden - limit) / max(top - limit, 1e-300), 1.0)
            polish = Polish(
                np.where(self.burden <= limit, 0.0, beyond), 2.0, self.fixed, self._choice(), self.rng
            )
            chosen = self._filled(start) if start is not None else self.rng.permutation(self._choice())
            chosen, lost = polish.swapped(chosen[: self.n_free])
            chosen, lost = polish.search(chosen, lost, 0.0, deadline, shakes)
            start = chosen
            if lost == 0:
                self._adopt(chosen)
                most = min(int(np.searchsorted(values, self.high)), middle)
            else:
                least = middle + 1

    def settle(self, deadline: Deadline) -> None:
        """Close the interval by integer programs: first just below the best plan, then in the middle."""
        while self.low < self.high and deadline.left > 0:
            for place in (1.0, 0.0, 0.5):
                values = self.values()
                if len(values) < 2 or deadline.left <= 0:
                    break
                limit = float(values[round(place * (len(values) - 2))])
                part = deadline.part(self.patience)
                found, needed = smallest_cover(self.covers(limit), part, enough=self.n_free)
                if needed > self.n_free:
                    self.low = float(values[int(np.searchsorted(values, limit)) + 1])
                elif len(found) <= self.n_free:
                    self._adopt(found)
            self.patience *= 2

    def _choice(self) -> Ints:
        """The sites that may be chosen."""
        return np.setdiff1d(np.arange(len(self.burden)), self.fixed)

    def _filled(self, sites: Ints) -> Ints:
        """As many new sites as allowed, with these among them."""
        spare = np.setdiff1d(self._choice(), sites)[: self.n_free - len(sites)]
        return np.concatenate([sites, spare]).astype(np.int64)

    def _adopt(self, sites: Ints) -> None:
        """Keep a plan that is better than the best known."""
        if len(sites) > self.n_free:
            return
        plan = np.concatenate([self._filled(np.setdiff1d(sites, self.fixed)), self.fixed]).astype(np.int64)
        reached = float(self.burden[plan].min(axis=0).max())
        if reached < self.high:
            self.high, self.sites = reached, plan[: self.n_free]


def least_burden(
    burden: Floats, n_free: int, fixed: Ints, known: float, deadline: Deadline, *, whole: bool = True
) -> Bottleneck:
    """Bound the smallest possible largest burden of ``burden`` (m, n); a plan with ``known`` is given.

    Linear programs narrow it down first; integer programs, unless ``whole`` is False, settle the rest. At the deadline
    it returns what is proven by then.

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> least_burden(line, 2, np.empty(0, np.int64), 4.0, Deadline(10, lambda *_: None)).bound
    1.0
    """
    search = Burdens(burden, n_free, fixed, known)
    if whole:
        search.reach(deadline, SHAKES[0])
    search.program(deadline, near=0.0 if whole else NEAR)
    if whole:
        search.reach(deadline, SHAKES[1])
        search.settle(deadline)
    return search.found
