"""Small generated problems over sites, and their optimum by trying every choice."""

import math
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

DIAL = (0.0, 1e-9, 1e-3, 0.1, 1.0, 30.0, 1e4, 1e12, np.inf)


def slow_cost(f, w, t):
    """Phi written out, the largest taken out; e^z - 1 and log(1 + z) keep the digits of a small t."""
    f, w = f[w > 0], w[w > 0]
    if t == 0:
        return math.fsum(w * f) / math.fsum(w)
    top = max(f)
    if np.isinf(t):
        return top
    z = [weight * math.expm1(t * (each - top)) for each, weight in zip(f, w, strict=True)]
    return top + math.log1p(math.fsum(z) / math.fsum(w)) / t


def city(n=120, m=40, seed=0):
    """Distances of residents from sites on a plane, and the people of each."""
    rng = np.random.default_rng(seed)
    X, S = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    return np.sqrt(((X[:, None] - S[None]) ** 2).sum(axis=2)), rng.integers(1, 50, n).astype(float)


@st.composite
def site_problems(draw, max_n=25, max_m=10):
    """(distances, weights, k, fixed): any mix of planes, tables, ties, missing ways and zero weights."""
    n, m = draw(st.integers(1, max_n)), draw(st.integers(1, max_m))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["plane", "table", "whole", "same", "missing", "wide"]))
    if kind in ("plane", "missing"):
        D = np.sqrt(((rng.normal(size=(n, 1, 2)) - rng.normal(size=(1, m, 2))) ** 2).sum(axis=2))
        if kind == "missing":
            D[rng.random((n, m)) < 0.3] = np.inf
            D[np.arange(n), rng.integers(m, size=n)] = 1.0
    elif kind == "wide":
        D = 10 ** rng.uniform(-3, 3, (n, m))
    else:
        D = rng.integers(0, 5, (n, m)).astype(float) if kind == "whole" else rng.uniform(0, 3, (n, m))
    if kind == "same":
        D[:] = D[:, :1]
    w = draw(
        st.sampled_from(
            [np.ones(n), rng.integers(1, 9, n).astype(float), rng.random(n) * (rng.random(n) < 0.7)]
        )
    )
    if not w.any():
        w[0] = 1.0
    n_fixed = draw(st.integers(0, min(2, m - 1)))
    fixed = rng.permutation(m)[:n_fixed]
    k = draw(st.integers(1, min(4, m - n_fixed)))
    return D, w, k, fixed


def every_plan(m, k, fixed):
    """All choices of k sites beside the fixed ones."""
    others = [j for j in range(m) if j not in set(fixed)]
    return [[*chosen, *fixed] for chosen in combinations(others, k)]


def brute_force(D, w, k, fixed, t):
    """The least city-wide cost over all plans that reach everyone; infinite if there is none."""
    live = w > 0
    best = np.inf
    for plan in every_plan(D.shape[1], k, fixed):
        d = D[live][:, plan].min(axis=1)
        if np.isfinite(d).all():
            best = min(best, slow_cost(d**2, w[live], t))
    return best
