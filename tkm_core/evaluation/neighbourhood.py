"""The neighbourhood radius: how far a resident must go to meet a fair share of the population."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import Frame, check_points, check_weights, level_weights
from tkm_core.progress import Progress

CHUNK_ENTRIES = 20_000_000  # distances between two reports of progress


def neighbourhood_radius(
    X: ArrayLike,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    *,
    progress: Progress | None = None,
) -> Floats:
    """r_i: how far resident i must go to meet a k-th of the population (their own point included).

    The radius of the smallest ball around each resident that holds at least W / k; without weights that is
    the distance to the (n/k)-th nearest resident, counting oneself first. Time grows with n², memory with n.

    Examples
    --------
    >>> neighbourhood_radius([[0.0], [1.0], [3.0], [7.0]], 2)
    array([1., 1., 2., 4.])
    """
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    if n_clusters < 1:
        msg = f"n_clusters is {n_clusters}; it must be at least 1."
        raise ValueError(msg)
    n = len(points)
    frame = Frame.of(points[weights > 0])
    points, weights = frame.inside(points), level_weights(weights)
    # the margin keeps W / k reachable when the weights are summed in another order
    target = float(weights.sum()) / n_clusters * (1 - 1e-12)
    radius = np.zeros(n)
    size = max(1, CHUNK_ENTRIES // n)
    for start in range(0, n, size):
        if progress is not None:
            progress(start / n, "Measuring neighbourhoods")
        _reach(points, weights, target, start, min(n, start + size), radius)
    return np.sqrt(radius, out=radius) * frame.unit


@njit(nogil=True, cache=True)
def _reach(points: Floats, weights: Floats, target: float, start: int, stop: int, squared: Floats) -> None:
    """Squared distance at which rows start..stop meet ``target``, by weighted quickselect on each row."""
    n, d = points.shape
    f = np.empty(n)
    w = np.empty(n)
    for i in range(start, stop):
        for j in range(n):
            total = 0.0
            for q in range(d):
                a = points[i, q] - points[j, q]
                total += a * a
            f[j] = total
            w[j] = weights[j]
        low, high, held = 0, n, 0.0
        while True:
            first, middle, last = f[low], f[(low + high) // 2], f[high - 1]
            pivot = max(min(first, middle), min(max(first, middle), last))
            # less than the pivot in [low, less), equal in [less, more), greater in [more, high)
            less, at, more = low, low, high
            below, equal = 0.0, 0.0
            while at < more:
                if f[at] < pivot:
                    below += w[at]
                    f[at], f[less] = f[less], f[at]
                    w[at], w[less] = w[less], w[at]
                    less += 1
                    at += 1
                elif f[at] > pivot:
                    more -= 1
                    f[at], f[more] = f[more], f[at]
                    w[at], w[more] = w[more], w[at]
                else:
                    equal += w[at]
                    at += 1
            if held + below >= target and less > low:
                high = less
            elif held + below + equal >= target or more == high:
                squared[i] = pivot
                break
            else:
                held += below + equal
                low = more
