"""How each group of residents (district, income band) fares under a plan, compared with the reference."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tkm_core.measures import MEASURES
from tkm_core.planning.plan import Plan
from tkm_core.planning.rows import Row, distance_decimals, rounded_row
from tkm_core.units import METRES

UNNAMED = "(no group)"


@dataclass(frozen=True)
class Group:
    """One group of residents.

    Attributes
    ----------
    name : str
        As in the file; "(no group)" for those without one.
    people : float
    average, farthest : Row
        Average and longest distance of the group, rounded, next to the reference.
    losers : float
        Share of the group that travels noticeably farther than in the reference.
    """

    name: str
    people: float
    average: Row
    farthest: Row
    losers: float


def by_group(plan: Plan, i: int, *, unit: str = "km") -> list[Group]:
    """How each group fares at setting i, the group with the longest average trip first.

    Parameters
    ----------
    plan : Plan
    i : int
    unit : {"km", "mi", "min"}

    Returns
    -------
    list of Group
        Empty if the residents have no groups. Groups in which nobody lives are left out.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=500), 3, t=[0, 1])
    >>> by_group(plan, 1)[0].name
    'farm'
    """
    unit = plan.shown_unit(unit)
    labels, weights = plan.residents.groups, plan.residents.weights
    if labels is None:
        return []
    codes, names = pd.factorize(pd.Series(labels, dtype=object))
    codes = np.where(codes < 0, len(names), codes)
    decimals = distance_decimals(plan.evaluation(i), plan.reference_evaluation(), unit)
    found = plan.changes(i)
    trips = [side / METRES[unit] for side in (found.after, found.before)]
    losing = trips[0] - trips[1] >= 0.5 * 10.0**-decimals
    groups = []
    for code in np.unique(codes[weights > 0]):
        mine = (codes[found.resident] == code) & (found.people > 0)
        people = found.people[mine]
        average = [float(np.average(trip[mine], weights=people)) for trip in trips]
        farthest = [float(trip[mine].max()) for trip in trips]
        groups.append(
            Group(
                name=UNNAMED if code == len(names) else str(names[code]),
                people=float(people.sum()),
                average=rounded_row(
                    "mean_distance",
                    MEASURES["mean_distance"].row_label(unit, {}),
                    *average,
                    decimals=decimals,
                ),
                farthest=rounded_row("largest_distance", f"Farthest, {unit}", *farthest, decimals=decimals),
                losers=float(people[losing[mine]].sum() / people.sum()),
            )
        )
    return sorted(groups, key=lambda group: (-group.average.plan, group.name))
