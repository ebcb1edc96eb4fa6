"""The fairness dial: where it stands, and the slider of every page but Plan, whose live map has a dial of its own."""

from collections.abc import Hashable, Sequence

import numpy as np

from pages.session import address, state
from tkm_core.planning import PLAN_T, Plan, nearest_stop


def stops(plan: Plan | None = None) -> tuple[float, ...]:
    """The settings of the dial: those of a plan, or the usual ones where there is no plan."""
    return tuple(float(t) for t in (PLAN_T if plan is None else plan.t))


def with_setting(plan: Plan) -> Plan:
    """The plan with the setting that the address names among its stops: a link may name any t.

    It stays a stop for the rest of the visit, so that the dial does not change under the hand.
    """
    t, visit = address.get("t"), state.visit()
    if t not in plan.t:
        visit.stop = t
    return plan if visit.stop is None else plan.with_stop(visit.stop)


def nearest(t: float, settings: Sequence[float]) -> float:
    """The setting that is nearest in proportion.

    >>> nearest(0.34, (0.0, 0.3, 0.35, 100.0)), nearest(0.1, (0.0, 0.3)), nearest(5000, (0.0, 0.3, 100.0))
    (0.35, 0.0, 100.0)
    """
    return settings[nearest_stop(np.array(settings), t)]


def setting(plan: Plan | None = None) -> float:
    """Where the dial stands: what the address says, as near as the settings of the plan come to it."""
    return nearest(address.get("t"), stops(plan))


def begin(city: Hashable, plan: Plan) -> None:
    """Open a city where something exists on the suggested plan; a setting from a link or by hand stays."""
    visit = state.visit()
    if not plan.k or visit.began == city or address.get("t") != visit.untouched_t:
        return
    visit.began = city
    suggested = float(plan.t[plan.knee()])
    if suggested != address.get("t"):
        turn_to(suggested)
    visit.untouched_t = suggested


def turn_to(t: float) -> None:
    """Turn the dial, even while it plays; a callback."""
    state.visit().live_map.turned += 1
    address.put("t", float(t))
