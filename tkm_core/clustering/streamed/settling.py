"""Plans on the cells as good as cells can make them, before the rows are looked at again.

A large t is decided by the few who live farthest out, and there plans in which facilities stand quite differently cost
nearly the same: a search on a thousand stand-ins cannot tell which of them is best. So its winners are searched on
among several thousand, the best is handed on to the settings beside it, and every setting descends on all cells.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering.continuity import found_jumps, matched
from tkm_core.clustering.descent import Descent, Problem, descend, descend_all
from tkm_core.clustering.search import COLUMN, Search
from tkm_core.clustering.threads import pool
from tkm_core.clustering.upward import not_let_down
from tkm_core.progress import Progress, silent

EVERY = 3  # of the hot settings one is searched at
SEARCHES, FINALISTS = 8, 2  # on few stand-ins, and those of them that are searched on among more
FINER, PATIENCE = 8_000, 12  # stand-ins, and moves in a row that may fail there
TOLERANCE = 1e-6  # of descents: its square root is the step, relative to a cluster's radius, that may be left


def settled(
    X: Floats,
    weights: Floats,
    centers: Floats,
    tilts: Floats,
    hot: Bools,
    n_free: int,
    criterion: str,
    report: Progress = silent,
) -> tuple[Floats, Ints, Bools]:
    """Fixed points (m, k, d) on the cells X, searched for anew where it is hot, and the arrangement each belongs to.

    The last result says which of them are no fixed points: they were chosen so that nobody is let down, and a step
    would undo that. All in the solver's coordinates; ``centers`` are the fixed points of the walk.
    """
    problem = Problem.of(X, weights, n_free)
    search = Search(problem, centers[0, n_free:], criterion)
    column = COLUMN[criterion]
    order = [int(i) for i in np.argsort(tilts, kind="stable")]

    def descended(starts: list[tuple[int, Floats]]) -> list[Descent]:
        """Where descents on all cells end, one on each thread."""
        tasks = [
            pool().submit(descend, problem, start, tilts[i], tol=TOLERANCE, alone=True) for i, start in starts
        ]
        try:
            found = []
            for task in tasks:
                report(0.0, "Settling on the cells")
                found.append(replace(task.result(), labels=np.empty(0, np.int32)))
            return found
        finally:
            for task in tasks:
                task.cancel()

    best = descended(list(enumerate(centers)))

    def offer(starts: list[tuple[int, Floats]]) -> None:
        for (i, _), end in zip(starts, descended(starts), strict=True):
            if end.history[-1, column] < best[i].history[-1, column]:
                best[i] = end

    hottest = [i for i in order if hot[i]]
    rng = np.random.default_rng(0)
    anchors = hottest[::-EVERY]
    offer([(i, plan) for i in anchors for plan in _searched(search, best[i].centers, tilts[i], rng, report)])
    for a, b in [*pairwise(hottest[::-1]), *pairwise(hottest)]:
        offer([(b, best[a].centers)])
    rising, plans = tilts[order], [best[i] for i in order]
    chosen = np.zeros(len(plans), np.bool_)
    if criterion == "city":
        stand = partial(descend, problem, max_iter=0, alone=True)
        for i, other in not_let_down(search.middle, rising, plans, stand).items():
            plans[i], chosen[i] = other, True
    ends = matched(np.array([each.centers for each in plans]), n_free)
    jumps = found_jumps(search.walk, rising, ends, [each.sse for each in plans])
    back = np.argsort(order, kind="stable")
    return ends[back], np.cumsum(jumps, dtype=np.int64)[back], chosen[back]


def _searched(search: Search, start: Floats, t: float, rng: np.random.Generator, report: Progress) -> Floats:
    """Plans for t worth a descent on all cells."""
    report(0.0, "Searching where the farthest decide")
    fresh = search.candidates(t, rng, SEARCHES)
    ends, values = descend_all(search.middle, np.concatenate([start[None], fresh]), t, tol=1e-4)
    few = ends[np.argsort(values[:, COLUMN[search.criterion]], kind="stable")[:FINALISTS]]
    return search.improved(few, t, rng, FINER, PATIENCE)
