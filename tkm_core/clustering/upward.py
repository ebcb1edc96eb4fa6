"""Keep the farthest resident from being let down again as the dial goes up, where the city-wide cost allows it."""

from collections.abc import Callable

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering.descent import Descent, Problem, descend, nearest
from tkm_core.clustering.objective import city_cost

ALLOWED = 1e-3  # relative: what a plan may cost more for it
TRIED = 3  # plans from which fixed points are sought
NOTICED = 1e-3  # relative: a longest way that grows by no more has not grown


def not_let_down(
    problem: Problem, tilts: Floats, plans: list[Descent], stand: Callable[[Floats, float], Descent]
) -> dict[int, Descent]:
    """Which plans to replace, and by what, so that the longest way does not grow again with t.

    Where it would, a plan takes its place that costs at most ``ALLOWED`` more and lets nobody down: the fixed point to
    which a plan of another t leads, or else that plan as it stands. Where there is none, the plan stays.

    Parameters
    ----------
    problem : Problem
        The residents on whom plans are compared.
    tilts : array (m,)
        Rising, in the solver's coordinates.
    plans : list of Descent
        One for each t, in the solver's coordinates.
    stand : callable(centers, t)
        The costs of facilities that stay where they are.
    """
    distances = [nearest(problem.X, plan.centers)[1] for plan in plans]
    longest = np.array([f.max() for f in distances])
    found: dict[int, Descent] = {}
    least = np.inf
    for i, t in enumerate(tilts):
        limit = least * (1 + NOTICED) ** 2
        if longest[i] > limit:
            affordable = city_cost(distances[i], problem.weights, t) * (1 + ALLOWED)
            fair = np.flatnonzero(longest <= limit)
            costs = [city_cost(distances[j], problem.weights, t) for j in fair]
            near = fair[np.argsort(costs, kind="stable")]
            ends = (descend(problem, plans[j].centers, t) for j in near[:TRIED])
            fixed = [end for end in ends if end.city_cost <= affordable and _longest(problem, end) <= limit]
            if fixed or min(costs) <= affordable:
                centers = (fixed or [plans[near[0]]])[0].centers
                found[i] = stand(centers, t)
                distances[i] = nearest(problem.X, centers)[1]
                longest[i] = distances[i].max()
        least = min(least, longest[i])
    return found


def _longest(problem: Problem, plan: Descent) -> float:
    return float(nearest(problem.X, plan.centers)[1].max())
