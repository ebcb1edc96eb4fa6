"""Compiled loops of the passes over rows: the moments of the cells of a grid, and what they sum up to at a setting."""

import numpy as np

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.rows import apart, floats, integers, table

BLOCK = 2048  # rows whose cells are found before anything is added to them
SOME = np.int64(256)  # cells whose two nearest facilities are found together


@inner
def _place(x, a, edges, first, slots, per_slot):
    """The number of edges of axis a below x; ``slots`` has those surely below, for each of many equal parts."""
    at = (x - first[a]) * per_slot[a]
    low = np.int64(slots[a, int(min(max(at, 0.0), slots.shape[1] - 1.0))])
    low += edges[a, low] < x  # mostly all there is to do: without a branch
    if edges[a, low] < x:
        high = edges.shape[1] - 1
        while low < high:
            middle = (low + high) // 2
            if edges[a, middle] < x:
                low = middle + 1
            else:
                high = middle
    return low


@inner
def _inside(X, lo, hi, frame, into):
    """Rows lo..hi in the solver's coordinates, with columns as rows; as ``Frame.inside``."""
    origin, factor, far = frame
    for a in range(X.shape[1]):
        for i in range(lo, hi):
            into[a, i - lo] = min(max((X[i, a] - origin[a]) * factor, -far), far)


@inner
def _bins(x, count, lookup, bins):
    """The cells of points, of which ``x`` has the columns as rows."""
    edges, first, slots, per_slot = lookup
    side = edges.shape[1]
    if x.shape[0] == 2:  # without a loop over axes it takes half of the time
        for i in range(count):
            place = _place(x[0, i], 0, edges, first, slots, per_slot)
            bins[i] = place * side + _place(x[1, i], 1, edges, first, slots, per_slot)
        return
    for i in range(count):
        cell = 0
        for a in range(x.shape[0]):
            cell = cell * side + _place(x[a, i], a, edges, first, slots, per_slot)
        bins[i] = cell


@kernel(heavy=True)
def find_bins(X, frame, lookup, bins):
    """The cell of every row."""
    x = table(X.shape[1], BLOCK)
    cells = integers(BLOCK)
    for start in range(0, X.shape[0], BLOCK):
        stop = min(X.shape[0], start + BLOCK)
        _inside(X, start, stop, frame, x)
        _bins(x, stop - start, lookup, cells)
        for i in range(start, stop):
            bins[i] = cells[i - start]


@inner
def _widen(X, w, lo, hi, low, high):
    """Widen a range so that it holds the rows lo..hi that count."""
    for i in range(lo, hi):
        if w[i] > 0.0:
            for a in range(X.shape[1]):
                low[a] = min(low[a], X[i, a])
                high[a] = max(high[a], X[i, a])


@kernel(heavy=True)
def add_moments(X, w, frame, lookup, middle, sums, low, high):
    """Add rows to the cells: number, weight, weighted coordinates from ``middle`` and their products (lower half).

    The range from ``low`` to ``high``, in the coordinates of the data, is widened where rows lie beyond it.
    """
    n, d = X.shape
    x = table(d, BLOCK)
    cells = integers(BLOCK)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        _inside(X, start, stop, frame, x)
        _bins(x, stop - start, lookup, cells)
        beyond = 0
        for a in range(d):
            for i in range(start, stop):
                beyond += (X[i, a] < low[a]) | (X[i, a] > high[a])
        if beyond > 0:
            _widen(X, w, start, stop, low, high)
        # in a loop of its own the processor fetches the sums of several cells at a time
        for i in range(stop - start):
            weight = w[start + i]
            if weight <= 0.0:
                continue
            own = sums[cells[i]]
            own[0] += 1.0
            own[1] += weight
            if d == 2:
                x0 = x[0, i] - middle[0]
                x1 = x[1, i] - middle[1]
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
                xa = x[a, i] - middle[a]
                wx = weight * xa
                own[2 + a] += wx
                for b in range(a + 1):
                    own[at] += wx * (x[b, i] - middle[b])
                    at += 1


@kernel(heavy=True)
def find_rows(X, w, frame, lookup, some, count, into, people, cells):
    """Copy the rows that lie in a cell of which there is ``some`` need behind the first ``count``; returns how many."""
    d = X.shape[1]
    x = table(d, BLOCK)
    bins = integers(BLOCK)
    for start in range(0, X.shape[0], BLOCK):
        stop = min(X.shape[0], start + BLOCK)
        _inside(X, start, stop, frame, x)
        _bins(x, stop - start, lookup, bins)
        for i in range(stop - start):
            if some[bins[i]] and w[start + i] > 0.0:
                for a in range(d):
                    into[count, a] = x[a, i]
                people[count] = w[start + i]
                cells[count] = bins[i]
                count += 1
    return count


@kernel(heavy=True)
def list_rows(cells, first, settings, ends, order):
    """The rows of each setting, one after the other; ``ends`` says where each one's rows end.

    ``settings`` from ``first[c]`` to ``first[c + 1]`` are those at which the rows of cell c are summed.
    """
    for i in range(cells.shape[0]):
        for at in range(first[cells[i]], first[cells[i] + 1]):
            ends[settings[at]] += 1
    total = 0
    for j in range(ends.shape[0]):
        total += ends[j]
        ends[j] = total - ends[j]
    for i in range(cells.shape[0]):
        for at in range(first[cells[i]], first[cells[i] + 1]):
            order[ends[settings[at]]] = i
            ends[settings[at]] += 1


@kernel(heavy=True)
def take_rows(X, w, order, into, people):
    """Copy some rows."""
    for i in range(order.shape[0]):
        for a in range(X.shape[1]):
            into[i, a] = X[order[i], a]
        people[i] = w[order[i]]


@inner
def _lowest(rows, i):
    """The lowest number of row i."""
    lowest = np.inf
    for a in range(rows.shape[1]):
        lowest = min(lowest, rows[i, a])
    return lowest


@kernel(heavy=True)
def note_farthest(X, w, labels, centers, far, rows):
    """Note, for each cluster and direction, the row that lies farthest out."""
    d = X.shape[1]
    sectors = far.shape[1]
    least = floats(far.shape[0])  # of each cluster: what is not farther changes nothing
    for j in range(far.shape[0]):
        least[j] = _lowest(far, j)
    for i in range(X.shape[0]):
        j = labels[i]
        f = apart(X, i, centers, j)
        if f <= least[j]:
            continue
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
            least[j] = _lowest(far, j)


@inner
def _two_nearest(points, start, count, centers, x, scratch, labels, others, least, next_):
    """The two nearest facilities of points from ``start`` on, and their squared distances, in loops over points.

    The compiler turns these into vector instructions; ``x`` (d, SOME) and ``scratch`` are room for it.
    """
    d = points.shape[1]
    for i in range(count):
        for a in range(d):
            x[a, i] = points[start + i, a]
        least[i] = np.inf
        next_[i] = np.inf
        labels[i] = 0
        others[i] = 0
    for j in range(centers.shape[0]):
        for i in range(count):
            scratch[i] = 0.0
        for a in range(d):
            c = centers[j, a]
            for i in range(count):
                away = x[a, i] - c
                scratch[i] += away * away
        for i in range(count):
            away = scratch[i]
            less = away < least[i]
            second = least[i] if less else away
            whose = labels[i] if less else j
            closer = second < next_[i]
            next_[i] = second if closer else next_[i]
            others[i] = whose if closer else others[i]
            least[i] = away if less else least[i]
            labels[i] = j if less else labels[i]


@kernel(heavy=True)
def judge_cells(cells, centers, t, labels, others, contested, f, lift, bound):
    """At one setting, for each cell: the two nearest facilities, whether a border may run through it, and its sums.

    ``cells`` are centre, half, mean, spread (d² columns) and reach. ``f`` is the squared distance of the mean, ``lift``
    the a of the formulas in ``cells.py``, ``bound`` what these leave out, both relative to e^{t f}; 0 at infinity.
    """
    centre, half, mean, spread, reach = cells
    d = centers.shape[1]
    x = table(d, SOME)
    scratch = floats(SOME)
    least = floats(SOME)
    next_ = floats(SOME)
    own = integers(SOME)
    other = integers(SOME)
    for start in range(0, centre.shape[0], SOME):
        count = min(SOME, centre.shape[0] - start)
        _two_nearest(centre, start, count, centers, x, scratch, own, other, least, next_)
        for i in range(count):
            contested[start + i] = np.sqrt(next_[i]) - np.sqrt(least[i]) < 2.0 * half[start + i]
            labels[start + i] = own[i]
            others[start + i] = other[i]
            f[start + i] = apart(mean, start + i, centers, own[i])
            lift[start + i] = 0.0
            bound[start + i] = 0.0
        if t == 0.0 or t == np.inf:
            continue
        for i in range(start, start + count):
            label = labels[i]
            variance = 0.0
            along = 0.0
            for a in range(d):
                variance += spread[i, a * d + a]
                u = mean[i, a] - centers[label, a]
                for b in range(d):
                    along += u * spread[i, a * d + b] * (mean[i, b] - centers[label, b])
            lift[i] = t * variance + 2.0 * t * t * along
            length = np.sqrt(f[i])
            z = min(t * reach[i] * (2.0 * length + reach[i]), 50.0)
            power = 1.0 + z + z * z if z < 1.0 else np.exp(z)  # the former is the larger, and mostly there
            bound[i] = z * z * z / 6.0 * power + t * t * variance * reach[i] * (2.0 * length + reach[i] / 2.0)


@kernel(heavy=True)
def sum_cells(cells, weight, centers, t, small, kept, labels, f, lift, powers, top, tops, totals):
    """Add up the cells that are kept: mass, weight, cost, first and second moments (lower half) of each cluster.

    ``powers`` are e^{t (f - top)}; they may be empty.
    """
    _, _, mean, spread, _ = cells
    d = centers.shape[1]
    u = floats(d)
    su = floats(d)
    known = powers.shape[0] > 0 and not small
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
            here = w * (powers[i] if known else np.exp(t * (f[i] - tops[j])))
            totals[j, 0] += here * (1.0 + lift[i])
        for a in range(d):
            totals[j, 3 + a] += here * ((1.0 + lift[i]) * u[a] + 2.0 * t * su[a])
            for b in range(a + 1):
                product = (1.0 + lift[i]) * u[a] * u[b] + spread[i, a * d + b]
                totals[j, 3 + d + a * d + b] += here * (product + 2.0 * t * (su[a] * u[b] + u[a] * su[b]))
    for j in range(totals.shape[0]):
        if known and tops[j] > -np.inf:
            scale = np.exp(t * (top - tops[j]))
            totals[j, 0] *= scale
            for a in range(3, totals.shape[1]):
                totals[j, a] *= scale
