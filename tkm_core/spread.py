"""The spread of the residents: the unit of length in which t is a pure number."""

import numpy as np

from tkm_core.arrays import Floats


def spread(points: Floats, weights: Floats) -> float:
    """Root mean squared distance per axis from the weighted mean; 0 if all are in one place.

    With lengths in this unit, t means the same in every city: about 0.01 is k-means, 10 nearly minimax. `TiltedKMeans`
    (``scale="auto"``) and the app's plans use this unit.

    Examples
    --------
    >>> spread(np.array([[0.0, 0.0], [2.0, 14.0]]), np.ones(2))  # the variances are 1 and 49
    5.0
    """
    mean = np.average(points, axis=0, weights=weights)
    squared = np.zeros(len(points))
    for axis in range(points.shape[1]):
        squared += (points[:, axis] - mean[axis]) ** 2
    return float(np.sqrt(np.average(squared, weights=weights) / points.shape[1]))
