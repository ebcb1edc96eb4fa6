"""JKL: no resident farther than twice their neighbourhood radius."""

from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods.cover import ball_filter
from tkm_core.methods.method import Method, Placement, Task
from tkm_core.progress import part

DILATION_TOLERANCE = 1e-6


def place(task: Task) -> Placement:
    """Find the smallest dilation in [1, 2] at which the ball filter needs at most k points, by bisection.

    At 2 it never needs more, because the balls of the chosen points are disjoint and each holds a k-th of the
    population.
    """
    radius = neighbourhood_radius(
        task.points, task.n_clusters, task.weights, progress=part(task.report, 0.0, 0.9)
    )
    low, high = 1.0, 2.0
    best = ball_filter(task.points, radius, high).chosen
    while high - low > DILATION_TOLERANCE:
        task.report(0.9 + 0.1 * (2.0 - high), f"JKL: trying distances of {high:.3f} neighbourhood radii")
        middle = (low + high) / 2
        chosen = ball_filter(task.points, radius, middle, at_most=task.n_clusters).chosen
        if len(chosen) <= task.n_clusters:
            best, high = chosen, middle
        else:
            low = middle
    return Placement(
        centers=task.points[best],
        rows=best,
        details={"dilation": high},
    )


METHOD = Method(
    name="jkl",
    title="JKL",
    description="Opens facilities at residents' places so that nobody travels more than twice as far as they "
    "would have to go to meet their fair share (one k-th) of the population.",
    source="C. Jung, S. Kannan, N. Lutz: Service in Your Neighborhood: Fairness in Center Location, "
    "FORC 2020",
    centers_are_points=True,
    options={},
    place=place,
    cost=lambda n, d, _k: (2e-8 * n * n * (1 + d / 8), 200 * n + 10_000_000),
)
