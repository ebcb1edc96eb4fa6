"""Keep the farthest resident from moving farther away again as t grows, if the city-wide cost allows it."""

from collections.abc import Callable

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering.descent import Descent, Problem, descend, nearest
from tkm_core.clustering.objective import city_cost

ALLOWED = 1e-3  # relative: how much more such a plan may cost
TRIED = 2  # plans of other t that are tried, besides the one to replace
STRONGER = (1.0, 1.5, 3.0, 8.0)  # times t: where fixed points are searched from those plans
NOTICED = 1e-3  # relative: a smaller increase of the longest distance does not count


def not_let_down(
    problem: Problem, tilts: Floats, plans: list[Descent], stand: Callable[[Floats, float], Descent]
) -> dict[int, Descent]:
    """Which plans to replace, and by what, so that the longest distance does not grow again with t.

    If it would, the plan is replaced by the cheapest one that costs at most ``ALLOWED`` more and does not: a plan of
    another t, or a fixed point at this t or a stronger one reached from such a plan or from the plan itself. If there
    is none, the plan stays.

    Parameters
    ----------
    problem : Problem
        The residents on whom plans are compared.
    tilts : array (m,)
        Rising, in the solver's coordinates.
    plans : list of Descent
        One for each t, in the solver's coordinates.
    stand : callable(centers, t)
        The costs of facilities that stay where they are, for all residents as those of ``plans`` are.
    """
    distances = [nearest(problem.X, plan.centers)[1] for plan in plans]
    longest = np.array([f.max() for f in distances])
    found: dict[int, Descent] = {}
    now = [plan.centers for plan in plans]
    least = np.inf
    for i, t in enumerate(tilts):
        limit = least * (1 + NOTICED) ** 2
        if longest[i] > limit:
            own, affordable = distances[i], city_cost(distances[i], problem.weights, t) * (1 + ALLOWED)
            fair = np.flatnonzero(longest <= limit)
            costs = [city_cost(distances[j], problem.weights, t) for j in fair]
            near = fair[np.argsort(costs, kind="stable")][:TRIED]
            others = [now[j] for j in near]
            tried = [
                descend(problem, start, t * times, tol=1e-4).centers
                for start in (now[i], *others)
                for times in STRONGER
            ]
            for centers in (*others[:1], *tried):
                f = nearest(problem.X, centers)[1]
                cost = city_cost(f, problem.weights, t)
                if cost <= affordable and f.max() <= limit:
                    affordable, distances[i], now[i] = cost, f, centers
            if now[i] is not plans[i].centers:
                stood = stand(now[i], t)
                if stood.city_cost <= plans[i].city_cost * (1 + ALLOWED):
                    found[i] = stood
                else:  # among all residents it costs more than among their stand-ins
                    now[i], distances[i] = plans[i].centers, own
            longest[i] = distances[i].max()
        least = min(least, longest[i])
    return found
