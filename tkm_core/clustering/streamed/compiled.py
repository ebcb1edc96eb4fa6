"""Compiled loops of the passes over rows: moments of the cells of a grid, and the two nearest facilities."""

import numpy as np

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.rows import apart, floats


@inner
def _bin(X, i, edges, first, starts, per_slot):
    """The cell of row i; ``starts`` says, for each of many equal slots of an axis, with which edge to begin."""
    side = edges.shape[1] + 1
    slots = starts.shape[1] - 1
    cell = 0
    for a in range(X.shape[1]):
        x = X[i, a]
        slot = int(min(max((x - first[a]) * per_slot[a], 0.0), slots - 1.0))
        low = starts[a, slot]
        high = starts[a, slot + 1]
        while low < high:
            middle = (low + high) // 2
            if edges[a, middle] < x:
                low = middle + 1
            else:
                high = middle
        # the slot may be one off by rounding
        while low > 0 and edges[a, low - 1] >= x:
            low -= 1
        while low < side - 1 and edges[a, low] < x:
            low += 1
        cell = cell * side + low
    return cell


@kernel(heavy=True)
def add_moments(X, w, edges, first, starts, per_slot, middle, sums):
    """Add rows to the cells: number, weight, weighted coordinates from ``middle`` and their products (lower half)."""
    n, d = X.shape
    x = floats(d)
    for i in range(n):
        weight = w[i]
        if weight <= 0.0:
            continue
        cell = _bin(X, i, edges, first, starts, per_slot)
        sums[cell, 0] += 1.0
        sums[cell, 1] += weight
        at = 2 + d
        for a in range(d):
            x[a] = X[i, a] - middle[a]
            wx = weight * x[a]
            sums[cell, 2 + a] += wx
            for b in range(a + 1):
                sums[cell, at] += wx * x[b]
                at += 1


@kernel(heavy=True)
def find_bins(X, edges, first, starts, per_slot, bins):
    """The cell of every row."""
    for i in range(X.shape[0]):
        bins[i] = _bin(X, i, edges, first, starts, per_slot)


@kernel(heavy=True)
def two_nearest(X, centers, labels, f, others, second):
    """The nearest and the second nearest centre of each row, with their squared distances.

    Where there is one centre only, the second is the same, at infinity.
    """
    for i in range(X.shape[0]):
        least = np.inf
        next_ = np.inf
        label = 0
        other = 0
        for j in range(centers.shape[0]):
            away = apart(X, i, centers, j)
            if away < least:
                next_ = least
                other = label
                least = away
                label = j
            elif away < next_:
                next_ = away
                other = j
        labels[i] = label
        others[i] = other
        f[i] = least
        second[i] = next_
