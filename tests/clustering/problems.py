"""Generated problems for the core's tests, and the plain definitions they are compared with."""

import numpy as np
from hypothesis import strategies as st

from tkm_core.clustering.compiled import tilted_mean as compiled

TILTS = st.one_of(
    st.just(0.0), st.floats(1e-6, 1e-3), st.floats(1e-3, 10.0), st.floats(10.0, 1e4), st.just(float("inf"))
)


def enclosing_ball(X, start):
    """The compiled function's answer, as a value."""
    centre = np.empty(X.shape[1])
    compiled.enclosing_ball(np.array(X), np.array(start), centre)
    return centre


def tilted_mean(X, w, start, t, goal):
    """The compiled function's answer, as a value."""
    centre = np.empty(X.shape[1])
    compiled.tilted_mean(np.array(X), np.array(w), np.array(start), float(t), goal, centre)
    return centre


@st.composite
def problems(draw, max_n=400, max_d=8):
    """(X, weights, k): any mix of spread, duplicates, collinear points, strays and zero weights."""
    n = draw(st.integers(1, max_n))
    d = draw(st.integers(1, max_d))
    k = draw(st.integers(1, min(n, 8)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    shape = draw(st.sampled_from(["plain", "duplicates", "line", "strays", "grid", "one place"]))
    if shape == "duplicates":
        X = X[rng.integers(0, max(1, n // 5), size=n)]
    elif shape == "line":
        X = X[:, :1] * rng.normal(size=(1, d))
    elif shape == "strays":
        X[rng.random(n) < 0.05] *= 20
    elif shape == "grid":
        X = np.round(X * 2)
    elif shape == "one place":
        X = np.repeat(X[:1], n, axis=0)
    weights = draw(st.sampled_from(["ones", "random", "some zero", "integers"]))
    w = np.ones(n)
    if weights == "random":
        w = rng.random(n) + 1e-3
    elif weights == "some zero":
        w = np.where(rng.random(n) < 0.4, 0.0, rng.random(n) * 100)
        w[rng.integers(n)] = 1.0
    elif weights == "integers":
        w = rng.integers(1, 5, size=n).astype(float)
    return np.ascontiguousarray(X), w, k


def slow_nearest(X, C):
    """Nearest centre and squared distance, from the definition."""
    f = np.array([[sum((x - c) ** 2) for c in C] for x in X])
    return f.argmin(axis=1), f.min(axis=1)


def slow_city_cost(f, w, t):
    """Phi written out: every term formed on its own, only the largest taken out."""
    f, w = f[w > 0], w[w > 0]
    if t == 0:
        return sum(w * f) / sum(w)
    if np.isinf(t):
        return max(f)
    top = max(f)
    return top + np.log(sum(w * np.exp(t * (f - top))) / sum(w)) / t


def slow_tilted_sse(f, labels, w, k, t):
    """sum_j (1/t) log[(1/W) sum_i w_i e^{t f_i delta_ij}], the sum over all residents as the paper writes it."""
    live = w > 0
    f, labels, w = f[live], labels[live], w[live]
    total = 0.0
    for j in range(k):
        z = np.where(labels == j, f, 0.0)
        if t == 0:
            total += sum(w * z) / sum(w)
        elif np.isinf(t):
            total += max(z)
        else:
            total += max(z) + np.log(sum(w * np.exp(t * (z - max(z)))) / sum(w)) / t
    return total
