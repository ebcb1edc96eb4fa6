"""Tilted means of residents with many columns, compiled: Newton's steps by conjugate gradients, no d x d matrix."""

import numpy as np

from tkm_core.clustering.compiled.kernel import any_order, inner, kernel
from tkm_core.clustering.compiled.rows import filled, floats, integers, read_only, square_apart, table
from tkm_core.clustering.compiled.tilted_mean import NOTHING, STAGES, TOWARDS, call_mean, gather

# t f beyond which conjugate gradients lose too many digits. The solution in the span of the rows is right there, up to
# SPAN_Z, and fast where they are fewer than the columns; the d x d solution is always right, and slow.
DENSE_Z, SPAN_Z = 1e4, 1e8
ROUGH = 1e-2  # tolerance from which on t f may as well be DENSE_Z: the top changes by less than a thousandth
GRADIENTS = 300  # most steps of one run of conjugate gradients
RESIDUE = 0.05  # of the right-hand side, at which such a run ends where t f is not large
FADED = -45.0  # t (f - top) below which a resident has no weight to the last digit


@any_order
def _dot(rows, i, x):
    """The product of row i and x."""
    total = 0.0
    for a in range(x.shape[0]):
        total += rows[i, a] * x[a]
    return total


@any_order
def _square(rows, i):
    """The squared length of row i."""
    total = 0.0
    for a in range(rows.shape[1]):
        total += rows[i, a] * rows[i, a]
    return total


@inner
def _tilted(f, w, t, p):
    """Tilted weights p of sum 1, and the cost top + log(sum w e^{t (f - top)}) / t."""
    top = -1.0
    for i in range(f.shape[0]):
        top = max(top, f[i])
    mass = 0.0
    for i in range(f.shape[0]):
        z = t * (f[i] - top)
        p[i] = w[i] * np.exp(z) if z >= FADED else 0.0
        mass += p[i]
    for i in range(f.shape[0]):
        p[i] /= mass
    return top + np.log(mass) / t


@inner
def _direction(X, rows, p, t, top, mean, pull, away):
    """Solve (I + 2 t S) away = pull by conjugate gradients; S is the covariance of some rows of X under p.

    ``mean`` is theirs, and ``pull`` what it is as seen from the facility. Rows without weight are passed over: the
    time grows with those that have some, times d.
    """
    d = X.shape[1]
    residue = floats(d)
    aim = floats(d)
    along = floats(d)
    rest = 0.0
    for a in range(d):
        away[a] = 0.0
        residue[a] = pull[a]
        aim[a] = pull[a]
        rest += pull[a] * pull[a]
    # the matrix stretches by up to about t top: what is left out must be shorter than what is found
    enough = min(RESIDUE, 1.0 / (t * top))
    goal = enough * enough * rest
    for _ in range(GRADIENTS):
        if rest <= goal or rest <= 1e-300:
            return
        for a in range(d):
            along[a] = aim[a]
        middle = 0.0
        for a in range(d):
            middle += mean[a] * aim[a]
        for i in range(rows.shape[0]):
            if p[i] > 0.0:
                row = rows[i]
                q = 2.0 * t * p[i] * (_dot(X, row, aim) - middle)
                for a in range(d):
                    along[a] += q * (X[row, a] - mean[a])
        curve = 0.0
        for a in range(d):
            curve += aim[a] * along[a]
        size = rest / curve
        new = 0.0
        for a in range(d):
            away[a] += size * aim[a]
            residue[a] -= size * along[a]
            new += residue[a] * residue[a]
        for a in range(d):
            aim[a] = residue[a] + new / rest * aim[a]
        rest = new


@inner
def _direction_in_span(Y, p, t, away):
    """The same direction for rows as seen from the facility, as a mean of those that have weight.

    With v = sqrt(p) and B = 2 t V Y Y' V, where V is the diagonal matrix of v, it is the mean of the rows under the
    weights V (I + B)^{-1} v: nothing cancels.
    """
    n, d = Y.shape
    size = 0
    for i in range(n):
        if p[i] > 0.0:
            size += 1
    rows = integers(size)
    x = floats(d)
    z = floats(size)
    L = table(size, size)
    at = 0
    for i in range(n):
        if p[i] > 0.0:
            rows[at] = i
            z[at] = np.sqrt(p[i])
            at += 1
    for i in range(size):
        for a in range(d):
            x[a] = Y[rows[i], a]
        for j in range(i + 1):
            v = 2.0 * t * z[i] * z[j] * _dot(Y, rows[j], x)
            for q in range(j):
                v -= L[i, q] * L[j, q]
            # the pivots are 1 or more: less is rounding
            L[i, j] = v / L[j, j] if j < i else np.sqrt(max(1.0 + v, 1.0))
    for i in range(size):
        for q in range(i):
            z[i] -= L[i, q] * z[q]
        z[i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        for q in range(i + 1, size):
            z[i] -= L[q, i] * z[q]
        z[i] /= L[i, i]
    total = 0.0
    for i in range(size):
        z[i] *= np.sqrt(p[rows[i]])
        total += z[i]
    for a in range(d):
        away[a] = 0.0
    for i in range(size):
        for a in range(d):
            away[a] += z[i] / total * Y[rows[i], a]


@inner
def _moved(Y, w, t, goal, step):
    """The tilted mean of residents Y, seen from the facility, to ``goal`` times their radius, into ``step``.

    Newton with line search along conjugate-gradient directions. Where one resident holds all the weight a direction
    overshoots: then t is lowered and raised again in stages, as ``tilted_mean`` does. Y moves with the facility.
    """
    n, d = Y.shape
    still = read_only(Y)
    f = floats(n)
    g = floats(n)
    p = floats(n)
    ahead = floats(n)  # how far each resident lies in the direction of the step
    pull = floats(d)
    away = floats(d)
    rows = integers(n)
    top = 0.0
    for i in range(n):
        rows[i] = i
        f[i] = _square(still, i)
        top = max(top, f[i])
    for a in range(d):
        step[a] = 0.0
    if top <= 0.0:
        return
    lowest = min(t, 3.0 / top)
    stage = t
    rising = False
    for _stage in range(STAGES):
        final = stage >= t
        enough = goal if final else max(goal, min(1e-2, 1.0 / (stage * top)))
        overshot = False
        for _ in range(60):
            cost = _tilted(f, w, stage, p)
            for a in range(d):
                pull[a] = 0.0
            for i in range(n):
                if p[i] > 0.0:
                    for a in range(d):
                        pull[a] += p[i] * Y[i, a]
            if stage * top > DENSE_Z and n <= d:
                _direction_in_span(still, p, stage, away)
            else:
                _direction(still, rows, p, stage, top, pull, pull, away)
            length2 = 0.0
            slope = 0.0
            for a in range(d):
                length2 += away[a] * away[a]
                slope -= 2.0 * pull[a] * away[a]
            for i in range(n):
                ahead[i] = _dot(still, i, away)
            alpha = 1.0
            moved = False
            for _half in range(40):
                # |y - alpha s|² = |y|² - 2 alpha y.s + alpha² |s|²
                for i in range(n):
                    g[i] = f[i] - 2.0 * alpha * ahead[i] + alpha * alpha * length2
                if _tilted(g, w, stage, p) <= cost + 1e-4 * alpha * slope or -alpha * slope <= 1e-13 * top:
                    moved = True
                    break
                alpha *= 0.5
                if not rising and stage > lowest and alpha < 0.2:
                    overshot = True
                    break
            if overshot or not moved:
                break
            top = 0.0
            for a in range(d):
                step[a] += alpha * away[a]
            for i in range(n):
                for a in range(d):
                    Y[i, a] -= alpha * away[a]
                f[i] = _square(still, i)
                top = max(top, f[i])
            if length2 <= enough * enough * top:
                break
        if overshot:
            stage = max(stage / 16.0, lowest)
            continue
        if final:
            return
        rising = True
        stage = min(t, 4.0 * stage)


@inner
def _newton_step(X, w, labels, j, center, t, step):
    """Newton's step of cluster j, where t f is not large, into ``step``; returns the slope of its cost along it.

    From the table as it is: with few steps of conjugate gradients each pass over it counts.
    """
    d = X.shape[1]
    size = 0
    for i in range(X.shape[0]):
        if labels[i] == j and w[i] > 0.0:
            size += 1
    rows = integers(size)
    weights = floats(size)
    f = floats(size)
    p = floats(size)
    mean = floats(d)
    pull = floats(d)
    at = 0
    top = 0.0
    for i in range(X.shape[0]):
        if labels[i] == j and w[i] > 0.0:
            rows[at] = i
            weights[at] = w[i]
            f[at] = square_apart(X, i, center)
            top = max(top, f[at])
            at += 1
    _tilted(f, weights, t, p)
    for a in range(d):
        pull[a] = 0.0
    for i in range(size):
        row = rows[i]
        for a in range(d):
            pull[a] += p[i] * (X[row, a] - center[a])
    for a in range(d):
        mean[a] = center[a] + pull[a]
    _direction(X, rows, p, t, top, mean, pull, step)
    slope = 0.0
    for a in range(d):
        slope -= 2.0 * pull[a] * step[a]
    return slope


@kernel(heavy=True)
def find_wide_steps(city, labels, centers, rule, clusters, wanted, step):
    """Like ``find_steps``, for many columns: from everyone, and where possible in time that grows with d, not d³.

    Or, where ``wanted`` is TOWARDS, one Newton step; its slope goes into ``clusters``.
    """
    X, w = city
    k, d = centers.shape
    cuts = filled(k, np.inf)
    ends = integers(k + 1)
    own = floats(d)
    origin = filled(d, 0.0)
    for j in range(k):
        if wanted[j] == NOTHING:
            continue
        towards = wanted[j] == TOWARDS
        wanted[j] = NOTHING
        if towards:
            clusters[j].slope = _newton_step(X, w, labels, j, centers[j], rule.t, step[j])
            continue
        cuts[j] = -np.inf  # one cluster after the other: a copy of all residents may not fit
        Y, weights = gather(X, w, labels, centers, cuts, ends)
        cuts[j] = np.inf
        for i in range(Y.shape[0]):
            for a in range(d):
                Y[i, a] -= centers[j, a]
        top = clusters[j].top
        t = min(rule.t, DENSE_Z / top) if rule.tol >= ROUGH else rule.t
        if t * top > (SPAN_Z if Y.shape[0] <= d else DENSE_Z):
            call_mean(rule.mean, (Y, weights, origin, t, 1e-3 * rule.tol, own))
        else:
            _moved(Y, weights, t, 1e-2 * rule.tol, own)
        for a in range(d):
            step[j, a] = own[a]
