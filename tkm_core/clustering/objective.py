"""The tilted cost in plain NumPy: squared distances, tilted weights, tilted SSE, city-wide cost.

Notation: residents x_i with weights w_i, W = sum w; f_i the squared distance to the facility that serves x_i;
t >= 0 the dial, including infinity. The paper is Zhu et al., "Efficient k-means with
Individual Fairness via Exponential Tilting". The compiled loops in ``compiled`` are tested against these functions.
"""

import numpy as np

from tkm_core.arrays import Floats, Labels


def squared_distances(X: Floats, labels: Labels, centers: Floats) -> Floats:
    """f_i = ||x_i - c_j||² to each resident's own facility j.

    >>> squared_distances(np.array([[3.0, 4.0]]), np.array([0]), np.zeros((1, 2)))
    array([25.])
    """
    f = np.zeros(len(X))
    for axis in range(X.shape[1]):
        f += (X[:, axis] - centers[labels, axis]) ** 2
    return f


def log_mean_exp(z: Floats, weights: Floats, total: float) -> float:
    """Log of the mean of e^{z_i} over a population ``total``, for z >= 0, without computing e^z.

    The part of the population that is not in ``weights`` counts as z = 0. Exact for tiny z too.

    >>> float(round(log_mean_exp(np.array([1e6, 0.0]), np.ones(2), 2.0), 3))
    999999.307
    """
    top = float(z.max(initial=0.0))
    if top < 0.5:
        return float(np.log1p(np.dot(weights, np.expm1(z)) / total))
    others = max(total - float(weights.sum()), 0.0)
    found = top + float(np.log((np.dot(weights, np.exp(z - top)) + others * np.exp(-top)) / total))
    # Rounding must not lead below the mean or above the largest value.
    return min(max(found, float(np.dot(weights, z)) / total), top)


def city_cost(f: Floats, weights: Floats, t: float) -> float:
    """City-wide tilted cost Phi = (1/t) log[(1/W) sum_i w_i e^{t f_i}].

    The mean of f at t = 0, its maximum at infinity.

    >>> city_cost(np.array([1.0, 3.0]), np.ones(2), 0.0), city_cost(np.array([1.0, 3.0]), np.ones(2), np.inf)
    (2.0, 3.0)
    """
    live = weights > 0
    f, weights = f[live], weights[live]
    if t == 0:
        return float(np.dot(weights, f) / weights.sum())
    if np.isinf(t):
        return float(f.max())
    return log_mean_exp(t * f, weights, float(weights.sum())) / t


def cluster_tilted_sse(f: Floats, weights: Floats, total: float, t: float) -> float:
    """phi_j of one cluster (the paper's objective): residents of other clusters enter as e^0 = 1.

    >>> round(cluster_tilted_sse(np.array([1.0]), np.ones(1), 2.0, 1.0), 4)  # log((e + 1) / 2)
    0.6201
    """
    live = weights > 0
    f, weights = f[live], weights[live]
    if t == 0:
        return float(np.dot(weights, f) / total)
    if np.isinf(t):
        return float(f.max(initial=0.0))
    return log_mean_exp(t * f, weights, total) / t


def tilted_sse(f: Floats, labels: Labels, weights: Floats, k: int, t: float) -> float:
    """The paper's objective: the sum of phi_j over all clusters.

    >>> tilted_sse(np.array([1.0, 3.0]), np.array([0, 1]), np.ones(2), 2, np.inf)
    4.0
    """
    return float(np.sum(tilted_sse_by_cluster(f, labels, weights, k, t)))


def tilted_sse_by_cluster(f: Floats, labels: Labels, weights: Floats, k: int, t: float) -> Floats:
    """phi_j of every cluster.

    >>> tilted_sse_by_cluster(np.array([1.0, 3.0]), np.array([0, 1]), np.ones(2), 2, 0.0)
    array([0.5, 1.5])
    """
    total = float(weights.sum())
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(k + 1))
    return np.array(
        [
            cluster_tilted_sse(f[rows], weights[rows], total, t)
            for rows in (order[ends[j] : ends[j + 1]] for j in range(k))
        ]
    )
