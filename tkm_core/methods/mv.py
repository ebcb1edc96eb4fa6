"""MV: local search by swaps that keep a facility in every critical neighbourhood."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats
from tkm_core.clustering import clearly_lower
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods.cover import ball_filter
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.progress import part

BLOCK_ENTRIES = 2_000_000
ROUNDING = 1e-12  # relative gains below this are rounding
NOISE = 1e-26  # rounding error per resident, as a share of the squared width
MOST_SWAPS = 10_000  # gains of 2 % each reach the last digit in far fewer


def place(task: Task, *, dilation: float = 3.0, ball: float = 2.0, min_gain: float = 0.02) -> Placement:
    """Choose critical balls, fill up to k farthest-first, then make the best swap until none gains ``min_gain``.

    Every resident has a critical point within ``dilation`` times their radius, and that point has a facility within
    ``ball`` times its own (no larger) radius. So nobody is farther than ``dilation + ball`` radii.
    """
    for name, value in {"dilation": dilation, "ball": ball, "min_gain": min_gain}.items():
        if not 0 <= value < np.inf:
            msg = f"{name} is {value}; it must be a number from 0 upwards."
            raise ValueError(msg)
    points, k = task.points, min(task.n_clusters, len(task.points))
    radius = neighbourhood_radius(points, task.n_clusters, task.weights, progress=part(task.report, 0.0, 0.2))
    critical = ball_filter(points, radius, dilation).chosen
    inside = cdist(points[critical], points) <= ball * radius[critical, None]
    centers = _farthest_first(points, critical, k)
    swaps, enough = 0, max(min_gain, ROUNDING)
    noise = NOISE * float(task.weights.sum())
    while swaps < MOST_SWAPS:
        done = 1.0 - 0.8 * 0.9**swaps
        cost, swap_costs = _swap_costs(task, centers, done, f"MV: {swaps} swaps made")
        swap_costs[_forbidden(inside, centers)] = np.inf
        swap_costs[:, centers] = np.inf
        leaves, enters = np.unravel_index(int(np.argmin(swap_costs)), swap_costs.shape)
        if not clearly_lower(swap_costs[leaves, enters], cost, enough, noise):
            break
        centers[leaves] = enters
        swaps += 1
    return Placement(
        centers=points[centers],
        rows=centers,
        details={
            "swaps": swaps,
            "critical_rows": critical,
            "critical_radius": ball * radius[critical] * task.unit,
        },
    )


def _farthest_first(points: Floats, start: Rows, k: int) -> Rows:
    """Add the farthest point to the centres until there are k."""
    centers = list(start)
    reach = cdist(points[start], points).min(axis=0)
    while len(centers) < k:
        centers.append(int(np.argmax(reach)))
        reach = np.minimum(reach, cdist(points[centers[-1:]], points)[0])
    return np.array(centers, dtype=np.intp)


def _forbidden(inside: NDArray[np.bool_], centers: Rows) -> NDArray[np.bool_]:
    """Swaps (k, n) that would leave a critical ball empty."""
    held = inside[:, centers]
    only = held & (held.sum(axis=1, keepdims=True) == 1)
    return only.T.astype(np.float32) @ (~inside).astype(np.float32) > 0


def _swap_costs(task: Task, centers: Rows, done: float, text: str) -> tuple[float, Floats]:
    """The current cost, and the cost (k, n) after each swap of a centre for a point.

    A point whose centre leaves goes to its second-nearest or to the new one, every other point to its own or
    the new one.
    """
    points, weights, k = task.points, task.weights, len(centers)
    to_centers = cdist(points, points[centers], "sqeuclidean")
    nearest = to_centers.argmin(axis=1)
    first = to_centers[np.arange(len(points)), nearest]
    to_centers[np.arange(len(points)), nearest] = np.inf
    second = to_centers.min(axis=1)
    member = np.zeros((len(points), k))
    member[np.arange(len(points)), nearest] = weights
    costs = np.zeros((k, len(points)))
    size = max(1, BLOCK_ENTRIES // len(points))
    for start in range(0, len(points), size):
        task.report(done, text)
        rows = slice(start, start + size)
        to_new = cdist(points[rows], points, "sqeuclidean")
        kept = np.minimum(to_new, first)
        np.minimum(to_new, second, out=to_new)
        to_new -= kept
        costs[:, rows] = (to_new @ member + (kept @ weights)[:, None]).T
    return float(first @ weights), costs


METHOD = Method(
    name="mv",
    title="MV",
    description="Moves facilities between residents' places, one at a time, as long as average travel falls "
    "noticeably, and never leaves a critical neighbourhood without a facility.",
    source="S. Mahabadi, A. Vakilian: Individual Fairness for k-Clustering, ICML 2020",
    centers_are_points=True,
    options={"dilation": 3.0, "ball": 2.0, "min_gain": 0.02},
    place=place,
    cost=lambda n, d, k: (
        n * n * (2e-8 * (1 + d / 8) + 1.5e-8 * (3 + k / 2)),
        n * (200 + 24 * k) + 100_000_000,
    ),
)
