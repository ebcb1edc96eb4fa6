"""The solver's compiled inner loops: one pass over residents, tilted means, descent.

``objective`` holds the same formulas in plain NumPy; the tests hold the two against each other.
Running this module (``python -m tkm_core.kernels``) compiles everything into the cache.
"""

import numpy as np
from numba import njit

# z = t f stays below this in the whole data: exp(z) - 1 by its series, exact where t f is tiny
SMALL_Z = 0.5
# beyond this t f the tilted mean and the centre of the enclosing ball agree to rounding
BALL_Z = 1e11
BLOCK = 256


@njit(nogil=True, cache=True)
def _expm1_small(z):
    """exp(z) - 1 for 0 <= z <= 0.5, to the last digit or two."""
    q = 1.0
    for i in range(14, 1, -1):
        q = 1.0 + z / i * q
    return z * q


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

    ``stats`` (k, 6): top (largest f), mass sum w e^{t (f - top)} (``small``: sum w (e^{t f} - 1)), weight, sum w f,
    and top and mass for the labels ``old`` at the same centres, for the line search. ``moments`` (k, d + d²): first and
    second moments of x - c under the tilted weights. Returns the number of changed labels and the costliest row.
    """
    k, d = C.shape
    m = hi - lo
    f = np.empty(m)
    _nearest_rows(X, C, lo, hi, labels, f)
    stats[:] = 0.0
    stats[:, 0] = -np.inf
    stats[:, 4] = -np.inf
    moments[:] = 0.0
    changed = 0
    worst = -1
    worst_f = -1.0
    for i in range(m):
        row = lo + i
        if w[row] <= 0.0:
            continue
        j = labels[row]
        stats[j, 0] = max(stats[j, 0], f[i])
        if f[i] > worst_f:
            worst_f = f[i]
            worst = row
        if old[row] != j:
            changed += 1
    compare = changed > 0 and m > 0 and old[lo] >= 0
    x = np.empty(d)
    for i in range(m):
        row = lo + i
        if w[row] <= 0.0:
            continue
        j = labels[row]
        z = t * f[i]
        if small:
            q = w[row] * _expm1_small(z)
            e = w[row] + q
            stats[j, 1] += q
        elif t == np.inf:
            e = 0.0
        else:
            e = w[row] * np.exp(z - t * stats[j, 0])
            stats[j, 1] += e
        stats[j, 2] += w[row]
        stats[j, 3] += w[row] * f[i]
        for a in range(d):
            x[a] = X[row, a] - C[j, a]
            moments[j, a] += e * x[a]
        for a in range(d):
            ex = e * x[a]
            for b in range(a + 1):
                moments[j, d + a * d + b] += ex * x[b]
    if not compare:
        stats[:, 4] = stats[:, 0]
        stats[:, 5] = stats[:, 1]
        return changed, worst, worst_f
    for i in range(m):
        row = lo + i
        j = old[row]
        if labels[row] != j:
            f[i] = 0.0
            for a in range(d):
                f[i] += (X[row, a] - C[j, a]) ** 2
        if w[row] > 0.0:
            stats[j, 4] = max(stats[j, 4], f[i])
    for i in range(m):
        row = lo + i
        if w[row] > 0.0:
            j = old[row]
            if small:
                stats[j, 5] += w[row] * _expm1_small(t * f[i])
            elif t != np.inf:
                stats[j, 5] += w[row] * np.exp(t * (f[i] - stats[j, 4]))
    return changed, worst, worst_f


@njit(nogil=True, cache=True)
def merit(top, mass, weight, total_f, t, small):
    """Tilted mean cost (1/t) log(sum w e^{t f} / weight) of one cluster, from its sums."""
    if weight <= 0.0:
        return 0.0
    if t == 0.0:
        return total_f / weight
    if t == np.inf:
        return top
    if small:
        return np.log1p(mass / weight) / t
    return top + np.log(mass / weight) / t


@njit(nogil=True, cache=True)
def objectives(stats, t, small):
    """City-wide cost, tilted SSE and SSE from the sums of all clusters."""
    k = stats.shape[0]
    total = stats[:, 2].sum()
    sse = stats[:, 3].sum() / total
    if t == 0.0:
        return sse, sse, sse
    city_top = stats[:, 0].max()
    if t == np.inf:
        tilted = 0.0
        for j in range(k):
            tilted += max(stats[j, 0], 0.0)
        return city_top, tilted, sse
    tilted = 0.0
    city = 0.0
    for j in range(k):
        if stats[j, 2] <= 0.0:
            continue
        if small:
            city += stats[j, 1]
            tilted += np.log1p(stats[j, 1] / total) / t
        else:
            city += stats[j, 1] * np.exp(t * (stats[j, 0] - city_top))
            # non-members enter as e^0 = 1: W - W_j of them
            inside = stats[j, 1] + (total - stats[j, 2]) * np.exp(-t * stats[j, 0])
            tilted += stats[j, 0] + np.log(inside / total) / t
    if small:
        return np.log1p(city / total) / t, tilted, sse
    return city_top + np.log(city / total) / t, tilted, sse


@njit(nogil=True, cache=True)
def _newton_step(mass, first, second, t, step):
    """step = (I + 2 t S)^{-1} (m - c); returns the slope of the cluster's cost along it."""
    d = first.shape[0]
    g = first / mass
    if t == 0.0:
        step[:] = g
        return -2.0 * np.dot(g, g)
    if d == 2:
        a = 1.0 + 2.0 * t * (second[0] / mass - g[0] * g[0])
        b = 2.0 * t * (second[2] / mass - g[0] * g[1])
        c = 1.0 + 2.0 * t * (second[3] / mass - g[1] * g[1])
        det = a * c - b * b
        if det > 0.0:
            step[0] = (c * g[0] - b * g[1]) / det
            step[1] = (a * g[1] - b * g[0]) / det
        else:
            step[:] = g / max(a, c)
    else:
        H = np.empty((d, d))
        for a in range(d):
            for b in range(a + 1):
                v = 2.0 * t * (second[a * d + b] / mass - g[a] * g[b])
                H[a, b] = v
                H[b, a] = v
            H[a, a] = max(H[a, a], 0.0) + 1.0
        step[:] = np.linalg.solve(H, g)
    return -2.0 * np.dot(g, step)


@njit(nogil=True, cache=True)
def _cluster_sums(X, w, c, t, moments):
    """Top, mass and moments of one cluster at centre c."""
    n, d = X.shape
    top = -1.0
    f = np.empty(n)
    for i in range(n):
        s = 0.0
        for a in range(d):
            s += (X[i, a] - c[a]) ** 2
        f[i] = s
        top = max(top, s)
    moments[:] = 0.0
    mass = 0.0
    for i in range(n):
        z = t * (f[i] - top)
        if z < -45.0:  # below the last digit of the sums
            continue
        e = w[i] * np.exp(z)
        mass += e
        for a in range(d):
            ea = e * (X[i, a] - c[a])
            moments[a] += ea
            for b in range(a + 1):
                moments[d + a * d + b] += ea * (X[i, b] - c[b])
    return top, mass


@njit(nogil=True, cache=True)
def enclosing_ball(X, start):
    """Centre of the minimum enclosing ball of the rows of X, in any dimension.

    Walks from ``start`` towards the circumcentre of the farthest points, as Fischer, Gaertner and Kutz
    (Fast smallest-enclosing-ball computation in high dimensions, ESA 2003) do.
    """
    n, d = X.shape
    c = start.copy()
    support = np.empty(d + 2, np.int64)
    far = 0
    far_f = -1.0
    for i in range(n):
        s = ((X[i] - c) ** 2).sum()
        if s > far_f:
            far_f = s
            far = i
    support[0] = far
    size = 1
    for _ in range(100 * (d + 2)):
        r2 = ((X[support[0]] - c) ** 2).sum()
        scale = max(r2, 1e-300)
        # circumcentre of the support's affine hull, as coefficients of its points
        base = X[support[0]]
        target = base.copy()
        coef = np.ones(size)
        if size > 1:
            Q = np.empty((size - 1, d))
            for a in range(size - 1):
                Q[a] = X[support[a + 1]] - base
            QT = np.ascontiguousarray(Q.T)
            G = Q @ QT
            # the point of the hull nearest to c is where the walk ends: it is as far from all of the support
            lam = np.linalg.lstsq(G, Q @ (c - base))[0]
            target = base + QT @ lam
            coef[1:] = lam
            coef[0] = 1.0 - lam.sum()
        delta = target - c
        dist2 = (delta * delta).sum()
        if dist2 <= 1e-28 * scale:
            worst = 0
            for a in range(size):
                if coef[a] < coef[worst]:
                    worst = a
            if coef[worst] >= -1e-12 or size == 1:
                return target
            size -= 1
            support[worst] = support[size]
            continue
        # first point hit on the way from c to target
        fraction = 1.0
        hit = -1
        for i in range(n):
            inside = False
            for a in range(size):
                if support[a] == i:
                    inside = True
            if inside:
                continue
            gap = 0.0
            along = 0.0
            own = 0.0
            for a in range(d):
                u = X[i, a] - c[a]
                v = base[a] - c[a]
                own += u * u
                gap += v * v
                along += (base[a] - X[i, a]) * delta[a]
            gap -= own
            # |x - c - s delta|² = |base - c - s delta|² at s = gap / (2 along)
            if along > 1e-14 * scale:
                s = gap / (2.0 * along)
                if s < fraction:
                    fraction = max(s, 0.0)
                    hit = i
        c = c + fraction * delta
        if hit >= 0:
            if size == d + 1:
                worst = 0
                for a in range(size):
                    if coef[a] < coef[worst]:
                        worst = a
                support[worst] = hit
            else:
                support[size] = hit
                size += 1
    return c


@njit(nogil=True, cache=True)
def tilted_mean(X, w, start, t, goal):
    """The tilted mean of one cluster, the root of sum w e^{t f} (x - c) = 0, to ``goal`` times its radius.

    Newton with line search. Where one resident holds all the weight a step overshoots: then t is lowered until a step
    fits (3 / radius² always does) and raised again, four times at each stage, as interior-point methods do.
    """
    n, d = X.shape
    if n == 1:
        return X[0].copy()
    if t == 0.0:
        c = np.zeros(d)
        for i in range(n):
            c += w[i] * X[i]
        return c / w.sum()
    moments = np.empty(d + d * d)
    trial_moments = np.empty(d + d * d)
    step = np.empty(d)
    c = start.copy()
    top, mass = _cluster_sums(X, w, c, 0.0, moments)
    if top <= 0.0:
        return c
    if t * top > BALL_Z:
        return enclosing_ball(X, start)
    lowest = min(t, 3.0 / top)
    stage = max(0.25 * t, lowest)
    rising = False
    while True:
        final = stage >= t
        enough = goal if final else max(goal, 1e-2)
        top, mass = _cluster_sums(X, w, c, stage, moments)
        overshot = False
        for _ in range(60):
            slope = _newton_step(mass, moments[:d], moments[d:], stage, step)
            length = np.sqrt((step * step).sum())
            cost = top + np.log(mass) / stage
            alpha = 1.0
            moved = False
            for _half in range(40):
                trial = c + alpha * step
                new_top, new_mass = _cluster_sums(X, w, trial, stage, trial_moments)
                new_cost = new_top + np.log(new_mass) / stage
                if new_cost <= cost + 1e-4 * alpha * slope or -alpha * slope <= 1e-13 * top:
                    moved = True
                    break
                alpha *= 0.5
                if not rising and stage > lowest and alpha < 0.2:
                    overshot = True
                    break
            if overshot or not moved:
                break
            c = trial
            top = new_top
            mass = new_mass
            moments[:] = trial_moments
            if alpha * length <= enough * np.sqrt(top):
                break
        if overshot:
            stage = max(stage / 16.0, lowest)
            continue
        if final:
            return c
        rising = True
        stage = min(t, 4.0 * stage)


@njit(nogil=True, cache=True)
def _members(X, w, labels, j):
    """The rows of cluster j that have weight, and their weights."""
    n, d = X.shape
    count = 0
    for i in range(n):
        if labels[i] == j and w[i] > 0.0:
            count += 1
    Xj = np.empty((count, d))
    wj = np.empty(count)
    count = 0
    for i in range(n):
        if labels[i] == j and w[i] > 0.0:
            Xj[count] = X[i]
            wj[count] = w[i]
            count += 1
    return Xj, wj


@njit(nogil=True, cache=True)
def _far_rows(X, w, labels, C, cut):
    """Rows at least cut[j] from their facility j; an infinite cut leaves a cluster out."""
    d = X.shape[1]
    found = np.empty(1024, np.int64)
    count = 0
    for i in range(X.shape[0]):
        j = labels[i]
        if cut[j] == np.inf or w[i] <= 0.0:
            continue
        f = 0.0
        for a in range(d):
            f += (X[i, a] - C[j, a]) ** 2
        if f >= cut[j] * abs(cut[j]):
            if count == found.shape[0]:
                wider = np.empty(2 * count, np.int64)
                wider[:count] = found
                found = wider
            found[count] = i
            count += 1
    return found[:count]


@njit(nogil=True, cache=True)
def _exact_steps(X, w, labels, C, hot, tops, t, goal, step):
    """Steps to the tilted means of the ``hot`` clusters, from the few residents who have weight there.

    While a facility moves by at most s, a resident nearer than radius - 2 s - 30 / (t radius) stays below e^-60 of the
    farthest one's weight. A longer move is solved again with everyone.
    """
    k, d = C.shape
    room = 0.1
    cut = np.full(k, np.inf)
    for j in range(k):
        if hot[j]:
            radius = np.sqrt(tops[j])
            cut[j] = radius * (1.0 - 2.0 * room) - 30.0 / (t * radius)
    rows = _far_rows(X, w, labels, C, cut)
    for j in range(k):
        if not hot[j]:
            continue
        count = 0
        for r in rows:
            if labels[r] == j:
                count += 1
        Xj = np.empty((count, d))
        wj = np.empty(count)
        count = 0
        for r in rows:
            if labels[r] == j:
                Xj[count] = X[r]
                wj[count] = w[r]
                count += 1
        step[j] = tilted_mean(Xj, wj, C[j], t, goal) - C[j]
        if (step[j] * step[j]).sum() > room * room * tops[j]:
            Xj, wj = _members(X, w, labels, j)
            step[j] = tilted_mean(Xj, wj, C[j], t, goal) - C[j]


RETRY, NEXT, DONE = 0, 1, 2
# t f from which a Newton step is likely to overshoot: the exact tilted mean is taken at once
HOT_Z = 100.0
# step fractions that mark an exact tilted mean
EXACT_OF_FAR, EXACT = -1.0, -2.0


@njit(nogil=True, cache=True)
def advance(X, w, old, labels, C, trial, step, line, stats, moments, worst, n_free, t, small, tol, first):
    """Judge the centres ``trial`` just swept; set the next ones.

    A cluster whose cost, for the labels it was stepped with, did not fall enough takes a shorter step (RETRY), and after
    two of these its exact tilted mean. Otherwise the trial is accepted into ``C`` and the next steps are set (NEXT), or
    none is longer than ``tol`` times its cluster's radius (DONE). ``line`` (k, 5): cost, slope, step fraction, weight,
    and the step that is left relative to the radius.
    """
    k, d = C.shape
    retry = False
    if not first:
        for j in range(n_free):
            alpha = line[j, 2]
            if alpha == 0.0 or t == 0.0:
                continue
            new = merit(stats[j, 4], stats[j, 5], line[j, 3], 0.0, t, small)
            rounding = 1e-13 * stats[j, 4]
            if new <= line[j, 0] + 1e-4 * max(alpha, 0.0) * line[j, 1]:
                continue
            if alpha > 0.0 and -alpha * line[j, 1] <= rounding:
                continue
            retry = True
            if alpha > 0.3:
                line[j, 2] = 0.5 * alpha
                trial[j] = C[j] + line[j, 2] * step[j]
            elif alpha > EXACT:
                Xj, wj = _members(X, w, old, j)
                trial[j] = tilted_mean(Xj, wj, C[j], t, 1e-3 * tol)
                line[j, 2] = EXACT
            else:  # the exact mean is no better to rounding: stay
                trial[j] = C[j]
                line[j, 2] = 0.0
    if retry:
        return RETRY
    C[:] = trial
    line[:, 2] = 0.0
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
                if gap > 0.0:
                    reopened = True
                    trial[j] = X[worst]
            continue
        top = stats[j, 0]
        if top <= 0.0:
            continue
        line[j, 0] = merit(top, stats[j, 1], weight, stats[j, 3], t, small)
        line[j, 3] = weight
        if t * top > HOT_Z:
            hot[j] = True
            line[j, 1] = 0.0
            line[j, 2] = EXACT_OF_FAR
        else:
            mass = weight + stats[j, 1] if small else stats[j, 1]
            line[j, 1] = _newton_step(mass, moments[j, :d], moments[j, d:], t, step[j])
            line[j, 2] = 1.0
    if hot.any():
        _exact_steps(X, w, labels, C, hot, stats[:, 0], t, 1e-3 * tol, step)
    for j in range(n_free):
        if line[j, 2] != 0.0:
            trial[j] = C[j] + step[j]
            line[j, 4] = np.sqrt((step[j] * step[j]).sum() / stats[j, 0])
    if line[:, 4].max() <= tol and not reopened:
        trial[:] = C
        return DONE
    return NEXT


@njit(nogil=True, cache=True)
def descend(X, w, C, n_free, t, small, max_iter, tol, labels, history):
    """Nearest assignment and tilted means in turn from ``C`` (changed in place) until a fixed point.

    Returns the number of steps taken and the longest step that is left, relative to its cluster's radius; ``history``
    (max_iter + 1, 3) takes city-wide cost, tilted SSE and SSE of each iterate.
    """
    k, d = C.shape
    old = np.full(X.shape[0], -1, np.int32)
    trial = C.copy()
    step = np.zeros((k, d))
    line = np.zeros((k, 5))
    stats = np.empty((k, 6))
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
        it += 1
        old[:] = labels


@njit(nogil=True, cache=True)
def descend_many(X, w, starts, n_free, t, small, max_iter, tol, values):
    """Descend from each of ``starts`` (r, k, d), in place; ``values`` (r, 3) takes the last of each history."""
    labels = np.empty(X.shape[0], np.int32)
    history = np.empty((max_iter + 1, 3))
    for r in range(starts.shape[0]):
        n_iter, _ = descend(X, w, starts[r], n_free, t, small, max_iter, tol, labels, history)
        values[r] = history[n_iter]
