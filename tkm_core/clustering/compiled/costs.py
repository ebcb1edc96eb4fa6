"""Costs from the sums of a sweep, and when one is lower than another; compiled."""

import numpy as np
from numba import njit

LOG_NOISE = 1e-14  # rounding of the logarithm of a sum over thousands


@njit(nogil=True, cache=True)
def clearly_lower(new, old, share, noise):
    """Whether a cost is lower than another by more than a share of it and by more than rounding."""
    return new < old - share * abs(old) - noise


@njit(nogil=True, cache=True)
def log_noise(t, small):
    """How far rounding of the logarithm takes a tilted cost; nothing where the cost needs no logarithm near 1."""
    return LOG_NOISE / t if t > 0.0 and not small else 0.0


@njit(nogil=True, cache=True)
def merit(top, mass, weight, total_f, t, small):
    """Tilted mean cost (1/t) log(sum w e^{t f} / weight) of one cluster, from its sums."""
    if weight <= 0.0:
        return 0.0
    if t == 0.0:
        return total_f / weight
    if t == np.inf:
        return top
    if small:
        return np.log1p(mass / weight) / t
    return top + np.log(mass / weight) / t


@njit(nogil=True, cache=True)
def _between(mean, cost, top, t):
    """A tilted cost without the logarithm's rounding, which is all there is of it where t f is tiny.

    It is no less than the mean (Jensen) and no more than the chord of e^{t f} from 0 to the top allows.
    """
    if 0.0 < t * top < 1.0:
        top = np.log1p(mean / top * np.expm1(t * top)) / t
    return max(min(cost, top), mean)


@njit(nogil=True, cache=True)
def objectives(stats, t, small):
    """City-wide cost, tilted SSE and SSE from the sums of all clusters."""
    k = stats.shape[0]
    total = stats[:, 2].sum()
    sse = stats[:, 3].sum() / total
    if t == 0.0:
        return sse, sse, sse
    city_top = stats[:, 0].max()
    if t == np.inf:
        tilted = 0.0
        for j in range(k):
            tilted += max(stats[j, 0], 0.0)
        return city_top, tilted, sse
    tilted = 0.0
    city = 0.0
    for j in range(k):
        if stats[j, 2] <= 0.0:
            continue
        if small:
            city += stats[j, 1]
            tilted += np.log1p(stats[j, 1] / total) / t
        else:
            city += stats[j, 1] * np.exp(t * (stats[j, 0] - city_top))
            # non-members enter as e^0 = 1: W - W_j of them
            inside = stats[j, 1] + max(total - stats[j, 2], 0.0) * np.exp(-t * stats[j, 0])
            tilted += _between(stats[j, 3] / total, stats[j, 0] + np.log(inside / total) / t, stats[j, 0], t)
    if small:
        return np.log1p(city / total) / t, tilted, sse
    return _between(sse, city_top + np.log(city / total) / t, city_top, t), tilted, sse
