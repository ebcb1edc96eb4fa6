"""The portfolio of a plan: the fewest settings of the dial that are nearly as good as all of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from tkm_core.arrays import Floats
from tkm_core.clustering import city_cost

if TYPE_CHECKING:
    from tkm_core.planning.plan import Plan

TOLERANCE = 0.01
COARSER = (TOLERANCE, 0.02, 0.05, 0.1, 0.2)
BINS = 20_000  # the most distinct squared distances; more residents are put in bins
# Weight of the total excess against one more plan: it only decides between equally small portfolios.
EXCESS = 1e-3


@dataclass(frozen=True)
class Choice:
    """One plan of a portfolio, and the settings it stands for.

    Attributes
    ----------
    i : int
        Its setting of the dial.
    stands_for : tuple of int
        The settings that it represents best, in the order of the dial.
    excess : float
        The largest share by which its city-wide cost exceeds a setting's own, among those.
    """

    i: int
    stands_for: tuple[int, ...]
    excess: float


def portfolio(plan: "Plan", tolerance: float = TOLERANCE) -> tuple[Choice, ...]:
    """The fewest settings such that every setting is represented within ``tolerance`` of its own city-wide cost.

    Every plan is measured at every t. The choice is a set cover, solved exactly; among equally small ones, the one
    with the least total excess is taken.

    Parameters
    ----------
    plan : Plan
    tolerance : float
        Share of the city-wide cost (a squared distance) by which a plan may be above a setting's own.

    Returns
    -------
    tuple of Choice
        In the order of the dial.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3)
    >>> few = portfolio(plan, 0.05)
    >>> len(few) < len(plan), sorted(i for choice in few for i in choice.stands_for) == list(range(len(plan)))
    (True, True)
    """
    if not 0 <= tolerance < np.inf:
        msg = f"tolerance is {tolerance}; it must be a number from 0 upwards, such as 0.01 for one per cent."
        raise ValueError(msg)
    return _choices(excesses(plan), tolerance)


def short_portfolio(plan: "Plan", most: int = 4) -> tuple[float, tuple[Choice, ...]]:
    """The first tolerance of 1, 2, 5, 10, 20 % at which the portfolio has at most ``most`` plans, and that portfolio.

    If even 20 % needs more plans, it is that of 20 %.

    Parameters
    ----------
    plan : Plan
    most : int

    Returns
    -------
    tuple of float and tuple of Choice
    """
    excess = excesses(plan)
    for tolerance in COARSER:
        found = _choices(excess, tolerance)
        if len(found) <= most:
            break
    return tolerance, found


def _choices(excess: Floats, tolerance: float) -> tuple[Choice, ...]:
    """The fewest plans within the tolerance, and the settings that each represents."""
    chosen = smallest_cover(excess <= tolerance, excess)
    nearest = chosen[excess[:, chosen].argmin(axis=1)]
    found = []
    for j in chosen:
        mine = np.flatnonzero(nearest == j)
        found.append(Choice(int(j), tuple(map(int, mine)), float(excess[mine, j].max(initial=0.0))))
    return tuple(found)


def excesses(plan: "Plan") -> Floats:
    """The share by which plan j costs more than plan i at the t of i, shape (settings, plans); never below 0."""
    tilts = plan.t / plan.scale**2
    costs = np.empty((len(plan), len(plan)))
    for j in range(len(plan)):
        trips = plan.trips(j)
        f, weights = _distribution(trips.distance**2, trips.people)
        costs[:, j] = [city_cost(f, weights, float(t)) for t in tilts]
    own = np.diag(costs)[:, None]
    more = np.maximum(costs - own, 0.0)
    return np.where(more > 0, more / np.where(own > 0, own, np.finfo(float).tiny), 0.0)


def smallest_cover(covers: NDArray[np.bool_], excess: Floats) -> NDArray[np.int64]:
    """The fewest columns that together cover every row; ``excess`` (rows, columns) breaks ties.

    >>> smallest_cover(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool), np.zeros((3, 3))).tolist()
    [1, 2]
    """
    m = covers.shape[1]
    own = np.where(covers, excess, 0.0).mean(axis=0)
    price = 1 + EXCESS / m * own / max(float(own.max()), np.finfo(float).tiny)
    found = milp(
        price,
        constraints=LinearConstraint(covers.astype(np.float64), lb=1),
        integrality=np.ones(m),
        bounds=Bounds(0, 1),
    )
    return np.flatnonzero(found.x > 0.5)


def _distribution(f: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Squared distances and weights; for very many residents in narrow bins, with the longest kept exact."""
    live = weights > 0
    f, weights = f[live], weights[live]
    top = float(f.max())
    if len(f) <= BINS or top == 0:
        return f, weights
    cell = np.minimum((f / top * BINS).astype(np.int64), BINS)  # the longest have a bin of their own
    mass: Floats = np.bincount(cell, weights, BINS + 1).astype(np.float64)
    total = np.bincount(cell, weights * f, BINS + 1)
    used = mass > 0
    return total[used] / mass[used], mass[used]
