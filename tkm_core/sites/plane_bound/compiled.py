"""Compiled loops of the plane's bound: costs of cells, reduced costs, and the small quadratic program of the prices.

A cell is a rectangle with middle b and half sides h. Let u = x_i - b, and c = b + v a facility in the cell. It
is the optimum of its own cluster, so the gradients of its residents' costs add up to zero, and any share s of
(b - c) · gradient may be added to each of them. A resident of cost e^{t |x - c|²} then counts

    e^{t |u|²} e^{z - y} (1 + s (y - 2 z)),      y = 2 t u·v in [-Y, Y],   z = t |v|² in [0, Z],

which for s >= 1/2 is smallest at (-Y, Z), (Y, 0) or (Y, Z). So every share gives lower bounds for all residents, which
hold together. In place of s = 0 stands the distance to the rectangle. Each cell takes the share that is best for it at
given prices: always one share for all residents of a cell.
"""

import numpy as np

from tkm_core.clustering import inner, kernel

SHARES = (1.0, 0.93, 0.8, 0.6, 0.0)
KINDS = 5
STEEP = 300.0  # exponents beyond it: only the distance to the rectangle is used


@inner
def _least(share, base, lift, wide, up, z, weight, small):
    """The lower bound for one resident at a share above 0; ``lift`` is e^Y - 1, ``up`` e^Z - 1."""
    fall = -lift / (1.0 + lift)
    here = (lift + up + lift * up) * (1.0 - share * (wide + 2.0 * z)) - share * (wide + 2.0 * z)
    there = fall * (1.0 + share * wide) + share * wide
    here = min(here, there)
    there = (fall + up + fall * up) * (1.0 + share * (wide - 2.0 * z)) + share * (wide - 2.0 * z)
    here = min(here, there)
    # small: weight (e^{tf} (1 + here) - 1) / t, with ``weight`` divided by t already
    return weight * (base * (1.0 + here) + here) if small else weight * base * (1.0 + here)


@kernel(
    signature="void(f8[:,::1],f8[::1],f8,f8,b1,f8,f8[:,::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1])", heavy=True
)
def cell_costs(X, w, t, shift, small, most, M, H, prices, out, rho):
    """Fill ``out`` (cells, n) with lower bounds on costs, clipped at ``most``, and ``rho`` with reduced costs."""
    n = X.shape[0]
    near = np.empty(n)
    base = np.empty(n)
    lift = np.empty(n)
    wide = np.empty(n)
    total = np.empty(KINDS)
    shares = np.array(SHARES)
    for a in range(M.shape[0]):
        hx = H[a, 0]
        hy = H[a, 1]
        r2 = hx * hx + hy * hy
        z = t * r2
        start = 0 if z < STEEP else KINDS - 1
        up = np.expm1(z) if z < STEEP else 0.0
        for i in range(n):
            ux = abs(X[i, 0] - M[a, 0])
            uy = abs(X[i, 1] - M[a, 1])
            dx = max(ux - hx, 0.0)
            dy = max(uy - hy, 0.0)
            f = ux * ux + uy * uy
            if t == 0.0:
                near[i] = min(w[i] * (dx * dx + dy * dy), most)
                base[i] = f
                continue
            e = t * (dx * dx + dy * dy) - shift
            if e > STEEP:
                near[i] = most
            else:
                near[i] = min(w[i] * np.expm1(e) / t if small else w[i] * np.exp(e), most)
            if near[i] < most and start == 0:
                wide[i] = 2.0 * t * (ux * hx + uy * hy)
                e = t * f - shift
                if e + wide[i] + z > STEEP:
                    start = KINDS - 1
                    continue
                lift[i] = np.expm1(wide[i])
                base[i] = np.expm1(e) if small else np.exp(e)
        total[:] = 0.0
        for q in range(start, KINDS):
            for i in range(n):
                v = near[i]
                if q < KINDS - 1 and v < most:
                    if t == 0.0:
                        v = w[i] * (base[i] - r2) if q == 0 else v
                    else:
                        v = _least(
                            shares[q], base[i], lift[i], wide[i], up, z, w[i] / t if small else w[i], small
                        )
                if v < prices[i]:
                    total[q] += v - prices[i]
        best = KINDS - 1
        for q in range(start, KINDS):
            if total[q] > total[best]:
                best = q
        rho[a] = total[best]
        for i in range(n):
            v = near[i]
            if best < KINDS - 1 and v < most:
                if t == 0.0:
                    v = w[i] * (base[i] - r2) if best == 0 else v
                else:
                    v = _least(
                        shares[best], base[i], lift[i], wide[i], up, z, w[i] / t if small else w[i], small
                    )
            out[a, i] = min(v, most)


@kernel(signature="void(f8[:,::1],f8[::1],f8[::1])")
def reduced(V, prices, rho):
    """Fill rho_a = sum_i min(V_ai - price_i, 0)."""
    for a in range(V.shape[0]):
        total = 0.0
        for i in range(V.shape[1]):
            total += min(V[a, i] - prices[i], 0.0)
        rho[a] = total


@kernel(signature="f8(f8[:,::1],f8[::1],f8[::1],f8[::1],i8)")
def balance(G, q, most, alpha, steps):
    """Minimise alpha·G·alpha / 2 + q·alpha over 0 <= alpha <= most, keeping the sum of alpha; return what is left.

    The pair that violates the optimality conditions most is moved, at most ``steps`` times.
    """
    m = q.shape[0]
    slope = np.empty(m)
    for a in range(m):
        total = q[a]
        for b in range(m):
            total += G[a, b] * alpha[b]
        slope[a] = total
    left = 0.0
    for _ in range(steps):
        low = -1
        high = -1
        for a in range(m):
            if alpha[a] < most[a] and (low < 0 or slope[a] < slope[low]):
                low = a
            if alpha[a] > 0.0 and (high < 0 or slope[a] > slope[high]):
                high = a
        if low < 0 or high < 0:
            return 0.0
        left = slope[high] - slope[low]
        bend = G[low, low] + G[high, high] - 2.0 * G[low, high]
        move = min(most[low] - alpha[low], alpha[high])
        if bend > 0.0:
            move = min(move, left / bend)
        if left <= 0.0 or move <= 0.0:
            return max(left, 0.0)
        alpha[low] += move
        alpha[high] -= move
        for a in range(m):
            slope[a] += move * (G[a, low] - G[a, high])
    return left
