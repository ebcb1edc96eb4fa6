"""Compiled search for good starts: seeds of several kinds, then closing one facility to open another."""

import numpy as np
from numba import njit

from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.passes import descend

KMEANS_PP, RESIDENTS, FARTHEST, KMEANS, OUTLYING = 0, 1, 2, 3, 4
# where a move reopens what it closed
MOVES = (KMEANS_PP, OUTLYING, FARTHEST, RESIDENTS)
LOWER = 1e-6  # relative: a move that gains less has failed


@njit(nogil=True, cache=True)
def _draw(chance):
    """An index drawn in proportion to ``chance``; -1 if all are zero."""
    total = chance.sum()
    if not total > 0.0:
        return -1
    goal = np.random.random() * total
    run = 0.0
    last = -1
    for i in range(chance.shape[0]):
        if chance[i] > 0.0:
            run += chance[i]
            last = i
            if run > goal:
                return i
    return last


@njit(nogil=True, cache=True)
def _approach(X, c, f):
    """Lower f to the squared distance from c where that is nearer."""
    d = X.shape[1]
    for i in range(X.shape[0]):
        s = 0.0
        for a in range(d):
            s += (X[i, a] - c[a]) ** 2
        f[i] = min(f[i], s)


@njit(nogil=True, cache=True)
def _next_seed(X, w, f, kind):
    """Where to open the next facility, given squared distances f to those already open (infinite if none)."""
    if kind == RESIDENTS or np.isinf(f[0]):
        return _draw(w)
    if kind == FARTHEST:
        i = int(np.argmax(np.where(w > 0.0, f, -1.0)))
        return i if f[i] > 0.0 else _draw(w)
    if kind == OUTLYING:
        i = _draw(w * f * f * f)
        return i if i >= 0 else _draw(w)
    # greedy k-means++: of a few candidates drawn by squared distance, the one that lowers the total most
    best = -1
    best_total = np.inf
    for _ in range(3):
        i = _draw(w * f)
        if i < 0:
            return _draw(w)
        g = f.copy()
        _approach(X, X[i], g)
        total = (w * g).sum()
        if best < 0 or total < best_total:
            best_total = total
            best = i
    return best


@njit(nogil=True, cache=True)
def seeds(X, w, C, n_free, kind, seed):
    """Fill the free rows of C with seeds of one kind; the fixed rows after them already serve."""
    np.random.seed(seed)
    f = np.full(X.shape[0], np.inf)
    for j in range(n_free, C.shape[0]):
        _approach(X, C[j], f)
    for j in range(n_free):
        C[j] = X[_next_seed(X, w, f, kind)]
        _approach(X, C[j], f)


@njit(nogil=True, cache=True)
def explore(X, w, fixed, n_free, t, small, column, kinds, patience, tol, noise, seed, best):
    """Descend from seeds of each of ``kinds``, then close and reopen facilities of the best.

    Without kinds it sets out from ``best`` as given. It ends when ``patience`` moves in a row have failed to lower the
    cost by more than ``noise``, and at the latest after k + 20 times as many.

    ``best`` (k, d) takes the winner by ``column`` of (city-wide cost, tilted SSE, SSE); returns its value.
    """
    n, d = X.shape
    k = n_free + fixed.shape[0]
    C = np.zeros((k, d))
    C[n_free:] = fixed
    labels = np.empty(n, np.int32)
    history = np.empty((101, 3))
    best_value = np.inf
    if len(kinds) == 0:
        np.random.seed(seed)
        n_iter, _ = descend(X, w, best, n_free, t, small, 100, tol, labels, history, 0, np.inf)
        best_value = history[n_iter, column]
    for i in range(len(kinds)):
        kind = kinds[i]
        seeds(X, w, C, n_free, kind, seed + i)
        if kind == KMEANS:
            descend(X, w, C, n_free, 0.0, True, 30, 1e-2, labels, history, 0, np.inf)
        n_iter, _ = descend(X, w, C, n_free, t, small, 100, tol, labels, history, column, best_value)
        if i == 0 or history[n_iter, column] < best_value:
            best_value = history[n_iter, column]
            best[:] = C
    f = np.empty(n)
    failed = 0
    for _ in range(patience * (k + 20)):
        if failed >= patience:
            break
        C[:] = best
        closed = np.random.randint(n_free)
        f[:] = np.inf
        for j in range(k):
            if j != closed:
                _approach(X, C[j], f)
        C[closed] = X[_next_seed(X, w, f, MOVES[np.random.randint(len(MOVES))])]
        n_iter, _ = descend(X, w, C, n_free, t, small, 100, tol, labels, history, column, best_value)
        failed += 1
        if clearly_lower(history[n_iter, column], best_value, LOWER, noise):
            best_value = history[n_iter, column]
            best[:] = C
            failed = 0
    return best_value
