"""Who goes where: one row for each place and facility, and the change from one plan to another."""

from typing import NamedTuple

import numpy as np

from tkm_core.arrays import Floats, Ints

ROUNDING = 1e-9  # share of a place's people that is rounding, not people


class Trips(NamedTuple):
    """Who goes where. Where room is limited, the people of one place may go to several facilities.

    Attributes
    ----------
    resident : int array (r,)
        The row of the residents, in ascending order; every row occurs.
    facility : int array (r,)
    people : array (r,)
        How many of them go there.
    distance : array (r,)
    """

    resident: Ints
    facility: Ints
    people: Floats
    distance: Floats

    @property
    def farthest(self) -> int:
        """Row of the longest trip; places where nobody lives do not count."""
        return int(np.argmax(np.where(self.people > 0, self.distance, -1.0)))


class Changes(NamedTuple):
    """How far people go in two plans, one row for people of a place who share both facilities.

    Attributes
    ----------
    resident : int array (c,)
    trip : int array (c,)
        Their row among the trips of the later plan.
    was, now : int array (c,)
        Their facility in each plan.
    people : array (c,)
    before, after : array (c,)
        Their distance in each plan.
    """

    resident: Ints
    trip: Ints
    was: Ints
    now: Ints
    people: Floats
    before: Floats
    after: Floats

    @property
    def gain(self) -> Floats:
        """How much shorter the trips get; negative: longer."""
        return self.before - self.after


def compare_trips(before: Trips, after: Trips) -> Changes:
    """Follow people from one plan to another.

    The people of a place are alike, so where they go to several facilities it is not known who goes where: those with
    the shorter trips in one plan are taken to be those with the shorter trips in the other.

    Parameters
    ----------
    before, after : Trips
        Of the same residents.

    Returns
    -------
    Changes

    Examples
    --------
    >>> one = Trips(np.array([0, 1]), np.array([0, 0]), np.array([5.0, 6.0]), np.array([1.0, 2.0]))
    >>> split = Trips(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([5.0, 4.0, 2.0]), np.array([1.0, 2.0, 7.0]))
    >>> found = compare_trips(one, split)
    >>> found.people.tolist(), found.gain.tolist()
    ([5.0, 4.0, 2.0], [0.0, 0.0, -5.0])
    """
    n = int(after.resident[-1]) + 1
    many = [np.bincount(side.resident, minlength=n) for side in (before, after)]
    split = (many[0] > 1) | (many[1] > 1)
    then, now = (np.flatnonzero(~split[side.resident]) for side in (before, after))
    pairs = [np.column_stack([then, now])]
    people = [after.people[now]]
    for resident in np.flatnonzero(split).tolist():
        found, count = _paired(before, after, resident)
        pairs.append(found)
        people.append(count)
    one, other = np.concatenate(pairs).T
    everyone = np.concatenate(people)
    order = np.lexsort((one, other))
    one, other, everyone = one[order], other[order], everyone[order]
    return Changes(
        after.resident[other], other, before.facility[one], after.facility[other], everyone, before.distance[one],
        after.distance[other],
    )  # fmt: skip


def _paired(before: Trips, after: Trips, resident: int) -> tuple[Ints, Floats]:
    """Rows of both plans that share people of one place, and how many they share."""
    sides = []
    for trips in (before, after):
        rows = np.arange(*np.searchsorted(trips.resident, [resident, resident + 1]))
        rows = rows[np.argsort(trips.distance[rows], kind="stable")]
        sides.append((rows, np.cumsum(trips.people[rows])))
    total = sides[1][1][-1]
    edges = np.unique(np.concatenate([np.minimum(ends, total) for _, ends in sides]))
    edges = np.append(edges[edges < total * (1 - ROUNDING)], total)
    edges = edges[np.diff(edges, prepend=0.0) > total * ROUNDING]
    middle = edges - np.diff(edges, prepend=0.0) / 2
    shared = [who[np.minimum(np.searchsorted(ends, middle), len(who) - 1)] for who, ends in sides]
    return np.column_stack(shared), np.diff(edges, prepend=0.0)
