"""A lower bound that is strong at large t: the burden that somebody must bear, whichever sites are chosen.

If no k sites reach every resident i within a burden of b (log w_i + t d_ij², or d_ij² at infinite t), then in every
plan somebody bears at least the next larger burden that occurs. Set covers tell which b are too small; bisection over
all burdens that occur finds the smallest possible largest burden. At infinite t this solves the p-center problem.
"""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.sites.cover import smallest_cover
from tkm_core.sites.solver import Deadline

PATIENCE = 0.1  # share of the remaining time for one set cover
NEAR = 2e-3  # relative width down to which linear programs narrow the interval


@dataclass(frozen=True)
class Bottleneck:
    """A burden that somebody bears in every plan, the smallest one achieved, and the new sites that achieve it.

    ``sites`` is None if no plan better than the known one was found.
    """

    bound: float
    reached: float
    sites: Ints | None


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
    low = float(burden.min(axis=0).max())
    waiting = burden[fixed].min(axis=0) if len(fixed) else np.full(burden.shape[1], np.inf)
    between = np.unique(burden[(burden > low) & (burden < known)])
    values = np.concatenate([[low], between, [known]]) if low < known else np.array([low])
    # every plan has at least values[least]; a plan with values[most] is known; values[unknown] could not be decided
    least, most, sites = 0, len(values) - 1, None
    close = NEAR * max(abs(float(values[-1])), abs(float(values[0])))
    for exact in (False, True)[: 1 + whole]:
        unknown = most
        while least < unknown and deadline.left > 0 and (exact or values[unknown] - values[least] > close):
            middle = (least + unknown) // 2
            limit = values[middle]
            part = deadline.part(max(PATIENCE * deadline.left, 0.05) if exact else deadline.left)
            found, needed = smallest_cover(
                (burden <= limit)[:, waiting > limit], part, enough=n_free, whole=exact
            )
            if needed > n_free:
                least = middle + 1
            else:
                if len(found) <= n_free:
                    most, sites = middle, found
                unknown = middle
    return Bottleneck(float(values[least]), float(values[most]), sites)
