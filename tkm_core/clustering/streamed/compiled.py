"""Compiled loops of the passes over rows: the moments of the cells of a grid, and what they sum up to at a setting."""

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
def judge_cells(cells, centers, t, labels, others, contested, f, lift, bound):
    """At one setting, for each cell: the two nearest facilities, whether a border may run through it, and its sums.

    ``cells`` are centre, half, mean, spread (d² columns) and reach. ``f`` is the squared distance of the mean, ``lift``
    the a of the formulas in ``cells.py``, ``bound`` what these leave out, both relative to e^{t f}; 0 at infinity.
    """
    centre, half, mean, spread, reach = cells
    d = centers.shape[1]
    for i in range(centre.shape[0]):
        least = np.inf
        next_ = np.inf
        label = 0
        other = 0
        for j in range(centers.shape[0]):
            away = apart(centre, i, centers, j)
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
        contested[i] = np.sqrt(next_) - np.sqrt(least) < 2.0 * half[i]
        f[i] = apart(mean, i, centers, label)
        lift[i] = 0.0
        bound[i] = 0.0
        if t == 0.0 or t == np.inf:
            continue
        variance = 0.0
        along = 0.0
        for a in range(d):
            variance += spread[i, a * d + a]
            for b in range(d):
                along += (
                    (mean[i, a] - centers[label, a]) * spread[i, a * d + b] * (mean[i, b] - centers[label, b])
                )
        lift[i] = t * variance + 2.0 * t * t * along
        length = np.sqrt(f[i])
        z = min(t * reach[i] * (2.0 * length + reach[i]), 50.0)
        bound[i] = z * z * z / 6.0 * np.exp(z) + t * t * variance * reach[i] * (2.0 * length + reach[i] / 2.0)


@kernel(heavy=True)
def sum_cells(cells, weight, centers, t, small, kept, labels, f, lift, tops, totals):
    """Add up the cells that are kept: mass, weight, cost, first and second moments (lower half) of each cluster."""
    _, _, mean, spread, _ = cells
    d = centers.shape[1]
    u = floats(d)
    su = floats(d)
    for i in range(mean.shape[0]):
        if kept[i]:
            tops[labels[i]] = max(tops[labels[i]], f[i])
    for i in range(mean.shape[0]):
        if not kept[i]:
            continue
        j = labels[i]
        w = weight[i]
        variance = 0.0
        for a in range(d):
            u[a] = mean[i, a] - centers[j, a]
            variance += spread[i, a * d + a]
        totals[j, 1] += w
        totals[j, 2] += w * (f[i] + variance)
        if t == np.inf:
            continue
        for a in range(d):
            su[a] = 0.0
            for b in range(d):
                su[a] += spread[i, a * d + b] * u[b]
        if small:
            here = w * np.exp(t * f[i])
            totals[j, 0] += w * np.expm1(t * f[i]) + here * lift[i]
        else:
            here = w * np.exp(t * (f[i] - tops[j]))
            totals[j, 0] += here * (1.0 + lift[i])
        for a in range(d):
            totals[j, 3 + a] += here * ((1.0 + lift[i]) * u[a] + 2.0 * t * su[a])
            for b in range(a + 1):
                product = (1.0 + lift[i]) * u[a] * u[b] + spread[i, a * d + b]
                totals[j, 3 + d + a * d + b] += here * (product + 2.0 * t * (su[a] * u[b] + u[a] * su[b]))
