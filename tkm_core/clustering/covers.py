"""The other end of the dial: facilities that leave the farthest resident as near as possible.

Searches by descent do badly there if there are many facilities: only the farthest resident counts, so most moves change
nothing. Whether k discs of a given radius can reach everyone is another kind of question, and the radius is lowered
until no such discs are found.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled.covers import find_cover
from tkm_core.clustering.descent import Problem, descend, nearest

MOST_RESIDENTS = 1_000  # beyond them, and beyond so many discs, this takes longer than all the rest
MOST_DISCS = 30_000
FEWEST = 10  # facilities: with fewer, descents find such plans too
MOVES = 4_000  # before a radius is given up
STEPS = (0.06, 0.03, 0.015, 0.0075)  # shares by which the radius is lowered; after a failure the next one
SLACK = 1e-9  # relative: rounding of distances


def applies(problem: Problem) -> bool:
    """Whether it is worth trying."""
    n, d = problem.X.shape
    return d == 2 and n <= MOST_RESIDENTS and FEWEST <= problem.n_free < n


def least_radius(problem: Problem, start: Floats, seed: int) -> Floats:
    """Facilities (k + f, 2) with which the farthest resident is nearer than with ``start``, or ``start``.

    >>> X = np.array([[x, y] for x in range(12) for y in range(12)], dtype=float)
    >>> problem = Problem.of(X, np.ones(144), 36)
    >>> found = least_radius(problem, X[:36], 0)
    >>> round(float(nearest(X, found)[1].max()), 6)  # one for every four
    0.5
    """
    k, best = problem.n_free, descend(problem, start, np.inf).centers
    reach = float(np.sqrt(nearest(problem.X, best)[1].max()))
    for step in STEPS:
        while reach > 0:
            found = _discs(problem.X, best[k:], k, reach * (1 - step), seed)
            if found is None:
                break
            ends = descend(problem, np.vstack([found, best[k:]]), np.inf).centers
            farthest = float(np.sqrt(nearest(problem.X, ends)[1].max()))
            if not farthest < reach:
                break
            best, reach = ends, farthest
    return best


def _discs(X: Floats, fixed: Floats, k: int, radius: float, seed: int) -> Floats | None:
    """Centres (k, 2) of discs that reach everyone whom no existing facility reaches; None if none were found."""
    reach = radius * (1 + SLACK)
    rows = X if not len(fixed) else X[nearest(X, fixed)[1] > reach * reach]
    rows = np.unique(rows, axis=0)
    if len(rows) <= k:
        return None
    tree = cKDTree(rows)
    if tree.count_neighbors(tree, 2 * radius) > MOST_DISCS:
        return None
    # a disc can be moved until two residents lie on its edge, and still reaches the same ones
    one, other = tree.query_pairs(2 * radius, output_type="ndarray").T
    middle, across = (rows[one] + rows[other]) / 2, (rows[other] - rows[one]) / 2
    half2 = (across**2).sum(axis=1)
    aside = across[:, ::-1] * [-1.0, 1.0] * np.sqrt(np.maximum(radius * radius / half2 - 1, 0.0))[:, None]
    centers = np.vstack([rows, middle + aside, middle - aside])
    within = cKDTree(centers).sparse_distance_matrix(tree, reach, output_type="coo_matrix")
    holds = csr_array((np.ones(within.nnz), (within.row, within.col)), shape=(len(centers), len(rows)))
    # discs that reach the same residents have the same sum of their random numbers: one of them is enough
    sums = (holds @ np.random.default_rng(0).integers(2**31, size=(len(rows), 2))).astype(np.int64)
    different = np.unique(sums, axis=0, return_index=True)[1]
    holds, centers = holds[different], centers[different]
    holds.sort_indices()
    held_by = holds.T.tocsr()
    disc_ends, disc_rows, row_ends, row_discs = (
        each.astype(np.int64) for each in (holds.indptr, holds.indices, held_by.indptr, held_by.indices)
    )
    chosen = np.empty(k, np.int64)
    found = find_cover(disc_ends, disc_rows, row_ends, row_discs, MOVES, seed, chosen)
    return centers[chosen] if found else None
