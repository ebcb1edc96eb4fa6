"""Tilted means, compiled: Newton's step, the exact solution, the enclosing ball at infinite t."""

import numpy as np
from numba import njit

# beyond this t f the tilted mean and the centre of the enclosing ball agree to rounding
BALL_Z = 1e11
# t f from which that centre is where to begin
NEAR_BALL_Z = 60.0
# of a ball's squared radius: of two points nearer to each other than that one is enough on its surface
TWIN2 = 1e-14
# of a tilted mean, at most: down by factors of 16 and up by factors of 4 it needs about six
STAGES = 100


@njit(nogil=True, cache=True)
def newton_step(mass, first, second, t, step):
    """Newton's step (I + 2 t S)^{-1} (m - c); returns the slope of the cluster's cost along it."""
    d = first.shape[0]
    g = first / mass
    if t == 0.0:
        step[:] = g
        return -2.0 * np.dot(g, g)
    # Cholesky's pivots of I + 2 t S are 1 or more: less is rounding
    if d == 2:
        a = max(1.0 + 2.0 * t * (second[0] / mass - g[0] * g[0]), 1.0)
        b = 2.0 * t * (second[2] / mass - g[0] * g[1])
        c = max(1.0 + 2.0 * t * (second[3] / mass - g[1] * g[1]) - b / a * b, 1.0)
        step[1] = (g[1] - b / a * g[0]) / c
        step[0] = (g[0] - b * step[1]) / a
        return -2.0 * np.dot(g, step)
    L = np.zeros((d, d))
    pivot = np.empty(d)
    for a in range(d):
        for b in range(a + 1):
            v = 2.0 * t * (second[a * d + b] / mass - g[a] * g[b])
            for q in range(b):
                v -= L[a, q] * L[b, q] * pivot[q]
            if b < a:
                L[a, b] = v / pivot[b]
            else:
                pivot[a] = max(1.0 + v, 1.0)
    step[:] = g
    for a in range(d):
        for q in range(a):
            step[a] -= L[a, q] * step[q]
    for a in range(d - 1, -1, -1):
        step[a] /= pivot[a]
        for q in range(a + 1, d):
            step[a] -= L[q, a] * step[q]
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
def _has_twin(X, i, support, size, apart):
    """Whether a point of the support is so near to row i that the two make no simplex."""
    nearest = np.inf
    for a in range(size):
        nearest = min(nearest, ((X[i] - X[support[a]]) ** 2).sum())
    return nearest <= apart


@njit(nogil=True, cache=True)
def enclosing_ball(points, start):
    """Centre of the minimum enclosing ball of the rows of ``points``, in any dimension.

    Walks from ``start`` towards the circumcentre of the farthest points, as Fischer, Gaertner and Kutz
    (Fast smallest-enclosing-ball computation in high dimensions, ESA 2003) do.
    """
    n, d = points.shape
    # about the first point, and from within the points: then no digit is lost on how far they are from the origin
    X = points - points[0]
    c = start - points[0]
    for a in range(d):
        c[a] = min(max(c[a], X[:, a].min()), X[:, a].max())
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
    arrived = False
    for _ in range(20 * (d + 2)):
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
            # the point of the hull nearest to c is where the walk ends: it is as far from all of the support
            lam = np.linalg.lstsq(QT, c - base)[0]
            target = base + QT @ lam
            coef[1:] = lam
            coef[0] = 1.0 - lam.sum()
        delta = target - c
        dist2 = (delta * delta).sum()
        # a support that spans the space has its circumcentre where we stand
        if arrived or size == d + 1 or dist2 <= 1e-24 * scale:
            arrived = False
            worst = 0
            for a in range(size):
                if coef[a] < coef[worst]:
                    worst = a
            if coef[worst] >= -1e-12 or size == 1:
                return target + points[0]
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
                if s < fraction and not _has_twin(X, i, support, size, TWIN2 * scale):
                    fraction = max(s, 0.0)
                    hit = i
        c = c + fraction * delta
        arrived = hit < 0
        if hit >= 0:
            support[size] = hit
            size += 1
    return c + points[0]


@njit(nogil=True, cache=True)
def tilted_mean(X, w, start, t, goal):
    """The tilted mean of one cluster, the root of sum w e^{t f} (x - c) = 0, to ``goal`` times its radius.

    Newton with line search, where t is large from the centre of the enclosing ball: there the farthest are equally far.
    Elsewhere, where one resident holds all the weight, a step overshoots: then t is lowered until a step fits
    (3 / radius² always does) and raised again, four times at each stage, as interior-point methods do.
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
    if t * top > NEAR_BALL_Z:
        c = enclosing_ball(X, start)
        stage = t
        rising = True
    for _stage in range(STAGES):
        final = stage >= t
        enough = goal if final else max(goal, 1e-2)
        top, mass = _cluster_sums(X, w, c, stage, moments)
        overshot = False
        for _ in range(60):
            slope = newton_step(mass, moments[:d], moments[d:], stage, step)
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
    return c


@njit(nogil=True, cache=True)
def members(X, w, labels, j):
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
def exact_steps(X, w, labels, C, hot, tops, t, goal, step):
    """Steps to the tilted means of the ``hot`` clusters, from the few residents who have weight there.

    While a facility moves by at most s, a resident nearer than radius - 2 s - 22.5 / (t radius) stays below
    about e^-40 of the farthest one's weight. A longer move is solved again with everyone.
    """
    k, d = C.shape
    room = 0.1
    cut = np.full(k, np.inf)
    for j in range(k):
        if hot[j]:
            radius = np.sqrt(tops[j])
            cut[j] = radius * (1.0 - 2.0 * room) - 22.5 / (t * radius)
    rows = _far_rows(X, w, labels, C, cut)
    ends = np.zeros(k + 1, np.int64)  # rows of cluster j go to ends[j]..ends[j + 1]
    for r in rows:
        ends[labels[r] + 1] += 1
    ends = np.cumsum(ends)
    places = ends[:k].copy()
    far = np.empty((rows.shape[0], d))
    far_w = np.empty(rows.shape[0])
    for r in rows:
        at = places[labels[r]]
        far[at] = X[r]
        far_w[at] = w[r]
        places[labels[r]] += 1
    for j in range(k):
        if not hot[j]:
            continue
        step[j] = tilted_mean(far[ends[j] : ends[j + 1]], far_w[ends[j] : ends[j + 1]], C[j], t, goal) - C[j]
        if (step[j] * step[j]).sum() > room * room * tops[j]:
            Xj, wj = members(X, w, labels, j)
            step[j] = tilted_mean(Xj, wj, C[j], t, goal) - C[j]
