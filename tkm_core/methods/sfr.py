"""SFR: FR on representatives, each standing for the residents close to it."""

import numpy as np

from tkm_core.methods.cover import ball_filter
from tkm_core.methods.fr import fair_round
from tkm_core.methods.method import Method, Placement, Task, fewer_note, part
from tkm_core.methods.service_lp import lp_cost
from tkm_core.neighbourhood import neighbourhood_radius

DELTA = 0.3


def place(task: Task, *, delta: float = DELTA) -> Placement:
    """FR on the ball filter's points at dilation ``delta``, weighted by whom they cover.

    A representative's radius is its own, widened where needed until it holds a k-th of the population among
    representatives: with the radius of the full data alone the program may have no solution.
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
    widened = np.maximum(radius[cover.chosen], neighbourhood_radius(points, task.n_clusters, weights))
    chosen, service = fair_round(points, weights, task.n_clusters, widened, part(task.report, 0.3, 1.0))
    rows = cover.chosen[chosen]
    return Placement(
        centers=task.points[rows],
        rows=rows,
        notes=fewer_note("SFR", len(rows), task.n_clusters),
        details={
            "representatives": len(points),
            "lp_value": service.value / float(weights.sum()),
            "lp_rounds": service.rounds,
        },
    )


def _cost(n: int, d: int, k: int) -> tuple[float, int]:
    """Representatives keep 0.3 radii apart: their number follows the dimension and k, not n."""
    representatives = min(n, int(k * 12.0 ** min(d, 6)))
    seconds, size = lp_cost(representatives, k)
    return seconds + 1e-7 * n * n, size + 200 * n


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
)
