"""Fewer, weighted points that stand for many residents: for the search, and for the path of large cities."""

import heapq

import numpy as np
from numba import njit

from tkm_core.arrays import Floats
from tkm_core.clustering.threads import in_parallel

BINS = {1: 4_096, 2: 128, 3: 25}  # per axis: about 16,000 in all on a map
FEW = 3  # residents in a bin that are not merged
PARTS = 8  # partial sums of the binning: fixed, so that they do not depend on the number of threads


@njit(nogil=True, cache=True)
def _spread(X, w, rows, lo, hi, mean):
    """Weight of a cell, its widest axis and its priority (see ``cells``); fills ``mean``."""
    d = X.shape[1]
    mean[:] = 0.0
    weight = 0.0
    for r in range(lo, hi):
        i = rows[r]
        weight += w[i]
        for a in range(d):
            mean[a] += w[i] * X[i, a]
    mean /= weight
    axis = 0
    widest = 0.0
    total = 0.0
    for a in range(d):
        s = 0.0
        for r in range(lo, hi):
            i = rows[r]
            s += w[i] * (X[i, a] - mean[a]) ** 2
        total += s
        if s > widest:
            widest = s
            axis = a
    return weight, axis, total / np.sqrt(weight)


@njit(nogil=True, cache=True)
def cells(X, w, count):
    """At most ``count`` weighted points that stand for the residents: means of cells split again and again.

    The next cell to split is the one with the largest variance times the root of its population: between equal error
    (which would forget the few who live far out) and equal size (which would forget where most people live).
    """
    n, d = X.shape
    rows = np.empty(n, np.int64)
    m = 0
    for i in range(n):
        if w[i] > 0.0:
            rows[m] = i
            m += 1
    count = min(count, m)
    first = np.empty(count, np.int64)
    last = np.empty(count, np.int64)
    axis = np.empty(count, np.int64)
    means = np.empty((count, d))
    weights = np.empty(count)
    first[0] = 0
    last[0] = m
    weights[0], axis[0], priority = _spread(X, w, rows, 0, m, means[0])
    heap = [(-priority, 0)]
    made = 1
    while made < count and len(heap) > 0:
        _, c = heapq.heappop(heap)
        lo = first[c]
        hi = last[c]
        cut = means[c, axis[c]]
        a = lo
        b = hi
        while a < b:
            if X[rows[a], axis[c]] <= cut:
                a += 1
            else:
                b -= 1
                rows[a], rows[b] = rows[b], rows[a]
        if a in (lo, hi):
            continue
        first[made] = a
        last[made] = hi
        last[c] = a
        for part in (c, made):
            weights[part], axis[part], priority = _spread(X, w, rows, first[part], last[part], means[part])
            if priority > 0.0:
                heapq.heappush(heap, (-priority, part))
        made += 1
    return means[:made].copy(), weights[:made].copy()


@njit(nogil=True, cache=True)
def _add_to_bins(X, w, edges, lo, hi, bins, sums):
    """Add rows lo..hi to ``sums`` (bins, 2 + d): rows, weight, weighted coordinates; note each row's bin."""
    d = X.shape[1]
    side = edges.shape[1] + 1
    for i in range(lo, hi):
        bins[i] = -1
        if w[i] > 0.0:
            b = 0
            for a in range(d):
                b = b * side + np.searchsorted(edges[a], X[i, a])
            bins[i] = b
            sums[b, 0] += 1.0
            sums[b, 1] += w[i]
            for a in range(d):
                sums[b, 2 + a] += w[i] * X[i, a]


def condense(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Stand-ins for a large number of residents: means of bins up to three dimensions, beyond that a sample.

    Half of a map's bin edges divide the range evenly and half the population, so that neither a far-off farm nor the
    old town is lost in one bin. Residents in bins of a few stand for themselves: a large t is decided by them. A sample
    keeps, besides every m-th resident, those farthest from the middle.
    """
    n, d = X.shape
    if d not in BINS:
        return _thin(X, weights, 20_000)
    sample = X[:: max(1, n // 50_000)]
    share = np.linspace(0.0, 1.0, BINS[d] // 2 + 2)[1:-1]
    edges = np.array(
        [
            np.sort(np.concatenate([np.quantile(column, share), low + share * (high - low)]))
            for column, low, high in zip(sample.T, X.min(axis=0), X.max(axis=0), strict=True)
        ]
    )
    parts = np.zeros((PARTS, (edges.shape[1] + 1) ** d, 2 + d))
    bins = np.empty(n, np.int32)
    size = -(-n // PARTS)

    def run(rows: slice) -> None:
        _add_to_bins(X, weights, edges, rows.start, rows.stop, bins, parts[rows.start // size])

    in_parallel(run, n, size)
    sums = parts.sum(axis=0)
    few = (sums[:, 0] > 0) & (sums[:, 0] <= FEW)
    alone = np.flatnonzero(few[bins] & (bins >= 0))
    many = sums[sums[:, 0] > FEW]
    return np.vstack([many[:, 2:] / many[:, 1:2], X[alone]]), np.concatenate([many[:, 1], weights[alone]])


def _thin(X: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """Every m-th resident with m times the weight, and the farthest from the middle with their own."""
    every = max(1, len(X) // count)
    middle = np.average(X[::every], axis=0, weights=weights[::every] + 1e-300)
    f = np.zeros(len(X))
    for axis in range(X.shape[1]):
        f += (X[:, axis] - middle[axis]) ** 2
    far = np.argpartition(np.where(weights > 0, f, -1.0), -count // 20)[-count // 20 :]
    far = far[(far % every) != 0]
    points, thinned = (
        np.vstack([X[::every], X[far]]),
        np.concatenate([weights[::every] * every, weights[far]]),
    )
    return np.ascontiguousarray(points[thinned > 0]), thinned[thinned > 0]
