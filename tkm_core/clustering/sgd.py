"""The paper's Algorithm 2 as printed: mini-batch gradient steps on the tilted SSE, for comparison."""

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled.starts import KMEANS_PP
from tkm_core.clustering.descent import Descent, Problem, box, seeds
from tkm_core.clustering.objective import city_cost, tilted_sse


def descend_by_sgd(
    problem: Problem,
    t: float,
    rng: np.random.Generator,
    *,
    fixed: Floats,
    start: Floats | None = None,
    learning_rate: float = 0.05,
    n_epochs: int = 5,
    batch_size: int = 100,
    n_iter: int = 500,
) -> Descent:
    """Assignment, then ``n_epochs`` mini-batch steps (eq. 12) for every facility, ``n_iter`` times.

    The gradient's sum runs over the batch and its denominator over all residents, as printed in the paper; the sign is
    that of descent. It starts from ``start`` (k + f, d), or from k-means++ seeds. It needs a finite t, and a positive
    weight for every resident.
    """
    if np.isinf(t):
        msg = "solver='sgd' cannot run at t = infinity: its gradient has no limit there. Use solver='newton'."
        raise ValueError(msg)
    X, weights, k = problem.X, problem.weights, problem.n_free
    total = float(weights.sum())
    low, high = box(X)
    centers = np.vstack([np.zeros((k, X.shape[1])), fixed]) if start is None else start.copy()
    if start is None:
        seeds(X, weights, centers, k, KMEANS_PP, int(rng.integers(2**31)))
    batch_size = min(batch_size, len(X))
    members = np.arange(len(centers))
    history = np.empty((n_iter + 1, 3))
    for it in range(n_iter + 1):
        f = (
            ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
            if len(X) * len(centers) < 1 << 16
            else _distances(X, centers)
        )
        labels = f.argmin(axis=1).astype(np.int32)
        f = f[np.arange(len(X)), labels]
        history[it] = (
            city_cost(f, weights, t),
            tilted_sse(f, labels, weights, len(centers), t),
            city_cost(f, weights, 0.0),
        )
        if it == n_iter:
            break
        inside = labels == members[:, None]
        size = inside @ weights
        for _ in range(n_epochs):
            batch = rng.choice(len(X), batch_size, replace=False) if batch_size < len(X) else slice(None)
            # log of the denominator sum_i e^{t f_i delta_ij}: non-members are e^0, the largest exponent is factored out
            top = np.zeros(len(centers))
            np.maximum.at(top, labels, t * f)
            mass = np.bincount(labels, weights * np.exp(t * f - top[labels]), len(centers))
            mass += np.maximum(total - size, 0.0) * np.exp(-top)
            own = labels[batch]
            pull = (weights[batch] * np.exp(t * f[batch] - top[own]) / mass[own])[:, None] * (
                X[batch] - centers[own]
            )
            gradient = np.zeros_like(centers)
            np.add.at(gradient, own, -2 * pull)
            # a learning rate up to 0.5 never leads out of the residents' box; a larger one must not either
            centers[:k] = np.clip(centers[:k] - learning_rate * gradient[:k], low, high)
            f = ((X - centers[labels]) ** 2).sum(axis=1)
    return Descent(centers, labels, n_iter, left=np.nan, history=history)


def _distances(X: Floats, centers: Floats) -> Floats:
    """Squared distances (n, k) without an (n, k, d) array."""
    f = np.zeros((len(X), len(centers)))
    for axis in range(X.shape[1]):
        f += (X[:, axis, None] - centers[:, axis]) ** 2
    return f
