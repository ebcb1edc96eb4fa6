"""Plans on the cells as good as cells can make them, before the rows are looked at again.

A large t is decided by the few who live farthest out, and there plans in which facilities stand quite differently cost
nearly the same: a search on a thousand stand-ins cannot tell which of them is best. So its winners are searched on
among several thousand, the best is handed on to the settings beside it, and every setting descends on all cells.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering.continuity import VISIBLE, found_jumps, matched
from tkm_core.clustering.descent import Descent, descend, descend_all
from tkm_core.clustering.search import COLUMN, Search
from tkm_core.clustering.threads import pool
from tkm_core.clustering.upward import not_let_down
from tkm_core.progress import Progress, silent

EVERY = 3  # of the hot settings one is searched at
HOPE = 1e-2  # relative: a plan of another t that costs more by this, as it stands, is not tried
SEARCHES, FINALISTS = 4, 2  # on few stand-ins, and those of them that are searched on among more
FINER, PATIENCE = 8_000, 12  # stand-ins, and moves in a row that may fail there
TOLERANCE = 1e-6  # of descents: its square root is the step, relative to a cluster's radius, that may be left


def settled(
    search: Search, centers: Floats, tilts: Floats, hot: Bools, report: Progress = silent
) -> tuple[Floats, Ints, Bools]:
    """Fixed points (m, k, d) on the cells, searched for anew where it is hot, and the arrangement each belongs to.

    The last result says which of them are no fixed points: they were chosen so that nobody is let down, and a step
    would undo that. All in the solver's coordinates; ``centers`` are the fixed points of the walk.
    """
    problem, column, n_free = search.full, COLUMN[search.criterion], search.full.n_free
    order = [int(i) for i in np.argsort(tilts, kind="stable")]

    def at_once(work: Callable[[int, Floats], Descent], starts: list[tuple[int, Floats]]) -> list[Descent]:
        """Some work on starts, one on each thread."""
        tasks = [pool().submit(work, i, start) for i, start in starts]
        try:
            found = []
            for task in tasks:
                report(0.0, "Settling on the cells")
                found.append(replace(task.result(), labels=np.empty(0, np.int32)))
            return found
        finally:
            for task in tasks:
                task.cancel()

    def down(i: int, start: Floats) -> Descent:
        """A descent on all cells."""
        return descend(problem, start, tilts[i], tol=TOLERANCE, alone=True)

    def down_by_stand_ins(i: int, start: Floats) -> Descent:
        """The same, most of the way on fewer stand-ins."""
        near = start if search.middle is problem else descend(search.middle, start, tilts[i]).centers
        return down(i, near)

    def stand(i: int, start: Floats) -> Descent:
        """The costs of facilities that stay where they are."""
        return descend(problem, start, tilts[i], max_iter=0, alone=True)

    best = at_once(down_by_stand_ins, list(enumerate(centers)))

    def offer(starts: list[tuple[int, Floats]], work: Callable[[int, Floats], Descent]) -> set[int]:
        """Keep what is lower than the best; returns where that was so."""
        lower = set()
        for (i, _), end in zip(starts, at_once(work, starts), strict=True):
            if end.history[-1, column] < best[i].history[-1, column]:
                best[i] = end
                lower.add(i)
        return lower

    hottest = [i for i in order if hot[i]]
    rng = np.random.default_rng(0)
    found = [
        (i, plan)
        for i in hottest[::-EVERY]
        for plan in _searched(search, best[i].centers, tilts[i], rng, report)
    ]
    offer(found, down_by_stand_ins)
    changed = set(order)
    while changed:
        beside = [(a, b) for a, b in [*pairwise(order), *pairwise(order[::-1])] if a in changed]
        starts = [(b, best[a].centers) for a, b in beside if _differ(best[a], best[b], n_free)]
        costs = [each.history[-1, column] for each in at_once(stand, starts)]
        hopeful = [
            start
            for start, cost in zip(starts, costs, strict=True)
            if cost < best[start[0]].history[-1, column] * (1 + HOPE)
        ]
        changed = offer(hopeful, down)
    rising, plans = tilts[order], [best[i] for i in order]
    chosen = np.zeros(len(plans), np.bool_)
    if search.criterion == "city":
        still = partial(descend, problem, max_iter=0, alone=True)
        for i, other in not_let_down(search.middle, rising, plans, still).items():
            plans[i], chosen[i] = other, True
    ends = matched(np.array([each.centers for each in plans]), n_free)
    jumps = found_jumps(search.walk, rising, ends, [each.sse for each in plans])
    back = np.argsort(order, kind="stable")
    return ends[back], np.cumsum(jumps, dtype=np.int64)[back], chosen[back]


def _differ(one: Descent, other: Descent, n_free: int) -> bool:
    """Whether a facility stands visibly elsewhere in the other plan."""
    mine, theirs = matched(np.stack([one.centers, other.centers]), n_free)
    moved = np.sqrt(((mine - theirs) ** 2).sum(axis=1).max())
    return bool(moved > VISIBLE * np.sqrt(other.sse))


def _searched(search: Search, start: Floats, t: float, rng: np.random.Generator, report: Progress) -> Floats:
    """Plans for t worth a descent on all cells."""
    report(0.0, "Searching where the farthest decide")
    fresh = search.candidates(t, rng, SEARCHES)
    ends, values = descend_all(search.middle, np.concatenate([start[None], fresh]), t, tol=1e-4)
    few = ends[np.argsort(values[:, COLUMN[search.criterion]], kind="stable")[:FINALISTS]]
    return search.improved(few, t, rng, FINER, PATIENCE)
