"""Compare two plans for the same residents: which facilities are the same, and who changes facility."""

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tkm_core.arrays import Ints
from tkm_core.clustering import TiltedPath
from tkm_core.evaluation import compare_trips
from tkm_core.planning.plan import Plan


@dataclass(frozen=True)
class Move:
    """People who change from a facility of one plan to a facility of the other.

    Attributes
    ----------
    before, after : str
        Titles of the facilities.
    people : float
    change : float
        Metres by which their trips get longer on average; negative if they get shorter.
    """

    before: str
    after: str
    people: float
    change: float


def one_setting(plan: Plan, i: int) -> Plan:
    """The plan with i as its only setting.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, t=[0, 0.3, 1])
    >>> one_setting(plan, 1).t.tolist()
    [0.3]
    """
    path = TiltedPath(**{part.name: getattr(plan.path, part.name)[i : i + 1] for part in fields(plan.path)})
    grounds = None if plan.grounds is None else plan.grounds.at(np.array([i]))
    return replace(plan, path=path, grounds=grounds, _curves={}, _stops={})


def same_facilities(before: Plan, after: Plan) -> Ints:
    """For each facility of `after`, at its first setting, the index of the same one in `before`; -1 if it is new.

    An existing facility is itself. New and pinned ones are paired so that together they move as little as possible.
    """
    sides = [
        {number: j for j, (number, kind) in enumerate(zip(plan.numbers, plan.kinds, strict=True)) if kind == "existing"}
        for plan in (before, after)
    ]  # fmt: skip
    pairs = np.full(len(after.numbers), -1, np.int64)
    same_file = np.array_equal(
        before.existing.lonlat[: before.n_today], after.existing.lonlat[: after.n_today]
    )
    if same_file:
        for number, j in sides[1].items():
            pairs[j] = sides[0].get(number, -1)
    free = [
        [j for j in range(len(plan.numbers)) if not same_file or j not in side.values()]
        for plan, side in zip((before, after), sides, strict=True)
    ]
    apart = cdist(before.centers_xy(0)[free[0]], after.centers_xy(0)[free[1]])
    for row, column in zip(*linear_sum_assignment(apart), strict=True):
        pairs[free[1][column]] = free[0][row]
    return pairs


def moves(before: Plan, after: Plan) -> list[Move]:
    """People served by different facilities in the two plans, largest numbers first.

    A facility that has moved is still the same facility: see `same_facilities`.

    Parameters
    ----------
    before, after : Plan
        For the same residents; the first setting of each counts.

    Returns
    -------
    list of Move

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> town = load_sample("generated", n=300)
    >>> two, three = (one_setting(make_plan(town, k, t=[0.0]), 0) for k in (2, 3))
    >>> moves(two, two), len(moves(two, three)) > 0
    ([], True)
    """
    people = before.residents.weights
    found = compare_trips(before.evaluation(0).trips(people), after.evaluation(0).trips(people))
    moved = (same_facilities(before, after)[found.now] != found.was) & (found.people > 0)
    ways, way = np.unique(np.column_stack([found.was, found.now])[moved], axis=0, return_inverse=True)
    counts = np.bincount(way.ravel(), found.people[moved], minlength=len(ways))
    metres = np.bincount(way.ravel(), (-found.gain * found.people)[moved], minlength=len(ways))
    moves = [
        Move(before.title(int(one)), after.title(int(other)), float(count), float(longer / count))
        for (one, other), count, longer in zip(ways, counts, metres, strict=True)
    ]
    return sorted(moves, key=lambda move: (-move.people, move.before, move.after))
