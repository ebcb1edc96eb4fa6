"""Condense many residents to fewer weighted points, for the search and for the path of large cities."""

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering.compiled.cells import add_to_bins, split
from tkm_core.clustering.compiled.records import City, frozen
from tkm_core.clustering.threads import in_parallel

BINS = {1: 4_096, 2: 128, 3: 25}  # per axis: about 16,000 in all on a map
FEW = 3  # bins with at most this many residents are not merged
PARTS = 8  # partial sums of the binning: fixed, so that the result does not depend on the number of threads


def cells(X: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """At most ``count`` weighted points that stand for the residents: means of repeatedly split cells.

    >>> means, weights = cells(np.array([[0.0], [1.0], [9.0]]), np.ones(3), 2)
    >>> means.tolist(), weights.tolist()
    ([[0.5], [9.0]], [2.0, 1.0])
    """
    means, totals = np.empty((count, X.shape[1])), np.empty(count)
    made = split(City(frozen(X), frozen(weights)), count, means, totals)
    return means[:made].copy(), totals[:made].copy()


def condense(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Stand-ins for many residents: means of bins in up to three dimensions, otherwise a sample.

    Half of the bin edges divide the range evenly and the other half the population, so that neither a remote farm nor
    the old town is lost in one bin. Residents in nearly empty bins stand for themselves, because they matter most at a
    large t. A sample has every m-th resident and those farthest from the middle.
    """
    n, d = X.shape
    if d not in BINS:
        return _thin(X, weights, 20_000)
    sample = X[:: max(1, n // 50_000)]
    share = np.linspace(0.0, 1.0, BINS[d] // 2 + 2)[1:-1]
    edges = np.array(
        [
            np.sort(np.concatenate([np.quantile(column, share), low + share * (high - low)]))
            for column, low, high in zip(sample.T, X.min(axis=0), X.max(axis=0), strict=True)
        ]
    )
    total = (edges.shape[1] + 1) ** d
    counts, masses, sums = np.zeros((PARTS, total)), np.zeros((PARTS, total)), np.zeros((PARTS, total, d))
    city = City(frozen(X), frozen(weights))
    bins = np.empty(n, np.int32)
    size = -(-n // PARTS)

    def run(rows: slice) -> None:
        """Add some rows to the bins."""
        part = rows.start // size
        add_to_bins(city, edges, rows.start, rows.stop, bins, counts[part], masses[part], sums[part])

    in_parallel(run, n, size)
    count, mass, sum_ = counts.sum(axis=0), masses.sum(axis=0), sums.sum(axis=0)
    alone = np.flatnonzero(((count > 0) & (count <= FEW))[bins] & (bins >= 0))
    many = count > FEW
    return np.vstack([sum_[many] / mass[many, None], X[alone]]), np.concatenate([mass[many], weights[alone]])


def _thin(X: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """Every m-th resident with m times the weight, and the farthest from the middle with their own."""
    every = max(1, len(X) // count)
    middle = np.average(X[::every], axis=0, weights=weights[::every] + 1e-300)
    f = np.zeros(len(X))
    for axis in range(X.shape[1]):
        f += (X[:, axis] - middle[axis]) ** 2
    far = np.argpartition(np.where(weights > 0, f, -1.0), -count // 20)[-count // 20 :]
    far = far[(far % every) != 0]
    points, thinned = (
        np.vstack([X[::every], X[far]]),
        np.concatenate([weights[::every] * every, weights[far]]),
    )
    return np.ascontiguousarray(points[thinned > 0]), thinned[thinned > 0]
