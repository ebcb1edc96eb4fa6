"""Plain, slow definitions that the tests compare the methods with."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack


def residents(seed, n=40, d=2, *, lattice=False):
    """Distinct points of uneven density with whole weights; on a lattice distances tie."""
    rng = np.random.default_rng(seed)
    if lattice:
        points = np.unique(rng.integers(0, 9, (n, d)), axis=0).astype(float)
    else:
        points = rng.normal(size=(n, d)) * rng.choice([0.3, 1.0, 4.0], (n, 1))
    return points, rng.integers(1, 5, len(points)).astype(float)


def distances(points, others):
    return np.array([[np.sqrt(((p - q) ** 2).sum()) for q in others] for p in points])


def radii(points, weights, k):
    """Smallest ball around each point that holds at least a k-th of the population."""
    found = []
    for row in distances(points, points):
        held = 0.0
        for i in np.argsort(row, kind="stable"):
            held += weights[i]
            if held * k >= weights.sum() - 1e-9:
                found.append(row[i])
                break
    return np.array(found)


def cost(points, weights, centers):
    return float((weights * distances(points, centers).min(axis=1) ** 2).sum())


def farthest_in_radii(points, radius, centers):
    """The largest distance in units of the resident's own radius."""
    away = distances(points, centers).min(axis=1)
    return max((a / r if a > 0 else 0.0) for a, r in zip(away, radius, strict=True))


def fair_program(points, weights, k, radius):
    """Optimum of the linear program with a variable and a constraint for every pair within the radius."""
    n, away = len(points), distances(points, points)
    v, u = np.nonzero(away <= radius[:, None] * (1 + 1e-9))
    m = len(v)
    pair = np.arange(m)
    served = coo_array((np.ones(m), (v, n + pair)), shape=(n, n + m))
    opened = coo_array((np.ones(m), (pair, n + pair)), shape=(m, n + m))
    opened -= coo_array((np.ones(m), (pair, u)), shape=(m, n + m))
    at_most_k = coo_array(np.r_[np.ones(n), np.zeros(m)][None, :])
    answer = linprog(
        np.r_[np.zeros(n), (weights[v] * away[v, u] ** 2)],
        A_ub=vstack([opened, at_most_k]),
        b_ub=np.r_[np.zeros(m), k],
        A_eq=served,
        b_eq=np.ones(n),
        bounds=(0, 1),
    )
    assert answer.status == 0, answer.message
    return answer.fun


def fair_plans(points, radius, k):
    """Every choice of k points that leaves nobody beyond their radius."""
    away = distances(points, points)
    for chosen in combinations(range(len(points)), k):
        if (away[:, chosen].min(axis=1) <= radius * (1 + 1e-9)).all():
            yield list(chosen)
