"""The solver's compiled inner loops: one pass over all residents, and the descent made of such passes.

``objective`` holds the same formulas in plain NumPy; the tests hold the two against each other.
``python -m tkm_core.clustering.compiled`` compiles everything into the cache.
"""

import numpy as np
from numba import njit

from tkm_core.clustering.compiled.costs import log_noise, merit, objectives
from tkm_core.clustering.compiled.tilted_mean import exact_steps, members, newton_step, tilted_mean

# z = t f stays below this in the whole data: exp(z) - 1 by its series, exact where t f is tiny
SMALL_Z = 0.5
BLOCK = 256
# added to a number below 2^51 and taken away again: rounds it, and its last bits are the whole number
ROUND = 6755399441055744.0  # 1.5 * 2^52
BIAS = 1023 - 0x4338000000000000  # from those bits to the exponent of a power of two
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


@njit(nogil=True, cache=True)
def _series(r):
    """(e^r - 1) / r for |r| <= 0.5, to the last digit or two."""
    q = 1.0
    for i in range(14, 1, -1):
        q = 1.0 + r * (1.0 / i) * q
    return q


@njit(nogil=True, cache=True)
def _powers(f, labels, tops, t, small, lo, m, e, work):
    """e^{t (f - top)}, or e^{t f} - 1 if ``small``, of m <= BLOCK rows from lo on; f begins at its first row.

    Loops that the compiler turns into vector instructions: four times as fast as calls of exp.
    """
    if small:
        for i in range(m):
            z = t * f[i]
            e[i] = z * _series(z)
        return
    for i in range(m):
        work[i] = t * (f[i] - tops[labels[lo + i]])
    for i in range(m):
        z = min(max(work[i], -708.0), 0.0)  # above 0 only where nobody lives
        power = z * LOG2_E + ROUND
        work[i] = power
        power -= ROUND
        r = (z - power * LN2_HIGH) - power * LN2_LOW
        e[i] = 1.0 + r * _series(r)
    bits = work.view(np.int64)
    for i in range(m):
        bits[i] = (bits[i] + BIAS) << 52
    for i in range(m):
        e[i] *= work[i]


@njit(nogil=True, cache=True)
def _nearest_rows(X, C, lo, hi, labels, f):
    """Nearest centre and squared distance of rows lo..hi, into labels[lo:hi] and f[0:hi-lo]."""
    k, d = C.shape
    xb = np.empty((d, BLOCK))
    acc = np.empty(BLOCK)
    best = np.empty(BLOCK)
    which = np.empty(BLOCK, np.int32)
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
                c0 = C[j, 0]
                c1 = C[j, 1]
                for i in range(m):
                    a = xb[0, i] - c0
                    b = xb[1, i] - c1
                    acc[i] = a * a + b * b
            else:
                for i in range(m):
                    acc[i] = 0.0
                for q in range(d):
                    c = C[j, q]
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


@njit(nogil=True, cache=True)
def nearest(X, C):
    """Index of each row's nearest centre, and its squared distance."""
    labels = np.empty(X.shape[0], np.int32)
    f = np.empty(X.shape[0])
    _nearest_rows(X, C, 0, X.shape[0], labels, f)
    return labels, f


@njit(nogil=True, cache=True)
def sweep(X, w, C, t, small, lo, hi, old, labels, stats, moments):
    """One pass over rows lo..hi at centres C: labels, and per cluster what a Newton step needs.

    ``stats`` (k, 7): top (largest f), mass sum w e^{t (f - top)} (``small``: sum w (e^{t f} - 1)), weight,
    sum w f, top and mass for the labels ``old`` at the same centres, for the line search, and how many joined or left.
    ``moments`` (k, d + d²): first and second moments of x - c under the tilted weights. Returns the number of changed
    labels and the costliest row.
    """
    k, d = C.shape
    m = hi - lo
    f = np.empty(m)
    _nearest_rows(X, C, lo, hi, labels, f)
    # what is added to lies in arrays of its own: the compiler then knows that nothing else changes with it
    tops = np.full(k, -np.inf)
    moved = np.zeros(k)
    changed = 0
    worst = -1
    worst_f = -1.0
    for i in range(m):
        row = lo + i
        if w[row] <= 0.0:
            continue
        j = labels[row]
        tops[j] = max(tops[j], f[i])
        if f[i] > worst_f:
            worst_f = f[i]
            worst = row
        if old[row] != j:
            changed += 1
            moved[j] += 1.0
            if old[row] >= 0:
                moved[old[row]] += 1.0
    e = np.zeros(BLOCK)
    work = np.empty(BLOCK)
    x = np.empty(d)
    sums = np.zeros((k, 3 + d + d * d))
    for start in range(lo, hi, BLOCK):
        part = min(BLOCK, hi - start)
        if t != np.inf:
            _powers(f[start - lo :], labels, tops, t, small, start, part, e, work)
        for i in range(part):
            row = start + i
            weight = w[row]
            if weight <= 0.0:
                continue
            j = labels[row]
            own = sums[j]
            q = weight * e[i]
            own[0] += q
            own[1] += weight
            own[2] += weight * f[row - lo]
            if small:
                q += weight
            if d == 2:
                x0 = X[row, 0] - C[j, 0]
                x1 = X[row, 1] - C[j, 1]
                own[3] += q * x0
                own[4] += q * x1
                own[5] += q * x0 * x0
                own[7] += q * x1 * x0
                own[8] += q * x1 * x1
                continue
            for a in range(d):
                x[a] = X[row, a] - C[j, a]
                own[3 + a] += q * x[a]
            for a in range(d):
                qx = q * x[a]
                for b in range(a + 1):
                    own[3 + d + a * d + b] += qx * x[b]
    stats[:, 0] = tops
    stats[:, 1:4] = sums[:, :3]
    stats[:, 4] = tops
    stats[:, 5] = sums[:, 0]
    stats[:, 6] = moved
    moments[:] = sums[:, 3:]
    if changed == 0 or old[lo] < 0:
        return changed, worst, worst_f
    tops[:] = -np.inf
    for i in range(m):
        row = lo + i
        j = old[row]
        if labels[row] != j:
            f[i] = 0.0
            for a in range(d):
                f[i] += (X[row, a] - C[j, a]) ** 2
        if w[row] > 0.0:
            tops[j] = max(tops[j], f[i])
    masses = np.zeros(k)
    if t != np.inf:
        for start in range(lo, hi, BLOCK):
            part = min(BLOCK, hi - start)
            _powers(f[start - lo :], old, tops, t, small, start, part, e, work)
            for i in range(part):
                if w[start + i] > 0.0:
                    masses[old[start + i]] += w[start + i] * e[i]
    stats[:, 4] = tops
    stats[:, 5] = masses
    return changed, worst, worst_f


RETRY, NEXT, DONE = 0, 1, 2
EPS2 = 8e-31  # of the squared coordinates: what is nearer than that, four units of the last digit, may be rounding
HOPE = 5.0
# t f from which a Newton step is likely to overshoot: the exact tilted mean is taken at once
HOT_Z = 30.0
# kinds of a step
NONE, NEWTON, EXACT_OF_FAR, EXACT = 0.0, 1.0, 2.0, 3.0


@njit(nogil=True, cache=True)
def advance(X, w, old, labels, C, trial, step, line, stats, moments, worst, n_free, t, small, tol, first):
    """Judge the centres ``trial`` just swept; set the next ones.

    A cluster whose cost, for the labels it was stepped with, did not fall enough takes its exact tilted mean instead
    (RETRY), and stays where it is if that is no better: two retries for each at most. Otherwise the trial is accepted
    into ``C`` and the next steps are set (NEXT), or none is longer than ``tol`` times its cluster's radius (DONE).
    ``line`` (k, 7): cost, slope, kind of step, weight, the step that is left relative to the radius, 1 where ``C``
    is the exact tilted mean of the labels ``old`` (such a cluster rests until somebody joins or leaves), and 1 where
    the last step may have been rounding: of two such in a row the second is none.
    """
    k, d = C.shape
    retry = False
    noise = log_noise(t, small)
    if not first:
        for j in range(n_free):
            kind = line[j, 2]
            if kind == NONE or t == 0.0:
                continue
            new = merit(stats[j, 4], stats[j, 5], line[j, 3], 0.0, t, small)
            rounding = 1e-13 * stats[j, 4] + noise
            if kind == NEWTON:
                enough = new <= line[j, 0] + 1e-4 * line[j, 1] or -line[j, 1] <= rounding
            else:
                enough = new <= line[j, 0] + rounding
            if enough:
                continue
            retry = True
            if kind == EXACT:  # no better: stay
                trial[j] = C[j]
                line[j, 2] = NONE
            else:
                Xj, wj = members(X, w, old, j)
                trial[j] = tilted_mean(Xj, wj, C[j], t, 1e-3 * tol)
                line[j, 2] = EXACT
    if retry:
        return RETRY
    C[:] = trial
    for j in range(k):
        exact = line[j, 2] > NEWTON or (line[j, 2] == NONE and line[j, 5] == 1.0)
        line[j, 5] = 1.0 if exact and stats[j, 6] == 0.0 else 0.0
    line[:, 2] = NONE
    line[:, 4] = 0.0
    step[:] = 0.0
    hot = np.zeros(k, np.bool_)
    reopened = False
    for j in range(n_free):
        weight = stats[j, 2]
        if weight <= 0.0:
            # a facility nobody uses reopens at the costliest resident, one at a time
            if worst >= 0 and not reopened:
                gap = 0.0
                for a in range(d):
                    gap += (X[worst, a] - C[labels[worst], a]) ** 2
                if gap > EPS2 * (X[worst] * X[worst]).sum():
                    reopened = True
                    trial[j] = X[worst]
            continue
        top = stats[j, 0]
        if top <= 0.0:
            continue
        line[j, 0] = merit(top, stats[j, 1], weight, stats[j, 3], t, small)
        line[j, 3] = weight
        if t * top > HOT_Z and line[j, 5] == 1.0:
            continue
        if t < np.inf:
            mass = weight + stats[j, 1] if small else stats[j, 1]
            line[j, 1] = newton_step(mass, moments[j, :d], moments[j, d:], t, step[j])
            line[j, 2] = NEWTON
        # a step too short to be taken tells how near the end is; any other may overshoot
        if t * top > HOT_Z and (t == np.inf or (step[j] * step[j]).sum() > tol * tol * top):
            hot[j] = True
            step[j] = 0.0
            line[j, 1] = 0.0
            line[j, 2] = EXACT_OF_FAR
    if hot.any():
        exact_steps(X, w, labels, C, hot, stats[:, 0], t, 1e-3 * tol, step)
    for j in range(n_free):
        if line[j, 2] != NONE:
            trial[j] = C[j] + step[j]
            length2 = (step[j] * step[j]).sum()
            rounding = length2 <= EPS2 * (C[j] * C[j]).sum()
            if not (rounding and line[j, 6] == 1.0):
                line[j, 4] = np.sqrt(length2 / stats[j, 0])
            line[j, 6] = 1.0 if rounding else 0.0
    if line[:, 4].max() <= tol and not reopened:
        trial[:] = C
        return DONE
    return NEXT


@njit(nogil=True, cache=True)
def descend(X, w, C, n_free, t, small, max_iter, tol, labels, history, column, bar):
    """Nearest assignment and tilted means in turn from ``C`` (changed in place) until a fixed point.

    Returns the number of steps taken and the longest step that is left, relative to its cluster's radius;
    ``history`` (max_iter + 1, 3) takes city-wide cost, tilted SSE and SSE of each iterate. Gives up early where
    HOPE more falls like the last would leave that ``column`` of it above ``bar``.
    """
    k, d = C.shape
    old = np.full(X.shape[0], -1, np.int32)
    trial = C.copy()
    step = np.zeros((k, d))
    line = np.zeros((k, 7))
    stats = np.empty((k, 7))
    moments = np.empty((k, d + d * d))
    it = 0
    while True:
        _, worst, _ = sweep(X, w, trial, t, small, 0, X.shape[0], old, labels, stats, moments)
        state = advance(
            X, w, old, labels, C, trial, step, line, stats, moments, worst, n_free, t, small, tol, it == 0
        )
        if state == RETRY:
            continue
        history[it] = objectives(stats, t, small)
        if state == DONE or it == max_iter:
            return it, line[:, 4].max()
        if it > 1 and history[it, column] - HOPE * (history[it - 1, column] - history[it, column]) > bar:
            return it, line[:, 4].max()
        it += 1
        old[:] = labels


@njit(nogil=True, cache=True)
def descend_many(X, w, starts, n_free, t, small, max_iter, tol, values):
    """Descend from each of ``starts`` (r, k, d), in place; ``values`` (r, 3): the last of each history."""
    labels = np.empty(X.shape[0], np.int32)
    history = np.empty((max_iter + 1, 3))
    for r in range(starts.shape[0]):
        n_iter, _ = descend(X, w, starts[r], n_free, t, small, max_iter, tol, labels, history, 0, np.inf)
        values[r] = history[n_iter]
