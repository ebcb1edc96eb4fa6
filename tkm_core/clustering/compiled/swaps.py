"""Compiled ranking of swaps: what closing one facility and opening another would cost before anything moves."""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.records import CITY, TABLE
from tkm_core.clustering.compiled.rows import apart, filled, floats, integers, zeros

# t f is brought into this range for the ranking: at any t, infinity included, every resident then counts a little
MILDEST_Z, STRONGEST_Z = 1e-6, 30.0
RANK = types.void(CITY, TABLE, types.float64, types.int64, types.int64, types.int64[::1], TABLE)


@inner
def two_nearest(X, centers, own, first, other, second):
    """The nearest facility of each resident and the next one, with their squared distances."""
    k = centers.shape[0]
    for i in range(X.shape[0]):
        own[i] = 0
        other[i] = 0
        first[i] = np.inf
        second[i] = np.inf
        for j in range(k):
            away = apart(X, i, centers, j)
            if away < first[i]:
                second[i] = first[i]
                other[i] = own[i]
                first[i] = away
                own[i] = j
            elif away < second[i]:
                second[i] = away
                other[i] = j


@kernel(heavy=True)
def rank_swaps(city, centers, t, n_free, column, rows, costs):
    """The cost of each swap, into ``costs`` (len(rows), n_free): open at the resident, close the facility.

    The cost is that of nearest assignment with every other facility where it is, in the criterion of ``column``: the
    city-wide cost (0) or the tilted SSE (1), up to what all swaps have in common. With M_a the sum of w (e^{t f} - 1)
    over those whom facility a serves, the first grows with the sum of all M_a, the second is that of log(1 + M_a / W).
    """
    X, w = city
    n = X.shape[0]
    k = centers.shape[0]
    own = integers(n)
    other = integers(n)
    first = floats(n)
    second = floats(n)
    two_nearest(X, centers, own, first, other, second)
    total = 0.0
    top = 0.0
    for i in range(n):
        total += w[i]
        if w[i] > 0.0:
            top = max(top, first[i] if k == 1 else second[i])
    if top <= 0.0:
        top = 1.0
    t = min(max(t, MILDEST_Z / top), STRONGEST_Z / top)
    stays = floats(n)  # what each resident adds where they are, and at the next facility
    moves = floats(n)
    all_stay = filled(k, 0.0)
    for i in range(n):
        stays[i] = w[i] / total * np.expm1(t * first[i])
        moves[i] = w[i] / total * np.expm1(t * min(second[i], top))
        all_stay[own[i]] += stays[i]
    stay = floats(k)
    joins = floats(k)  # of each facility's residents, those who would go to the new one if theirs closed
    passed = zeros(k, k)  # and those who would go to another
    for r in range(rows.shape[0]):
        new = 0.0
        for j in range(k):
            stay[j] = all_stay[j]
            joins[j] = 0.0
            for a in range(k):
                passed[j, a] = 0.0
        for i in range(n):
            away = apart(X, i, X, rows[r])
            j = own[i]
            if away < second[i]:
                here = w[i] / total * np.expm1(t * min(away, top))
                if away < first[i]:
                    new += here
                    stay[j] -= stays[i]
                else:
                    joins[j] += here
            else:
                passed[j, other[i]] += moves[i]
        whole = 0.0
        for a in range(k):
            stay[a] = max(stay[a], 0.0)
            whole += np.log1p(stay[a]) if column == 1 else stay[a]
        for j in range(n_free):
            cost = new + joins[j]
            if column == 1:
                cost = np.log1p(cost) + whole - np.log1p(stay[j])
            else:
                cost += whole - stay[j]
            for a in range(k):
                if a != j and passed[j, a] > 0.0:
                    if column == 1:
                        cost += np.log1p(stay[a] + passed[j, a]) - np.log1p(stay[a])
                    else:
                        cost += passed[j, a]
            costs[r, j] = cost
