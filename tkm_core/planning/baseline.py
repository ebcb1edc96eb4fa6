"""The baseline that plans are compared with: k-means++, best of ten starts."""

from math import inf

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import level_weights
from tkm_core.planning.trade_off import MANY, gather
from tkm_core.residents import Residents

STARTS = 10


def kmeans_sites(
    residents: Residents, k: int, fixed: Floats, random_state: int, people: Floats | None = None
) -> Floats:
    """Facilities of k-means++ in scaled coordinates; existing ones stay where they are and come last.

    `people` is how much everyone counts; by default their weights.
    """
    points, weights = residents.scaled, level_weights(residents.weights if people is None else people)
    if len(fixed):
        from tkm_core.clustering import TiltedKMeans

        model = TiltedKMeans(k, t=0.0, n_init=STARTS, fixed_centers=fixed, random_state=random_state)
        return np.asarray(model.fit(points, sample_weight=weights).cluster_centers_)
    from sklearn.cluster import KMeans

    from tkm_core.methods import run_method

    sample, mass = points, weights
    if len(points) > MANY:
        cells = gather(points, weights)
        if len(cells.xy) >= STARTS * k:
            sample, mass = cells.xy, cells.weights
    found = run_method(
        "kmeans++", sample, k, sample_weight=mass, random_state=random_state, max_seconds=inf, n_init=STARTS
    )
    if sample is points:
        return found.centers
    # for very many residents the restarts ran on weighted cells; the last descent uses everybody
    return np.asarray(
        KMeans(k, init=found.centers, n_init=1).fit(points, sample_weight=weights).cluster_centers_
    )


def numbered_like(sites: Floats, others: Floats, k: int) -> Floats:
    """Order the first k of `others` like the sites they match, such that the total distance is smallest."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    _, match = linear_sum_assignment(cdist(sites[:k], others[:k], "sqeuclidean"))
    return np.concatenate([others[:k][match], others[k:]])
