"""Compare a plan along streets with one made by straight lines, measured along the same streets."""

from dataclasses import dataclass, replace

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.planning.allowed import put_where_allowed
from tkm_core.planning.making import make_plan
from tkm_core.planning.plan import Plan
from tkm_core.planning.travel import STRAIGHT
from tkm_core.progress import Progress


@dataclass(frozen=True, eq=False)
class ByStraightLines:
    """A plan and its counterpart by straight lines: the same rules, except for how distance is measured.

    Attributes
    ----------
    plan : Plan
        Along streets, or by a table.
    straight : Plan
        By straight lines.
    """

    plan: Plan
    straight: Plan

    def lonlat(self, i: int) -> Floats:
        """The straight-line facilities at the plan's setting i, moved to the nearest junction or site; in degrees."""
        t = float(self.plan.t[i])
        found = self.straight.with_stop(t)
        lonlat = found.centers_lonlat(found.index(t)).copy()
        new = self.straight.k
        lonlat[:new] = put_where_allowed(lonlat[:new], self.plan.residents, self.plan.rules)
        return lonlat

    def evaluation(self, i: int, standard: float | None = None) -> Evaluation:
        """Every measure of those facilities by the rules of the plan, in its units."""
        xy = self.plan.residents.lonlat_to_xy(self.lonlat(i))
        return self.plan.serving.evaluate(xy, float(self.plan.t[i]), standard, limited=None)


def by_straight_lines(plan: Plan, progress: Progress | None = None) -> ByStraightLines:
    """Plan again by straight lines, with the same facilities, rules and settings of the dial.

    Parameters
    ----------
    plan : Plan
        Along streets, or by a table.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    ByStraightLines

    Raises
    ------
    ValueError
        If the plan goes by straight lines itself.

    Examples
    --------
    >>> import tkm_core as tkm
    >>> line = b'{"type": "LineString", "coordinates": [[0, 0], [0, 0.02], [0.004, 0.02], [0.004, 0]]}'
    >>> town = tkm.Residents.from_lonlat([[0, 0], [0, 0.001], [0.004, 0]])
    >>> plan = tkm.make_plan(town, 1, streets=tkm.load_streets(line), t=[0])
    >>> other = by_straight_lines(plan)
    >>> other.evaluation(0).mean_distance >= plan.evaluation(0).mean_distance
    True
    """
    if plan.rules.straight:
        msg = "This plan is itself measured in straight lines: there is nothing to compare."
        raise ValueError(msg)
    straight = make_plan(
        plan.residents, plan.k, t=plan.t, fixed_lonlat=plan.existing.lonlat, fixed_names=plan.existing.names,
        closed=plan.closed, pinned=plan.existing.pinned, rules=replace(plan.rules, travel=STRAIGHT),
        random_state=plan.random_state, progress=progress,
    )  # fmt: skip
    return ByStraightLines(plan, straight)
