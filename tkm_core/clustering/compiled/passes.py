"""Compiled passes over all residents: the nearest facility of each, and the sums that a step is made of.

``objective`` holds the same formulas in plain NumPy; the tests compare the two.
"""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.kernel import by_address, inner, kernel
from tkm_core.clustering.compiled.powers import BLOCK, power, series
from tkm_core.clustering.compiled.records import CITY, LABELS, TABLE
from tkm_core.clustering.compiled.rows import (
    apart,
    filled,
    floats,
    integers,
    square_apart,
    table,
    zeros,
)

# z = t f stays below this in the whole data: exp(z) - 1 by its series, exact where t f is tiny
SMALL_Z = 0.5
DIRECT_Z = (
    50.0  # up to this t f the powers e^{t f} are added up as they are: their rounding stays below LOG_NOISE
)
KEPT = 0.1  # share of a sum that must be left if it is found by taking away
WIDE = 16  # columns beyond which second moments cost more than they save
NEAREST = types.void(CITY[0], TABLE, types.int64, types.int64, LABELS, types.float64[::1])
call_nearest = by_address(NEAREST)


@inner
def _powers(f, labels, tops, t, small, first, row, m, e, work):
    """e^{t (f - top)}, or e^{t f} - 1 if ``small``, of m <= BLOCK rows from ``row`` on; f begins at row ``first``.

    Loops that the compiler turns into vector instructions: four times as fast as calls of exp.
    """
    at = row - first
    if small:
        for i in range(m):
            z = t * f[at + i]
            e[i] = z * series(z)
        return
    for i in range(m):
        work[i] = t * (f[at + i] - tops[labels[row + i]])
    for i in range(m):
        e[i] = power(min(max(work[i], -708.0), DIRECT_Z))  # more only where nobody lives


@kernel(heavy=True)
def find_nearest(X, centers, lo, hi, labels, f):
    """Nearest centre and squared distance of rows lo..hi, into labels[lo:hi] and f[0:hi-lo]."""
    k, d = centers.shape
    if d > WIDE:  # a block with its columns as rows would no longer fit into the processor's cache
        for i in range(lo, hi):
            nearest = np.inf
            labels[i] = 0
            for j in range(k):
                away = square_apart(X, i, centers[j])
                if away < nearest:
                    nearest = away
                    labels[i] = j
            f[i - lo] = nearest
        return
    xb = table(d, BLOCK)
    acc = floats(BLOCK)
    best = floats(BLOCK)
    which = integers(BLOCK)
    for start in range(lo, hi, BLOCK):
        m = min(BLOCK, hi - start)
        for i in range(m):
            for q in range(d):
                xb[q, i] = X[start + i, q]
        for i in range(m):
            best[i] = np.inf
            which[i] = 0
        for j in range(k):
            if d == 2:
                c0 = centers[j, 0]
                c1 = centers[j, 1]
                for i in range(m):
                    a = xb[0, i] - c0
                    b = xb[1, i] - c1
                    acc[i] = a * a + b * b
            else:
                for i in range(m):
                    acc[i] = 0.0
                for q in range(d):
                    c = centers[j, q]
                    for i in range(m):
                        a = xb[q, i] - c
                        acc[i] += a * a
            for i in range(m):
                less = acc[i] < best[i]
                best[i] = acc[i] if less else best[i]
                which[i] = j if less else which[i]
        for i in range(m):
            labels[start + i] = which[i]
            f[start - lo + i] = best[i]


@kernel(heavy=True)
def sweep(city, centers, rule, lo, hi, before, labels, clusters, first, second):
    """One pass over rows lo..hi: ``labels``, and per cluster what a Newton step needs.

    ``clusters`` are ``records.CLUSTER``; ``first`` (k, d) and ``second`` (k, d²; no columns where the rule is
    ``wide``) take the moments of x - c under the tilted weights. ``before`` are the labels of the last pass, -1 if
    there was none. Returns the costliest row and its cost.
    """
    X, w = city
    t = rule.t
    k, d = centers.shape
    m = hi - lo
    f = floats(m)
    call_nearest(rule.nearest, (X, centers, lo, hi, labels, f))
    # what is added to lies in arrays of its own: the compiler then knows that nothing else changes with it
    tops = filled(k, -np.inf)
    moved = filled(k, 0.0)
    tilts = filled(
        k, 0.0
    )  # what the exponents are relative to: nothing where no e^{t f} is too large to be added up
    highest = 0.0
    for i in range(m):
        highest = max(highest, f[i])
    direct = rule.small or t * highest <= DIRECT_Z
    if not direct:
        for j in range(k):
            tilts[j] = -np.inf
        for i in range(m):
            if w[lo + i] > 0.0:
                tilts[labels[lo + i]] = max(tilts[labels[lo + i]], f[i])
    first_pass = before[lo] < 0
    changed = 0
    worst = -1
    worst_f = -1.0
    e = filled(BLOCK, 0.0)
    work = floats(BLOCK)
    x = floats(d)
    width = 3 + d if rule.wide else 3 + d + d * d
    totals = zeros(k, width)
    back = filled(k, 0.0)  # what a cluster's mass would gain if those who joined or left went back
    for start in range(lo, hi, BLOCK):
        part = min(BLOCK, hi - start)
        if t != np.inf:
            _powers(f, labels, tilts, t, rule.small, lo, start, part, e, work)
        for i in range(part):
            row = start + i
            weight = w[row]
            if weight <= 0.0:
                continue
            j = labels[row]
            q = weight * e[i]
            away = f[row - lo]
            tops[j] = max(tops[j], away)
            if away > worst_f:
                worst_f = away
                worst = row
            if before[row] != j:
                changed += 1
                moved[j] += 1.0
                if not first_pass:
                    left = before[row]
                    moved[left] += 1.0
                    if direct:
                        z = t * apart(X, row, centers, left)
                        back[j] -= q
                        back[left] += weight * (np.expm1(z) if rule.small else np.exp(z))
            totals[j, 0] += q
            totals[j, 1] += weight
            totals[j, 2] += weight * away
            if rule.small:
                q += weight
            if rule.wide and t > 0.0:
                continue
            if d == 2:
                x0 = X[row, 0] - centers[j, 0]
                x1 = X[row, 1] - centers[j, 1]
                totals[j, 3] += q * x0
                totals[j, 4] += q * x1
                totals[j, 5] += q * x0 * x0
                totals[j, 7] += q * x1 * x0
                totals[j, 8] += q * x1 * x1
                continue
            for a in range(d):
                x[a] = X[row, a] - centers[j, a]
                totals[j, 3 + a] += q * x[a]
            if not rule.wide:
                for a in range(d):
                    qx = q * x[a]
                    for b in range(a + 1):
                        totals[j, 3 + d + a * d + b] += qx * x[b]
    exact = direct
    for j in range(k):
        own = clusters[j]
        scale = np.exp(-t * tops[j]) if direct and not rule.small and tops[j] > 0.0 else 1.0
        own.top = tops[j]
        own.mass = totals[j, 0] * scale
        own.weight = totals[j, 1]
        own.cost = totals[j, 2]
        own.top_before = tops[j]
        own.mass_before = (totals[j, 0] + back[j]) * scale
        # where most of a sum is taken away again, too few digits are left
        if not KEPT * own.mass <= own.mass_before < np.inf or (moved[j] > 0.0 and tops[j] < 0.0):
            exact = False
        own.moved = moved[j]
        for a in range(d):
            first[j, a] = totals[j, 3 + a] * scale
        for a in range(width - 3 - d):
            second[j, a] = totals[j, 3 + d + a] * scale
    if changed == 0 or first_pass or exact:
        return worst, worst_f
    masses = filled(k, 0.0)
    tops = filled(k, -np.inf)
    for i in range(m):
        row = lo + i
        j = before[row]
        if labels[row] != j:
            f[i] = apart(X, row, centers, j)
        if w[row] > 0.0:
            tops[j] = max(tops[j], f[i])
    if t != np.inf:
        for start in range(lo, hi, BLOCK):
            part = min(BLOCK, hi - start)
            _powers(f, before, tops, t, rule.small, lo, start, part, e, work)
            for i in range(part):
                if w[start + i] > 0.0:
                    masses[before[start + i]] += w[start + i] * e[i]
    for j in range(k):
        clusters[j].top_before = tops[j]
        clusters[j].mass_before = masses[j]
    return worst, worst_f
