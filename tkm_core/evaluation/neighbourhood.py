"""The neighbourhood radius: how far a resident must go to reach a k-th of the population."""

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import Frame, check_points, check_weights, fill_reach, frozen, level_weights
from tkm_core.progress import Progress

CHUNK_ENTRIES = 20_000_000  # distances computed between two progress reports


def neighbourhood_radius(
    X: ArrayLike,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    *,
    progress: Progress | None = None,
) -> Floats:
    """How far each resident must go to reach a k-th of the population, including their own point.

    It is the radius of the smallest ball around each resident that holds at least W / k people. Without weights that
    is the distance to the (n/k)-th nearest resident, counting oneself first. Time grows with n², memory with n.

    Parameters
    ----------
    X : array (n, d)
        Residents.
    n_clusters : int
        Number of facilities, k.
    sample_weight : array (n,), optional
        Population of each resident point.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    ndarray of shape (n,)
        The radius of each resident, r_i.

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
    points, weights = frozen(frame.inside(points)), frozen(level_weights(weights))
    # the margin keeps W / k reachable when the weights are summed in another order
    target = float(weights.sum()) / n_clusters * (1 - 1e-12)
    radius = np.zeros(n)
    size = max(1, CHUNK_ENTRIES // n)
    for start in range(0, n, size):
        if progress is not None:
            progress(start / n, "Measuring neighbourhoods")
        fill_reach(points, weights, target, start, min(n, start + size), radius)
    return np.sqrt(radius, out=radius) * frame.unit
