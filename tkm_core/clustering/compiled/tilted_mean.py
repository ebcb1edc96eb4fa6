"""Tilted means, compiled: Newton's step, the exact solution, the enclosing ball at infinite t."""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.kernel import by_address, inner, kernel
from tkm_core.clustering.compiled.powers import BLOCK, power
from tkm_core.clustering.compiled.records import TABLE
from tkm_core.clustering.compiled.rows import ONE, ZERO, apart, apart_from, floats, integers, square, table

# beyond this t f the tilted mean and the centre of the enclosing ball agree to rounding
BALL_Z = 1e11
# t f from which that centre is where to begin
NEAR_BALL_Z = 25.0
GOAL = 1e-2  # accuracy of a tilted mean, as a share of the tolerance of the descent
# of a ball's squared radius: of two points nearer to each other than that one is enough on its surface
TWIN2 = 1e-14
FLAT = 1e-13  # of its length: what is left of an edge of a simplex that lies in the span of the others
# of a tilted mean, at most: down by factors of 16 and up by factors of 4 it needs about six
STAGES = 100
# what is asked for: steps to the tilted mean of the far residents or of everyone; one step towards it
NOTHING, FAR, EVERYONE, TOWARDS = 0, 1, 2, 3

_ROW = types.float64[::1]
MEAN = types.void(TABLE, _ROW, _ROW, types.float64, types.float64, _ROW)
call_mean = by_address(MEAN)


@inner
def newton_step(mass, first, second, t, j, step):
    """Newton's step (I + 2 t S)^{-1} (m - c) of cluster j into step[j]; returns the slope of its cost along it."""
    d = first.shape[1]
    slope = 0.0
    if t == 0.0:
        for a in range(d):
            step[j, a] = first[j, a] / mass
            slope -= 2.0 * step[j, a] * step[j, a]
        return slope
    # Cholesky's pivots of I + 2 t S are 1 or more: less is rounding
    if d == 2:
        g0 = first[j, 0] / mass
        g1 = first[j, 1] / mass
        a0 = max(1.0 + 2.0 * t * (second[j, 0] / mass - g0 * g0), 1.0)
        b0 = 2.0 * t * (second[j, 2] / mass - g0 * g1)
        c0 = max(1.0 + 2.0 * t * (second[j, 3] / mass - g1 * g1) - b0 / a0 * b0, 1.0)
        step[j, 1] = (g1 - b0 / a0 * g0) / c0
        step[j, 0] = (g0 - b0 * step[j, 1]) / a0
        return -2.0 * (g0 * step[j, 0] + g1 * step[j, 1])
    L = table(d, d)
    g = floats(d)
    for a in range(d):
        g[a] = first[j, a] / mass
        step[j, a] = g[a]
        for b in range(a + 1):
            v = 2.0 * t * (second[j, a * d + b] / mass - g[a] * g[b])
            for q in range(b):
                v -= L[a, q] * L[b, q] * L[q, q]
            L[a, b] = v / L[b, b] if b < a else max(1.0 + v, 1.0)
    for a in range(d):
        for q in range(a):
            step[j, a] -= L[a, q] * step[j, q]
    for a in range(d - 1, -1, -1):
        step[j, a] /= L[a, a]
        for q in range(a + 1, d):
            step[j, a] -= L[q, a] * step[j, q]
        slope -= 2.0 * g[a] * step[j, a]
    return slope


@inner
def _cluster_sums(X, w, c, t, first, second):
    """Top, mass and moments of one cluster at centre c."""
    n, d = X.shape
    top = -1.0
    f = floats(n)
    for i in range(n):
        f[i] = apart_from(X, i, c)
        top = max(top, f[i])
    for a in range(d):
        first[0, a] = 0.0
        for b in range(d):
            second[0, a * d + b] = 0.0
    mass = 0.0
    # powers of a block at a time, in a loop that the compiler turns into vector instructions
    e = floats(BLOCK)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        for i in range(m):
            e[i] = w[start + i] * power(max(t * (f[start + i] - top), -700.0))
        for i in range(m):
            row = start + i
            q = e[i]
            mass += q
            if d == 2:
                x0 = X[row, 0] - c[0]
                x1 = X[row, 1] - c[1]
                first[0, 0] += q * x0
                first[0, 1] += q * x1
                second[0, 0] += q * x0 * x0
                second[0, 2] += q * x1 * x0
                second[0, 3] += q * x1 * x1
                continue
            for a in range(d):
                qa = q * (X[row, a] - c[a])
                first[0, a] += qa
                for b in range(a + 1):
                    second[0, a * d + b] += qa * (X[row, b] - c[b])
    return top, mass


@inner
def _has_twin(X, i, support, size, near):
    """Whether a point of the support is so near to row i that the two make no simplex."""
    nearest = np.inf
    for a in range(size):
        nearest = min(nearest, apart(X, i, X, support[a]))
    return nearest <= near


@inner
def _project(X, support, size, c, edges, R, coef, target):
    """The point of the support's affine hull nearest to c, and its coefficients; it is as far from all of the support.

    By Gram and Schmidt, twice over: orthogonal to the last digit.
    """
    d = X.shape[1]
    base = support[0]
    for q in range(d):
        target[q] = X[base, q]
    for a in range(size - 1):
        length = 0.0
        for q in range(d):
            edges[a, q] = X[support[a + 1], q] - X[base, q]
            length += edges[a, q] * edges[a, q]
        for b in range(a):
            R[b, a] = 0.0
        for _ in range(2):
            for b in range(a):
                along = 0.0
                for q in range(d):
                    along += edges[b, q] * edges[a, q]
                for q in range(d):
                    edges[a, q] -= along * edges[b, q]
                R[b, a] += along
        rest = 0.0
        for q in range(d):
            rest += edges[a, q] * edges[a, q]
        R[a, a] = np.sqrt(rest) if rest > FLAT * FLAT * length else 0.0
        along = 0.0
        for q in range(d):
            edges[a, q] = edges[a, q] / R[a, a] if R[a, a] > 0.0 else 0.0
            along += edges[a, q] * (c[q] - X[base, q])
        for q in range(d):
            target[q] += along * edges[a, q]
        coef[a + 1] = along
    coef[0] = 1.0
    for a in range(size - 2, -1, -1):
        for b in range(a + 1, size - 1):
            coef[a + 1] -= R[a, b] * coef[b + 1]
        coef[a + 1] = coef[a + 1] / R[a, a] if R[a, a] > 0.0 else 0.0
        coef[0] -= coef[a + 1]


@kernel
def enclosing_ball(points, start, c):
    """Centre of the minimum enclosing ball of the rows of ``points``, in any dimension, into ``c``.

    Walks from ``start`` towards the circumcentre of the farthest points, as Fischer, Gaertner and Kutz
    (Fast smallest-enclosing-ball computation in high dimensions, ESA 2003) do.
    """
    n, d = points.shape
    # about the first point, and from within the points: then no digit is lost on how far they are from the origin
    X = table(n, d)
    for a in range(d):
        low = 0.0
        high = 0.0
        for i in range(n):
            X[i, a] = points[i, a] - points[0, a]
            low = min(low, X[i, a])
            high = max(high, X[i, a])
        c[a] = min(max(start[a] - points[0, a], low), high)
    support = integers(d + 2)
    support[0] = 0
    target = floats(d)
    coef = floats(d + 2)
    edges = table(d + 1, d)
    R = table(d + 1, d + 1)
    far_f = -1.0
    for i in range(n):
        s = apart_from(X, i, c)
        if s > far_f:
            far_f = s
            support[0] = i
    size = ONE
    arrived = False
    for _ in range(20 * (d + 2)):
        _project(X, support, size, c, edges, R, coef, target)
        base = support[0]
        r2 = 0.0
        dist2 = 0.0
        for a in range(d):
            out = X[base, a] - c[a]
            left = target[a] - c[a]
            r2 += out * out
            dist2 += left * left
        scale = max(r2, 1e-300)
        # a support that spans the space has its circumcentre where we stand
        if arrived or size == d + 1 or dist2 <= 1e-24 * scale:
            arrived = False
            worst = 0
            for a in range(size):
                if coef[a] < coef[worst]:
                    worst = a
            if coef[worst] >= -1e-12 or size == 1:
                for a in range(d):
                    c[a] = target[a]
                break
            size -= 1
            support[worst] = support[size]
            continue
        # first point hit on the way from c to target
        fraction = 1.0
        hit = -1
        for i in range(n):
            inside = False
            for a in range(size):
                inside = inside or support[a] == i
            if inside:
                continue
            gap = 0.0
            along = 0.0
            own = 0.0
            for a in range(d):
                u = X[i, a] - c[a]
                v = X[base, a] - c[a]
                own += u * u
                gap += v * v
                along += (X[base, a] - X[i, a]) * (target[a] - c[a])
            gap -= own
            # |x - c - s delta|² = |base - c - s delta|² at s = gap / (2 along)
            if along > 1e-14 * scale:
                s = gap / (2.0 * along)
                if s < fraction and not _has_twin(X, i, support, size, TWIN2 * scale):
                    fraction = max(s, 0.0)
                    hit = i
        for a in range(d):
            c[a] += fraction * (target[a] - c[a])
        arrived = hit < 0
        if hit >= 0:
            support[size] = hit
            size += 1
    for a in range(d):
        c[a] += points[0, a]


@kernel(heavy=True)
def tilted_mean(X, w, start, t, goal, c):
    """The tilted mean of one cluster, the root of sum w e^{t f} (x - c) = 0, to ``goal`` times its radius, into ``c``.

    Newton with line search, where t is large from the centre of the enclosing ball: there the farthest are equally far.
    Elsewhere, where one resident holds all the weight, a step overshoots: then t is lowered until a step fits
    (3 / radius² always does) and raised again, four times at each stage, as interior-point methods do.
    """
    n, d = X.shape
    first = table(ONE, d)
    second = table(ONE, d * d)
    step = table(ONE, d)
    trial = floats(d)
    for a in range(d):
        c[a] = X[0, a] if n == 1 else start[a]
    top, mass = _cluster_sums(X, w, c, 0.0, first, second)
    if t == 0.0:
        for a in range(d):
            c[a] += first[0, a] / mass
    if top <= 0.0 or n == 1 or t == 0.0:
        return
    near_ball = t * top > NEAR_BALL_Z
    if near_ball:
        enclosing_ball(X, start, c)
    if t * top > BALL_Z:
        return
    lowest = min(t, 3.0 / top)
    stage = t if near_ball else max(0.25 * t, lowest)
    rising = near_ball
    for _stage in range(STAGES):
        final = stage >= t
        enough = goal if final else max(goal, 1e-2)
        top, mass = _cluster_sums(X, w, c, stage, first, second)
        overshot = False
        for _ in range(60):
            slope = newton_step(mass, first, second, stage, ZERO, step)
            length2 = square(step, ZERO)
            cost = top + np.log(mass) / stage
            alpha = 1.0
            moved = False
            for _half in range(40):
                for a in range(d):
                    trial[a] = c[a] + alpha * step[0, a]
                new_top, new_mass = _cluster_sums(X, w, trial, stage, first, second)
                if (
                    new_top + np.log(new_mass) / stage <= cost + 1e-4 * alpha * slope
                    or -alpha * slope <= 1e-13 * top
                ):
                    moved = True
                    break
                alpha *= 0.5
                if not rising and stage > lowest and alpha < 0.2:
                    overshot = True
                    break
            if overshot or not moved:
                break
            for a in range(d):
                c[a] = trial[a]
            top = new_top
            mass = new_mass
            if alpha * np.sqrt(length2) <= enough * np.sqrt(top):
                break
        if overshot:
            stage = max(stage / 16.0, lowest)
            continue
        if final:
            return
        rising = True
        stage = min(t, 4.0 * stage)


@inner
def gather(X, w, labels, centers, cuts, ends):
    """Rows with weight and f >= cuts[j] of their facility j, cluster after cluster: to ends[j]..ends[j + 1]."""
    n, d = X.shape
    k = centers.shape[0]
    for j in range(k + 1):
        ends[j] = 0
    rows = table(ZERO, d)
    weights = floats(ZERO)
    for filling in range(2):  # at first they are counted
        for i in range(n):
            j = labels[i]
            if cuts[j] == np.inf or w[i] <= 0.0:
                continue
            if cuts[j] <= 0.0 or apart(X, i, centers, j) >= cuts[j]:
                at = ends[j]
                ends[j] += 1
                if filling == 1:
                    weights[at] = w[i]
                    for a in range(d):
                        rows[at, a] = X[i, a]
        # each begins where the one before ends
        total = 0
        for j in range(k + 1):
            count = ends[j] if filling == 0 else ends[j] - total
            ends[j] = total
            total += count
        if filling == 0:
            rows = table(total, d)
            weights = floats(total)
    return rows, weights


@kernel(heavy=True)
def find_steps(city, labels, centers, rule, clusters, wanted, step):
    """Steps to the tilted means of the clusters in which ``wanted`` is FAR or EVERYONE, into ``step``.

    FAR: from the few residents who have weight there. While a facility moves by at most s, a resident nearer than
    radius - 2 s - 22.5 / (t radius) stays below about e^-40 of the farthest one's weight. A longer move is solved again
    with everyone.
    """
    X, w = city
    k, d = centers.shape
    t = rule.t
    room = 0.1
    cuts = floats(k)
    ends = integers(k + 1)
    c = floats(d)
    start = floats(d)
    again = True
    while again:
        again = False
        for j in range(k):
            cuts[j] = np.inf if wanted[j] == NOTHING else -np.inf
            if wanted[j] == FAR:
                radius = np.sqrt(clusters[j].top)
                cut = radius * (1.0 - 2.0 * room) - 22.5 / (t * radius)
                cuts[j] = cut * abs(cut)
        rows, weights = gather(X, w, labels, centers, cuts, ends)
        for j in range(k):
            if wanted[j] == NOTHING:
                continue
            for a in range(d):
                start[a] = centers[j, a]
            few = rows[ends[j] : ends[j + 1]]
            call_mean(rule.mean, (few, weights[ends[j] : ends[j + 1]], start, t, GOAL * rule.tol, c))
            for a in range(d):
                step[j, a] = c[a] - start[a]
            if wanted[j] == FAR and square(step, j) > room * room * clusters[j].top:
                wanted[j] = EVERYONE
                again = True
            else:
                wanted[j] = NOTHING
