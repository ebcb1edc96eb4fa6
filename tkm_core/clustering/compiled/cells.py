"""Compiled stand-ins for many residents: means of cells that are split again and again, and of the bins of a grid."""

import numpy as np

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.rows import floats, integers


@inner
def _spread(X, w, rows, lo, hi, c, means, weights, axes):
    """Note mean, weight and widest axis of cell c, which holds rows[lo:hi]; returns its priority (see ``split``)."""
    d = X.shape[1]
    weight = 0.0
    for a in range(d):
        means[c, a] = 0.0
    for r in range(lo, hi):
        i = rows[r]
        weight += w[i]
        for a in range(d):
            means[c, a] += w[i] * X[i, a]
    widest = 0.0
    total = 0.0
    axes[c] = 0
    weights[c] = weight
    for a in range(d):
        means[c, a] /= weight
        s = 0.0
        for r in range(lo, hi):
            i = rows[r]
            away = X[i, a] - means[c, a]
            s += w[i] * (away * away)
        total += s
        if s > widest:
            widest = s
            axes[c] = a
    return total / np.sqrt(weight)


@inner
def _sooner(priorities, a, b):
    """Whether cell a is split before cell b."""
    return priorities[a] > priorities[b] or (priorities[a] == priorities[b] and a < b)


@inner
def _sift(heap, priorities, size, cell):
    """Put a cell in the place of the first of a heap, and down from there to where it belongs."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _sooner(priorities, heap[child + 1], heap[child]):
            child += 1
        if _sooner(priorities, cell, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = cell


@kernel(heavy=True)
def split(city, count, means, weights):
    """Split residents into at most ``count`` cells; their ``means`` and ``weights`` stand for them. Returns how many.

    The next cell to split is the one with the largest variance times the root of its population: between equal error
    (which would forget the few who live far out) and equal size (which would forget where most people live).
    """
    X, w = city
    n = X.shape[0]
    rows = integers(n)
    m = 0
    for i in range(n):
        if w[i] > 0.0:
            rows[m] = i
            m += 1
    count = min(count, m)
    begins = integers(count)
    ends = integers(count)
    axes = integers(count)
    begins[0] = 0
    ends[0] = m
    made = 1
    # a heap of cells, the first of them the next to split; at equal priority the older
    heap = integers(count)
    priorities = floats(count)
    at = begins[0]
    heap[0] = at
    priorities[0] = _spread(X, w, rows, at, ends[0], at, means, weights, axes)
    size = 1
    while made < count and size > 0:
        c = heap[0]
        size -= 1
        _sift(heap, priorities, size, heap[size])
        lo = begins[c]
        hi = ends[c]
        axis = axes[c]
        cut = means[c, axis]
        a = lo
        b = hi
        while a < b:
            if X[rows[a], axis] <= cut:
                a += 1
            else:
                b -= 1
                other = rows[a]
                rows[a] = rows[b]
                rows[b] = other
        if not lo < a < hi:
            continue
        begins[made] = a
        ends[made] = hi
        ends[c] = a
        for half in range(2):
            part = made if half == 1 else c
            priorities[part] = _spread(X, w, rows, begins[part], ends[part], part, means, weights, axes)
            if priorities[part] > 0.0:
                at = size
                while at > 0 and _sooner(priorities, part, heap[(at - 1) // 2]):
                    heap[at] = heap[(at - 1) // 2]
                    at = (at - 1) // 2
                heap[at] = part
                size += 1
        made += 1
    return made


@kernel
def add_to_bins(city, edges, lo, hi, bins, counts, weights, sums):
    """Add rows lo..hi to the bins between ``edges``: number, weight, weighted coordinates; note each row's bin."""
    X, w = city
    d = X.shape[1]
    side = edges.shape[1] + 1
    for i in range(lo, hi):
        bins[i] = -1
        if w[i] > 0.0:
            bin_ = 0
            for a in range(d):
                # the first edge that is not below the coordinate
                low = 0
                high = side - 1
                while low < high:
                    middle = (low + high) // 2
                    if edges[a, middle] < X[i, a]:
                        low = middle + 1
                    else:
                        high = middle
                bin_ = bin_ * side + low
            bins[i] = bin_
            counts[bin_] += 1.0
            weights[bin_] += w[i]
            for a in range(d):
                sums[bin_, a] += w[i] * X[i, a]
