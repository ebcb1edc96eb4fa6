"""Catchments (isochrones): the people and streets within some minutes of a plan's facilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import shapely

from tkm_core.planning.plan import Plan

MINUTES = (5.0, 10.0, 15.0, 20.0)


@dataclass(frozen=True, eq=False)
class Reached:
    """The catchment of one facility, or of all together, for one limit of minutes.

    Attributes
    ----------
    minutes : float
        The limit.
    people : float
        People who live within it.
    share : float
        Their share of all people.
    km : float
        Length of the streets within it.
    shape : shapely.MultiPolygon
        The ground along those streets, in degrees.
    """

    minutes: float
    people: float
    share: float
    km: float
    shape: shapely.MultiPolygon


def catchments(
    plan: Plan, i: int, facility: int | None = None, minutes: Sequence[float] = MINUTES
) -> list[Reached]:
    """The catchments of one facility, or of all together, at a setting of the dial.

    Minutes are for the plan's mode and direction of travel, even if the plan itself uses metres.

    Parameters
    ----------
    plan : Plan
        Along streets.
    i : int
        Setting of the dial.
    facility : int, optional
        Which facility, counted from 0; all by default.
    minutes : sequence of float
        The limits.

    Returns
    -------
    list of Reached
        One for each limit.

    Raises
    ------
    ValueError
        If the plan does not go along streets, or has no such facility.

    Examples
    --------
    >>> import tkm_core as tkm
    >>> line = b'{"type": "LineString", "coordinates": [[0, 0], [0.004, 0], [0.008, 0], [0.012, 0]]}'
    >>> town = tkm.Residents.from_lonlat([[0.001, 0], [0.004, 0], [0.012, 0]], [10, 20, 70])
    >>> plan = tkm.make_plan(town, 1, streets=tkm.load_streets(line), t=[0])
    >>> [(one.minutes, one.people) for one in catchments(plan, 0, minutes=(5, 15))]
    [(5.0, 70.0), (15.0, 90.0)]
    """
    travel, home = plan.rules.travel, plan.residents
    lonlat = plan.centers_lonlat(i)
    if facility is not None:
        if not 0 <= facility < len(lonlat):
            msg = f"There is no facility {facility} (counted from 0): the plan has {len(lonlat)}."
            raise ValueError(msg)
        lonlat = lonlat[facility : facility + 1]
    total = home.weights.sum()
    found = []
    for one, nearest in travel.reached(home, lonlat, minutes):
        people = float(home.weights[nearest <= one.minutes].sum())
        found.append(Reached(one.minutes, people, float(people / total), one.metres / 1000, one.shape))
    return found
