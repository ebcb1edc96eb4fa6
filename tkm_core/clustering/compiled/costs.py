"""Costs from the sums of a pass, and when one is lower than another; in Python and in compiled functions."""

import numpy as np

from tkm_core.clustering.compiled.kernel import anywhere, inner

LOG_NOISE = 1e-14  # rounding of the logarithm of a sum over thousands


@anywhere
def clearly_lower(new, old, share, noise):
    """Whether a cost is lower than another by more than a share of it and by more than rounding."""
    return new < old - share * abs(old) - noise


@anywhere
def log_noise(t, small):
    """How far rounding of the logarithm can move a tilted cost; 0 where the cost needs no logarithm near 1."""
    return LOG_NOISE / t if t > 0.0 and not small else 0.0


@inner
def cluster_cost(top, mass, weight, cost, t, small):
    """Tilted mean cost (1/t) log(sum w e^{t f} / weight) of one cluster, from its sums."""
    if weight <= 0.0:
        return 0.0
    if t == 0.0:
        return cost / weight
    if t == np.inf:
        return top
    if small:
        return np.log1p(mass / weight) / t
    return top + np.log(mass / weight) / t


@anywhere
def _between(mean, cost, top, t):
    """A tilted cost freed of the logarithm's rounding, which would swamp it where t f is tiny.

    It is no less than the mean (Jensen) and no more than the chord of e^{t f} from 0 to the top allows.
    """
    if 0.0 < t * top < 1.0:
        top = np.log1p(mean / top * np.expm1(t * top)) / t
    return max(min(cost, top), mean)


@anywhere
def note_costs(clusters, t, small, history):
    """Write city-wide cost, tilted SSE and SSE from the sums of all clusters into ``history`` (3,)."""
    total = 0.0
    sse = 0.0
    city_top = -np.inf
    for j in range(clusters.shape[0]):
        total += clusters[j].weight
        sse += clusters[j].cost
        city_top = max(city_top, clusters[j].top)
    sse /= total
    city = 0.0
    tilted = 0.0
    for j in range(clusters.shape[0]):
        own = clusters[j]
        if t == np.inf:
            tilted += max(own.top, 0.0)
        elif own.weight > 0.0 and t > 0.0:
            if small:
                city += own.mass
                tilted += np.log1p(own.mass / total) / t
            else:
                city += own.mass * np.exp(t * (own.top - city_top))
                # non-members enter as e^0 = 1: W - W_j of them
                others = max(total - own.weight, 0.0) * np.exp(-t * own.top)
                tilted += _between(
                    own.cost / total, own.top + np.log((own.mass + others) / total) / t, own.top, t
                )
    if t == 0.0:
        city = sse
        tilted = sse
    elif t == np.inf:
        city = city_top
    elif small:
        city = np.log1p(city / total) / t
    else:
        city = _between(sse, city_top + np.log(city / total) / t, city_top, t)
    history[0] = city
    history[1] = tilted
    history[2] = sse
