"""Which facility is which along the dial, and where a plan gives way to another one."""

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from tkm_core.arrays import Bools, Floats
from tkm_core.clustering.descent import Problem, descend

VISIBLE = 0.2  # share of the root mean squared distance: a facility that moves farther in one step of t visibly moves
SAME = 0.05  # share of the distance between two plans within which a descent has reached the other


def matched(centers: Floats, k: int) -> Floats:
    """Order the k free facilities so that each matches the nearest one at the previous t."""
    for before, here in pairwise(centers):
        cost = ((before[:k, None] - here[None, :k]) ** 2).sum(axis=2)
        here[:k] = here[:k][linear_sum_assignment(cost)[1]]
    return centers


def found_jumps(problem: Problem, grid: Floats, centers: Floats, sse: list[float]) -> Bools:
    """True where facilities move visibly from one t to the next and no descent leads from one plan to the other."""
    jumps = np.zeros(len(grid), dtype=np.bool_)
    for i in range(1, len(grid)):
        moved = np.sqrt(((centers[i] - centers[i - 1]) ** 2).sum(axis=1).max())
        if moved <= VISIBLE * np.sqrt(sse[i]):
            continue
        forward = descend(problem, centers[i - 1], grid[i], tol=1e-4).centers
        backward = descend(problem, centers[i], grid[i - 1], tol=1e-4).centers
        missed = min(np.abs(forward - centers[i]).max(), np.abs(backward - centers[i - 1]).max())
        jumps[i] = missed > SAME * moved
    return jumps
