"""Place facilities on junctions of streets: on a thinned selection first, then on their neighbours."""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering import city_cost
from tkm_core.planning.placing import Task
from tkm_core.progress import Progress
from tkm_core.residents import Residents

ROUNDS = 200  # the most moves from junction to junction in one plan
LOWER = 1e-9  # relative: smaller gains do not count


def junctions(task: Task, places: Floats, at_most: int) -> tuple[Floats, Ints]:
    """Positions and indices of junctions near people that the zones allow, thinned out."""
    rules = task.rules
    chosen = np.empty(0, np.int64)
    wide = at_most
    while True:
        near = rules.travel.candidates(task.residents, wide)
        good = near[rules.allows(places[near])]
        if len(good) <= at_most:
            chosen = good
        if len(good) > at_most or len(near) < wide or not rules.zoned:
            break
        wide *= 2
    if not len(chosen):
        anywhere = np.flatnonzero(rules.allows(places))
        chosen = anywhere[:: -(-len(anywhere) // at_most) or 1]
    if not len(chosen):
        msg = "The zones leave no junction of the streets. Change the zones."
        raise ValueError(msg)
    return places[chosen], chosen


@dataclass(frozen=True, eq=False)
class Refined:
    """Junctions in use, the junction of each facility at every setting, and the costs."""

    lonlat: Floats
    sites: Ints
    cost: Floats


def refined(
    task: Task,
    crowd: Residents,
    people: Floats,
    junction: Ints,
    table: Floats,
    sites: Ints,
    tilts: Floats,
    report: Progress,
) -> Refined:
    """Move facilities from junction to junction until no neighbouring one is better, at every setting.

    Parameters
    ----------
    task : Task
    crowd, people
        The residents of the table, and how much each counts.
    junction : int ndarray of shape (m,)
        The candidates.
    table : ndarray of shape (n, m + f)
        From everyone to the candidates and the existing facilities.
    sites : int ndarray of shape (s, k + f)
        Chosen columns at every setting.
    tilts : ndarray of shape (s,)
        The settings in units of 1 / (table units)².
    report : callable
    """
    ways = _Ways(task, crowd, junction, table)
    k, live = task.k, people > 0
    kept = np.asarray(table[:, len(junction) :], dtype=np.float64).min(axis=1, initial=np.inf)[live]
    weights = people[live]
    plans = [[int(junction[column]) for column in row[:k]] for row in sites]
    found: dict[tuple[int, ...], Floats] = {}
    for i, t in enumerate(tilts):
        report(
            i / len(tilts), f"Looking at neighbouring junctions, setting {i + 1} of {len(tilts)} of the dial"
        )
        starts = [plans[i], *([plans[i - 1]] if i else [])]
        costs = [_cost(ways, start, kept, weights, live, t) for start in starts]
        plans[i] = _descend(ways, starts[int(np.argmin(costs))], kept, weights, live, float(t))
        found[tuple(plans[i])] = ways.nearest(plans[i])[live]
    # the plan of another setting may be better here
    cost = np.empty(len(tilts))
    for i, t in enumerate(tilts):
        values = {plan: city_cost(np.minimum(f, kept) ** 2, weights, float(t)) for plan, f in found.items()}
        best = min(values, key=values.__getitem__)
        if values[best] < values[tuple(plans[i])] * (1 - LOWER):
            plans[i] = list(best)
        cost[i] = values[tuple(plans[i])]
    numbered = _numbered(plans, task.residents.lonlat_to_xy(ways.places))
    used = np.unique(numbered)
    new = np.searchsorted(used, numbered)
    fixed = np.broadcast_to(
        np.arange(len(used), len(used) + sites.shape[1] - k), (len(new), sites.shape[1] - k)
    )
    return Refined(ways.places[used], np.concatenate([new, fixed], axis=1), cost)


class _Ways:
    """Travel from every resident to junctions, looked up in the table or measured and cached."""

    def __init__(self, task: Task, crowd: Residents, junction: Ints, table: Floats) -> None:
        assert task.rules.travel.places is not None  # noqa: S101 - junctions are among them
        self.travel, self.crowd, self.table, self.rules = task.rules.travel, crowd, table, task.rules
        self.places = task.rules.travel.places
        self.column = {int(number): place for place, number in enumerate(junction)}
        self.measured: dict[int, Floats] = {}
        self.around: dict[int, list[int]] = {}

    def load(self, wanted: list[int]) -> None:
        """Measure the travel to junctions that are not known yet."""
        new = [one for one in dict.fromkeys(wanted) if one not in self.column and one not in self.measured]
        if new:
            ways = self.travel.to_places(self.crowd, np.array(new), np.float32)
            self.measured.update(zip(new, np.ascontiguousarray(ways.T), strict=True))

    def to(self, junction: int) -> Floats:
        """Travel from every resident to a junction that was loaded."""
        if junction in self.column:
            return np.asarray(self.table[:, self.column[junction]], dtype=np.float64)
        return np.asarray(self.measured[junction], dtype=np.float64)

    def nearest(self, plan: list[int]) -> Floats:
        """Travel from every resident to the nearest junction of a plan."""
        self.load(plan)
        out = self.to(plan[0]).copy()
        for junction in plan[1:]:
            np.minimum(out, self.to(junction), out=out)
        return out

    def neighbours(self, junction: int) -> list[int]:
        """The neighbouring junctions that the zones allow."""
        if junction not in self.around:
            near = self.travel.neighbours(junction)
            self.around[junction] = near[self.rules.allows(self.places[near])].tolist()
        return self.around[junction]


def _cost(ways: _Ways, plan: list[int], kept: Floats, weights: Floats, live: Bools, t: float) -> float:
    """City-wide cost of a plan, including the facilities that stay."""
    return city_cost(np.minimum(ways.nearest(plan)[live], kept) ** 2, weights, float(t))


def _descend(
    ways: _Ways, start: list[int], kept: Floats, weights: Floats, live: Bools, t: float
) -> list[int]:
    """Move facilities one by one to their best neighbouring junction until none improves."""
    plan = list(start)
    cost = _cost(ways, plan, kept, weights, live, t)
    still, j = 0, 0
    for _ in range(ROUNDS):
        if still == len(plan):
            break
        near = [one for one in ways.neighbours(plan[j]) if one not in plan]
        ways.load(near)
        rest = kept if len(plan) == 1 else np.minimum(ways.nearest(plan[:j] + plan[j + 1 :])[live], kept)
        values = [city_cost(np.minimum(rest, ways.to(one)[live]) ** 2, weights, t) for one in near]
        if values and min(values) < cost * (1 - LOWER):
            cost, plan[j], still = min(values), near[int(np.argmin(values))], 0
            continue
        still, j = still + 1, (j + 1) % len(plan)
    return plan


def _numbered(plans: list[list[int]], xy: Floats) -> Ints:
    """Order facilities so that each stays where it is, or moves as little as possible, from one setting to the next."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    out = [plans[0]]
    for plan in plans[1:]:
        before = out[-1]
        apart = cdist(xy[before], xy[plan])
        _, match = linear_sum_assignment(np.sqrt(apart))  # who can stay, stays
        out.append([plan[slot] for slot in match])
    return np.array(out)
