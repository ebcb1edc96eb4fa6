"""Measures of a distribution of distances: quantiles, and how unequal it is."""

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import city_cost

KOLM_POLLAK_EPS = -1.0  # inequality aversion; negative because distance is a burden


def quantile(ordered: Floats, cumulative: Floats, q: float) -> float:
    """The smallest distance within which a share q of the population lives (inverted distribution function)."""
    at = np.searchsorted(cumulative, q * cumulative[-1] * (1 - 1e-12))
    return float(ordered[min(at, len(ordered) - 1)])


def gini(ordered: Floats, weights: Floats, cumulative: Floats) -> float:
    """Weighted Gini: half the mean absolute difference of two residents' distances, over the mean."""
    total = cumulative[-1]
    mean = float(np.dot(weights, ordered)) / total
    if mean == 0:
        return 0.0
    below = (cumulative - weights / 2) / total
    # rounding must not lead below 0 (all equal) or above 1
    return min(max(float(2 * np.dot(weights * ordered, below) / (total * mean) - 1), 0.0), 1.0)


def worst_share_mean(ordered: Floats, weights: Floats, cumulative: Floats, share: float) -> float:
    """Mean over exactly the worst-off ``share`` of the population; the resident at the boundary counts in part."""
    total = cumulative[-1]
    inside = np.clip(cumulative - (1 - share) * total, 0.0, weights)
    return float(np.dot(inside, ordered) / inside.sum())


def kolm_pollak_ede(distance: Floats, weights: Floats) -> float:
    """-(1/kappa) log mean e^{-kappa d}, with kappa = eps sum(w d) / sum(w d²), eps < 0 for a burden."""
    second = float(np.dot(weights, distance**2))
    if second == 0:
        return 0.0
    kappa = KOLM_POLLAK_EPS * float(np.dot(weights, distance)) / second
    return city_cost(distance, weights, -kappa)
