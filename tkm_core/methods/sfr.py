"""SFR: FR on representatives, each of which stands for the residents near it."""

import numpy as np

from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods.cover import ball_filter
from tkm_core.methods.fr import fair_round
from tkm_core.methods.method import Method, MethodTooLargeError, Placement, Task, judge
from tkm_core.methods.service_lp import lp_cost
from tkm_core.progress import part

DELTA = 0.3


def place(task: Task, *, delta: float = DELTA) -> Placement:
    """FR on the ball filter's points at dilation ``delta``, weighted by whom they cover.

    A representative keeps its own radius, widened if needed until it holds a k-th of the population among
    representatives: otherwise the program may have no solution.
    """
    if not delta >= 0:
        msg = f"delta is {delta}; it must be 0 (no thinning, the same as FR) or more, 0.3 in the paper."
        raise ValueError(msg)
    radius = neighbourhood_radius(
        task.points, task.n_clusters, task.weights, progress=part(task.report, 0.0, 0.3)
    )
    cover = ball_filter(task.points, radius, delta)
    points = task.points[cover.chosen]
    weights = np.bincount(cover.owner, task.weights, minlength=len(points)).astype(np.float64)
    what = f"{len(points):,} representatives of {len(task.points):,} places"
    expected = judge("SFR", what, *lp_cost(len(points)), task.max_seconds)
    if not expected.feasible:
        raise MethodTooLargeError(expected)
    widened = np.maximum(radius[cover.chosen], neighbourhood_radius(points, task.n_clusters, weights))
    chosen, service = fair_round(points, weights, task.n_clusters, widened, part(task.report, 0.3, 1.0))
    rows = cover.chosen[chosen]
    return Placement(
        centers=task.points[rows],
        rows=rows,
        details={
            "representatives": len(points),
            "lp_value": service.value / float(weights.sum()) * task.unit * task.unit,
            "lp_rounds": service.rounds,
        },
    )


def _cost(n: int, d: int, k: int) -> tuple[float, int]:
    """The expected cost, with as many representatives as in typical data; only the filter knows the exact number."""
    seconds, size = lp_cost(min(n, k * (40, 150)[d > 2]))
    return seconds + 3e-8 * n * n, size + 200 * n


METHOD = Method(
    name="sfr",
    title="SFR",
    description="The same as FR on a thinned-out set of residents that each stand for those nearby: faster, "
    "a little less exact.",
    source="M. Negahbani, D. Chakrabarty: Better Algorithms for Individually Fair k-Clustering, NeurIPS 2021",
    centers_are_points=True,
    options={"delta": DELTA},
    place=place,
    cost=_cost,
    may_give_up=True,
)
