"""Compiled loops of the passes over rows: the moments of the cells of a grid, and what they sum up to at a setting."""

import numpy as np

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.rows import apart, floats, integers

BLOCK = 2048  # rows whose cells are found before anything is added to them


@inner
def _place(x, a, edges, first, slots, per_slot):
    """Between which edges of axis a something lies; ``slots`` says it for each of many equal parts, or -1."""
    at = (x - first[a]) * per_slot[a]
    slot = slots.shape[1] - 1
    if at < slot:
        slot = int(at) if at > 0.0 else 0
    low = np.int64(slots[a, slot])
    if low < 0:
        low = 0
        high = edges.shape[1]
        while low < high:
            middle = (low + high) // 2
            if edges[a, middle] < x:
                low = middle + 1
            else:
                high = middle
    return low


@inner
def _bins(X, lo, hi, edges, first, slots, per_slot, bins):
    """The cells of rows lo..hi, into bins[0:hi-lo]."""
    side = edges.shape[1] + 1
    d = X.shape[1]
    if d == 2:  # without a loop over axes it takes half of the time
        for i in range(lo, hi):
            place = _place(X[i, 0], 0, edges, first, slots, per_slot)
            bins[i - lo] = place * side + _place(X[i, 1], 1, edges, first, slots, per_slot)
        return
    for i in range(lo, hi):
        cell = 0
        for a in range(d):
            cell = cell * side + _place(X[i, a], a, edges, first, slots, per_slot)
        bins[i - lo] = cell


@kernel(heavy=True)
def find_bins(X, edges, first, slots, per_slot, bins):
    """The cell of every row."""
    _bins(X, 0, X.shape[0], edges, first, slots, per_slot, bins)


@kernel(heavy=True)
def add_moments(X, w, edges, first, slots, per_slot, middle, sums):
    """Add rows to the cells: number, weight, weighted coordinates from ``middle`` and their products (lower half)."""
    n, d = X.shape
    x = floats(d)
    cells = integers(BLOCK)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        _bins(X, start, stop, edges, first, slots, per_slot, cells)
        # in a loop of its own the processor fetches the sums of several cells at a time
        for i in range(start, stop):
            weight = w[i]
            if weight <= 0.0:
                continue
            own = sums[cells[i - start]]
            own[0] += 1.0
            own[1] += weight
            if d == 2:
                x0 = X[i, 0] - middle[0]
                x1 = X[i, 1] - middle[1]
                w0 = weight * x0
                w1 = weight * x1
                own[2] += w0
                own[3] += w1
                own[4] += w0 * x0
                own[5] += w1 * x0
                own[6] += w1 * x1
                continue
            at = 2 + d
            for a in range(d):
                x[a] = X[i, a] - middle[a]
                wx = weight * x[a]
                own[2 + a] += wx
                for b in range(a + 1):
                    own[at] += wx * x[b]
                    at += 1


@kernel(heavy=True)
def find_rows(X, w, edges, first, slots, per_slot, some, rows, cells):
    """Which rows lie in a cell of which there is ``some`` need, and in which; returns how many."""
    bins = integers(BLOCK)
    count = 0
    for start in range(0, X.shape[0], BLOCK):
        stop = min(X.shape[0], start + BLOCK)
        _bins(X, start, stop, edges, first, slots, per_slot, bins)
        for i in range(start, stop):
            rows[count] = i
            cells[count] = bins[i - start]
            count += some[bins[i - start]] and w[i] > 0.0
    return count


@kernel(heavy=True)
def take_rows(X, w, words, bit, into, people):
    """Copy the rows that have this bit; returns how many there are."""
    d = X.shape[1]
    word = bit // 64
    mask = np.uint64(1) << np.uint64(bit % 64)
    count = 0
    for i in range(X.shape[0]):
        for a in range(d):
            into[count, a] = X[i, a]
        people[count] = w[i]
        count += (words[i, word] & mask) != 0
    return count


@kernel(heavy=True)
def note_farthest(X, w, labels, centers, far, rows):
    """Note, for each cluster and direction, the row that lies farthest out."""
    d = X.shape[1]
    sectors = far.shape[1]
    for i in range(X.shape[0]):
        j = labels[i]
        f = apart(X, i, centers, j)
        if d == 2:
            turn = np.arctan2(X[i, 1] - centers[j, 1], X[i, 0] - centers[j, 0]) / (2.0 * np.pi) + 0.5
            sector = min(int(turn * sectors), sectors - 1)
        else:
            axis = 0
            for a in range(1, d):
                if abs(X[i, a] - centers[j, a]) > abs(X[i, axis] - centers[j, axis]):
                    axis = a
            sector = 2 * axis + (X[i, axis] > centers[j, axis])
        if f > far[j, sector]:
            far[j, sector] = f
            for a in range(d):
                rows[j, sector, a] = X[i, a]
            rows[j, sector, d] = w[i]


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
