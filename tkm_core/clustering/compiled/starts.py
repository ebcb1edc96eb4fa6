"""Compiled search for good starts: seeds of several kinds, then closing one facility to open another."""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.descents import DESCEND
from tkm_core.clustering.compiled.kernel import by_address, inner, kernel
from tkm_core.clustering.compiled.passes import call_nearest
from tkm_core.clustering.compiled.records import CITY, RULE, TABLE, Rule
from tkm_core.clustering.compiled.rows import apart, copy_row, copy_rows, filled, floats, integers, table
from tkm_core.clustering.compiled.swaps import RANK

KMEANS_PP, RESIDENTS, FARTHEST, KMEANS, OUTLYING = 0, 1, 2, 3, 4
# where a random move reopens what it closed
OPENED = (KMEANS_PP, OUTLYING, FARTHEST, RESIDENTS)
N_OPENED = len(OPENED)
POWERS = (1.0, 3.0, 0.0)  # of the squared distance, by which residents are drawn for a swap
PROPOSED = 60  # residents at whom a facility may open, for each plan that is to be improved
# the moves that a search makes in turn, for each of the two ways of searching
RANKED, RANDOM, SHIFTED = 0, 1, 2
HABITS = ((RANKED, RANDOM, RANKED, SHIFTED), (RANDOM, RANDOM, RANDOM, SHIFTED))
BY_RANK, BY_CHANCE = 0, 1
MOST, FEW, THREE = np.int64(101), np.int64(31), np.int64(3)  # rows of a history, and its columns
LOWER = 1e-6  # relative: a move that gains less has failed

OPEN = types.void(CITY, TABLE, *4 * (types.int64,))
FIND = types.float64(
    CITY, *3 * (types.int64,), RULE, types.int64, types.int64[::1], types.int64, types.int64, types.float64,
    types.int64, TABLE,
)  # fmt: skip
call_descend, call_open, call_rank = by_address(DESCEND), by_address(OPEN), by_address(RANK)


@inner
def _draw(w, f, power):
    """An index drawn in proportion to w f^power, for a power of 0, 1 or 3; -1 if all are zero."""
    n = w.shape[0]
    chance = floats(n)
    total = 0.0
    for i in range(n):
        chance[i] = w[i]
        if power > 0.0:
            chance[i] *= f[i]
        if power > 1.0:
            chance[i] = chance[i] * f[i] * f[i]
        total += chance[i]
    if not total > 0.0:
        return -1
    goal = np.random.random() * total
    run = 0.0
    last = -1
    for i in range(n):
        if chance[i] > 0.0:
            run += chance[i]
            last = i
            if run > goal:
                return i
    return last


@kernel(heavy=True)
def open_facilities(city, centers, begin, end, kind, seed):
    """Open facilities begin..end at residents, one after the other, by one kind of rule; all others already serve.

    With a ``seed`` below 0 the random numbers continue from before.
    """
    X, w = city
    n = X.shape[0]
    k = centers.shape[0]
    if seed >= 0:
        np.random.seed(seed)
    f = filled(n, np.inf)  # squared distances to the nearest of those open
    for at in range(end - begin, k + end - begin):
        # the others come first
        j = (at + begin) % k
        if begin <= j < end:
            best = -1
            tries = 1
            power = 0.0
            if f[0] == np.inf or kind == RESIDENTS:
                tries = 0
            elif kind == FARTHEST:
                tries = 0
                far = 0.0
                for i in range(n):
                    if w[i] > 0.0 and f[i] > far:
                        far = f[i]
                        best = i
            elif kind == OUTLYING:
                power = 3.0
            else:
                # greedy k-means++: of a few drawn by squared distance, the one that lowers the total most
                tries = 3
                power = 1.0
            best_total = np.inf
            for _ in range(tries):
                row = _draw(w, f, power)
                if row < 0:
                    best = -1
                    break
                copy_row(X, row, centers, j)
                total = 0.0
                for i in range(n):
                    total += w[i] * min(f[i], apart(X, i, centers, j))
                if best < 0 or total < best_total:
                    best_total = total
                    best = row
            if best < 0:
                best = _draw(w, f, 0.0)
            copy_row(X, best, centers, j)
        for i in range(n):
            f[i] = min(f[i], apart(X, i, centers, j))


@inner
def _propose(city, f, rows):
    """Residents at whom a facility may open: drawn by distance squared, by its third power, and by population."""
    w = city.weights
    for r in range(rows.shape[0]):
        row = _draw(w, f, POWERS[r % 3])
        rows[r] = row if row >= 0 else _draw(w, f, 0.0)


@inner
def _shift(city, labels, f, n_free, C):
    """Move a facility some of the way to one of those it serves."""
    row = _draw(city.weights, f, 0.0)
    share = np.random.random()
    j = labels[row]
    if j < n_free:
        for a in range(C.shape[1]):
            C[j, a] += share * (city.X[row, a] - C[j, a])


@inner
def _lowest(costs):
    """The place of the lowest entry of a table, counted row after row."""
    lowest = np.inf
    place = 0
    for r in range(costs.shape[0]):
        for j in range(costs.shape[1]):
            if costs[r, j] < lowest:
                lowest = costs[r, j]
                place = r * costs.shape[1] + j
    return place


@kernel(heavy=True)
def find_start(city, descend, open_, rank, rule, column, kinds, habit, patience, noise, seed, best):
    """Descend from seeds of each of ``kinds``, then swap facilities of the best, or shift them, and descend again.

    RANKED swaps are tried in the order of what they would cost before anything moves; RANDOM ones close any facility.
    Without kinds it sets out from ``best`` as given. It ends when ``patience`` moves in a row have failed to lower the
    cost by more than ``noise``, and at the latest after k + 20 times as many.

    ``best`` (k, d) takes the winner by ``column`` of (city-wide cost, tilted SSE, SSE), and holds the fixed facilities
    from the beginning; returns its value. ``descend``, ``open_`` and ``rank`` are the addresses of the functions it is
    made of.
    """
    k, d = best.shape
    n = city.X.shape[0]
    plain = Rule(
        0.0,
        True,
        rule.n_free,
        rule.tol,
        rule.nearest,
        rule.sweep,
        rule.judge,
        rule.steps,
        rule.mean,
        rule.wide,
        rule.stop,
    )
    C = table(k, d)
    copy_rows(best, C)
    labels = np.empty(n, np.int32)
    own = np.empty(n, np.int32)
    f = floats(n)
    history = table(MOST, THREE)
    short = table(FEW, THREE)
    rows = integers(min(n, max(PROPOSED, 2 * k)))
    costs = table(rows.shape[0], rule.n_free)
    best_value = np.inf
    failed = 0
    known = False
    ranked = False
    if kinds.shape[0] == 0:
        np.random.seed(seed)
    beginnings = max(1, kinds.shape[0])
    for i in range(beginnings + patience * (k + 20)):
        if i < kinds.shape[0]:
            call_open(open_, (city, C, 0, rule.n_free, kinds[i], seed + i))
            if kinds[i] == KMEANS:
                call_descend(descend, (city, C, plain, labels, short, column, np.inf))
        elif i >= beginnings:
            if failed == patience or rule.stop[0] != 0:
                break
            copy_rows(best, C)
            move = HABITS[habit][failed % 4]
            if move != RANDOM and not known:
                call_nearest(rule.nearest, (city.X, best, 0, n, own, f))
                known = True
            if move == RANKED and not ranked:
                _propose(city, f, rows)
                call_rank(rank, (city, best, rule.t, rule.n_free, column, rows, costs))
                ranked = True
            if move == SHIFTED:
                _shift(city, own, f, rule.n_free, C)
            elif move == RANDOM:
                closed = np.random.randint(rule.n_free)
                call_open(open_, (city, C, closed, closed + 1, OPENED[np.random.randint(N_OPENED)], -1))
            else:
                at = _lowest(costs)
                closed = at % rule.n_free
                costs[at // rule.n_free, closed] = np.inf
                copy_row(city.X, rows[at // rule.n_free], C, closed)
        n_iter, _ = call_descend(descend, (city, C, rule, labels, history, column, best_value))
        value = history[n_iter, column]
        lower = i == 0 or value < best_value
        if i >= beginnings:
            lower = clearly_lower(value, best_value, LOWER, noise)
            failed = 0 if lower else failed + 1
        if lower:
            known = False
            ranked = False
            best_value = value
            copy_rows(C, best)
    return best_value
