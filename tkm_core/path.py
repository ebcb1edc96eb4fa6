"""The plan at every t: the path of each facility as the dial turns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from tkm_core.checks import check_centers, check_points, check_t, check_weights
from tkm_core.descent import Problem, descend
from tkm_core.objective import Array
from tkm_core.search import best_plan

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class TiltedPath:
    """Facilities over a grid of t; facility j is the same facility along the path.

    Attributes
    ----------
    t : array (m,)
    centers : array (m, k, d)
    tilted_sse, sse, city_cost : arrays (m,)
    error : array (m,)
        The longest step that is left on the full data, relative to its cluster's radius.
    arrangement : int array (m,)
        Neighbouring t with the same number are one continuous branch; a change of number is a jump.
    """

    t: Array
    centers: Array
    tilted_sse: Array
    sse: Array
    city_cost: Array
    error: Array
    arrangement: NDArray[np.int64]


def default_grid() -> Array:
    """0 and 60 geometric values from 0.01 to 100, as the paper draws them."""
    return np.append(0.0, np.geomspace(0.01, 100.0, 60))


def tilted_path(
    X: ArrayLike,
    n_clusters: int,
    *,
    t: ArrayLike | None = None,
    criterion: str = "cluster",
    sample_weight: ArrayLike | None = None,
    fixed_centers: ArrayLike | None = None,
    random_state: int | None = None,
    progress: Progress | None = None,
) -> TiltedPath:
    """Place facilities for every t of a grid, walked in both directions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> path = tilted_path(X, 3, random_state=0)
    >>> path.centers.shape
    (61, 3, 2)
    """
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    grid = default_grid() if t is None else np.array([check_t(float(v)) for v in np.ravel(np.asarray(t))])
    fixed = None if fixed_centers is None else check_centers(fixed_centers, points.shape[1], "fixed_centers")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    problem = Problem.of(points, weights, n_clusters, fixed)
    column = 0 if criterion == "city" else 1
    order = np.argsort(grid)
    best = [None] * len(grid)
    done = 0
    for direction in (order, order[::-1]):
        start = best_plan(problem, grid[direction[0]], rng, fixed=fixed, n_init="auto", criterion=criterion)
        for i in direction:
            found = descend(problem, start, grid[i])
            if best[i] is None or found.history[-1, column] < best[i].history[-1, column]:
                best[i] = found
            start = best[i].centers
            done += 1
            if progress is not None:
                progress(done / (2 * len(grid)), f"t = {grid[i]:.3g}")
    k = n_clusters
    centers = np.array([b.centers for b in best])
    arrangement = np.zeros(len(grid), dtype=np.int64)
    for a, b in zip(order[:-1], order[1:], strict=True):
        cost = ((centers[a][:k, None] - centers[b][None, :k]) ** 2).sum(axis=2)
        matched = linear_sum_assignment(cost)[1]
        centers[b][:k] = centers[b][:k][matched]
        moved = np.sqrt(((centers[a] - centers[b]) ** 2).sum(axis=1)).max()
        arrangement[b] = arrangement[a] + (moved > 0.3 * np.sqrt(best[a].city_cost))
    sse = np.array([descend(problem, c, 0.0, max_iter=0).tilted_sse for c in centers])
    return TiltedPath(
        t=grid,
        centers=centers,
        tilted_sse=np.array([b.tilted_sse for b in best]),
        sse=sse,
        city_cost=np.array([b.city_cost for b in best]),
        error=np.zeros(len(grid)),
        arrangement=arrangement,
    )
