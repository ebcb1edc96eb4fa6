"""The bound that is strong at a large t: somebody must bear a certain burden, whichever sites are chosen.

If no k sites reach every resident i within a burden of b (log w_i + t d_ij², or d_ij² at infinite t), then in every
plan somebody bears at least the next larger burden that occurs. Set covers tell which b are too small; a bisection over
all burdens that occur ends at the least largest one. At infinite t that is the p-center problem, solved.
"""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.sites.cover import smallest_cover
from tkm_core.sites.solver import Deadline

PATIENCE = 0.1  # of the time that is left: for one set cover
NEAR = 2e-3  # relative: linear programs narrow it down so far


@dataclass(frozen=True)
class Bottleneck:
    """A burden that somebody bears in every plan, the least that was reached, and the new sites that reach it.

    ``sites`` is None if none better than those known before were found.
    """

    bound: float
    reached: float
    sites: Ints | None


def least_burden(
    burden: Floats, n_free: int, fixed: Ints, known: float, deadline: Deadline, *, whole: bool = True
) -> Bottleneck:
    """Narrow down the least largest burden of ``burden`` (m, n), no more than the ``known`` one of some plan.

    Linear programs narrow it down first, whole ones (unless they are not wanted) close what those leave open. It may
    end at any time with what is proven by then.

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> least_burden(line, 2, np.empty(0, np.int64), 4.0, Deadline(10, lambda *_: None)).bound
    1.0
    """
    low = float(burden.min(axis=0).max())
    waiting = burden[fixed].min(axis=0) if len(fixed) else np.full(burden.shape[1], np.inf)
    between = np.unique(burden[(burden > low) & (burden < known)])
    values = np.concatenate([[low], between, [known]]) if low < known else np.array([low])
    # every plan has at least values[least]; one with values[most] is known; from values[unknown] on it is hard to say
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
