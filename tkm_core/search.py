"""Where to start: a search over starts of different kinds, because the landscape has bad local minima."""

import numpy as np

from tkm_core.descent import Problem, descend, descend_all
from tkm_core.objective import Array


def kmeans_plus_plus(problem: Problem, rng: np.random.Generator, fixed: Array | None = None) -> Array:
    """Seeds drawn by squared distance to the nearest seed so far (Arthur and Vassilvitskii), fixed facilities first."""
    return _seeds(problem, rng, fixed, power=1.0)


def _seeds(problem: Problem, rng: np.random.Generator, fixed: Array | None, power: float) -> Array:
    """power 0: residents by population; 1: k-means++; infinity: farthest first."""
    X, w, k = problem.X, problem.weights, problem.n_free
    seeds = np.empty((k, X.shape[1]))
    f = np.full(len(X), np.inf)
    if fixed is not None:
        for site in fixed:
            f = np.minimum(f, ((X - site) ** 2).sum(axis=1))
    for j in range(k):
        if not np.isfinite(f[0]) or power == 0:
            chance = w
        elif power == np.inf:
            chance = np.where(w > 0, f, -1.0) == f[w > 0].max()
        else:
            chance = w * f
        cumulative = np.cumsum(chance)
        if cumulative[-1] <= 0:  # every resident already has a seed on the doorstep
            cumulative = np.cumsum(w)
        i = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        seeds[j] = X[min(i, len(X) - 1)]
        f = np.minimum(f, ((X - seeds[j]) ** 2).sum(axis=1))
    return seeds if fixed is None else np.vstack([seeds, fixed])


def best_plan(
    problem: Problem,
    t: float,
    rng: np.random.Generator,
    *,
    fixed: Array | None,
    n_init: str | int,
    criterion: str,
) -> Array:
    """The start whose descent ends lowest by ``criterion``."""
    column = 0 if criterion == "city" else 1
    if n_init == 1:
        return kmeans_plus_plus(problem, rng, fixed)
    count = 16 if n_init == "auto" else int(n_init)
    kinds = [1.0, 0.0, 1.0, 0.0, np.inf]
    starts = np.array([_seeds(problem, rng, fixed, kinds[i % len(kinds)]) for i in range(count)])
    starts[0] = descend(problem, starts[0], 0.0).centers
    ends, values = descend_all(problem, starts, t)
    return ends[values[:, column].argmin()]
