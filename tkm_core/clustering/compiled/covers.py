"""Compiled search for a cover: k discs of one radius that reach every resident."""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.rows import ONE

WHOLE = types.int64[::1]
COVER = types.boolean(WHOLE, WHOLE, WHOLE, WHOLE, types.int64, types.int64, WHOLE)


@inner
def _change(disc, sign, disc_ends, disc_rows, row_ends, row_discs, counts, weights, scores, opened):
    """Open a disc (sign 1) or close it (-1), with all scores; returns how many rows fewer are left out.

    The score of a closed disc is the weight of the rows that only it would reach, that of an open one the weight of
    those that would be left out without it.
    """
    gained = 0
    opened[disc] = max(sign, 0)
    for at in range(disc_ends[disc], disc_ends[disc + 1]):
        row = disc_rows[at]
        others = counts[row] + min(sign, 0)  # open discs that hold the row, besides this one
        counts[row] += sign
        if others == 0:
            gained += sign
        if others > 1:
            continue
        for other_at in range(row_ends[row], row_ends[row + 1]):
            other = row_discs[other_at]
            # a closed disc gains by a row that nobody holds, an open one by a row that nobody else holds
            if other != disc and opened[other] == others:
                scores[other] -= sign * weights[row]
    return gained


@kernel(signature=COVER)
def find_cover(disc_ends, disc_rows, row_ends, row_discs, moves, seed, chosen):
    """Choose as many discs as ``chosen`` holds so that together they hold every row; returns whether that worked.

    One is closed and another opened, at most ``moves`` times; a row weighs more the longer it has been left out, so
    that no choice is made for ever (Gao, Weise, Li: An efficient local search heuristic with row weighting for the
    unicost set covering problem, 2015). ``disc_ends`` and ``disc_rows`` list the rows of each disc, ``row_ends`` and
    ``row_discs`` the discs of each row.
    """
    n = row_ends.shape[0] - 1
    m = disc_ends.shape[0] - 1
    k = chosen.shape[0]
    np.random.seed(seed)
    counts = np.zeros(n, np.int64)
    weights = np.ones(n, np.int64)
    scores = np.zeros(m, np.int64)
    opened = np.zeros(m, np.int64)
    changed = np.zeros(m, np.int64)  # when a disc was last opened or closed
    for disc in range(m):
        scores[disc] = disc_ends[disc + 1] - disc_ends[disc]
    left = n
    for j in range(k):
        best = 0
        for disc in range(m):
            if opened[disc] == 0 and (opened[best] == 1 or scores[disc] > scores[best]):
                best = disc
        chosen[j] = best
        left -= _change(best, ONE, disc_ends, disc_rows, row_ends, row_discs, counts, weights, scores, opened)
    last = -1
    for move in range(1, moves + 1):
        if left == 0:
            return True
        out = -1
        for j in range(k):
            if chosen[j] == last and k > 1:
                continue
            if (
                out < 0
                or scores[chosen[j]] < scores[chosen[out]]
                or (scores[chosen[j]] == scores[chosen[out]] and changed[chosen[j]] < changed[chosen[out]])
            ):
                out = j
        closed = chosen[out]
        left -= _change(
            closed, -ONE, disc_ends, disc_rows, row_ends, row_discs, counts, weights, scores, opened
        )
        changed[closed] = move
        row = np.random.randint(n)
        while counts[row] > 0:
            row = (row + 1) % n
        best = -1
        for at in range(row_ends[row], row_ends[row + 1]):
            disc = row_discs[at]
            if disc == closed:
                continue
            if (
                best < 0
                or scores[disc] > scores[best]
                or (scores[disc] == scores[best] and changed[disc] < changed[best])
            ):
                best = disc
        if best < 0:
            best = closed
        left -= _change(best, ONE, disc_ends, disc_rows, row_ends, row_discs, counts, weights, scores, opened)
        changed[best] = move
        chosen[out] = best
        last = best
        for i in range(n):
            if counts[i] == 0:
                weights[i] += 1
                for at in range(row_ends[i], row_ends[i + 1]):
                    scores[row_discs[at]] += 1
    return left == 0
