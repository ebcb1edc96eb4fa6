"""The trade-off curve: every measure of a plan at every t, on weighted cells if there are many residents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation, evaluate
from tkm_core.measures import MEASURES
from tkm_core.progress import Progress

MANY = 100_000  # up to this many residents, each is measured at every t
CELLS = 50_000  # cells that stand for more residents than that
FINEST = 2048  # cells along the longer side of the map at the start


@dataclass(frozen=True, eq=False)
class Curve:
    """Every measure along the dial, and of k-means++, in metres.

    Each measure of `tkm_core.measures` is an attribute, as in Evaluation: an array of shape (m,), NaN where it was
    not computed (`share_within` without a service standard).

    Attributes
    ----------
    t : ndarray of shape (m,)
    measured : dict of str to ndarray of shape (m,)
        The measures by name.
    baseline : dict of str to float
        The same measures of the lowest-average plan (k-means++).
    error : float
        No distance behind these figures is wrong by more than this many metres; `largest_distance` is exact.
    """

    t: Floats
    measured: Mapping[str, Floats]
    baseline: Mapping[str, float]
    error: float

    def __getattr__(self, name: str) -> Floats:
        """A measure by its name."""
        if name in MEASURES:
            return self.measured[name]
        msg = f"A trade-off curve has no measure called {name!r}."
        raise AttributeError(msg)


@dataclass(frozen=True, eq=False)
class Cells:
    """Residents merged into the cells of a grid, each at the weighted mean of its members.

    Attributes
    ----------
    xy : ndarray of shape (c, 2)
    weights : ndarray of shape (c,)
    order, start : ndarray
        Members of cell c are ``order[start[c]:start[c + 1]]``.
    reach : ndarray of shape (c,)
        Distance from each cell's mean to its farthest member.
    """

    xy: Floats
    weights: Floats
    order: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    reach: Floats

    @cached_property
    def error(self) -> float:
        """The largest distance between a resident and their cell's mean."""
        return float(self.reach.max())


def gather(xy: Floats, weights: Floats, limit: int = CELLS) -> Cells:
    """Merge residents into at most `limit` cells of equal size.

    Examples
    --------
    >>> import numpy as np
    >>> cells = gather(np.random.default_rng(0).normal(size=(5000, 2)), np.ones(5000), limit=200)
    >>> len(cells.xy) <= 200, float(cells.weights.sum())
    (True, 5000.0)
    """
    corner, side = xy.min(axis=0), float(np.ptp(xy, axis=0).max()) / FINEST or 1.0
    place = np.minimum(((xy - corner) / side).astype(np.int64), FINEST - 1)
    for coarser in range(FINEST.bit_length()):
        key = (place[:, 0] >> coarser) * FINEST + (place[:, 1] >> coarser)
        members = np.bincount(key)
        if np.count_nonzero(members) <= limit:
            break
    cell = (np.cumsum(members > 0) - 1)[key]
    members = members[members > 0]
    total = np.bincount(cell, weights=weights).astype(np.float64)
    share = np.where(total[cell] > 0, weights, 1.0)  # a cell without people still has a middle
    mass = np.bincount(cell, weights=share)
    mean = np.column_stack([np.bincount(cell, weights=share * xy[:, axis]) / mass for axis in (0, 1)])
    order = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(members)])
    apart = np.linalg.norm(xy - mean[cell], axis=1)
    return Cells(mean, total, order, start, np.maximum.reduceat(apart[order], start[:-1]))


def trade_off(
    t: Floats,
    xy: Floats,
    weights: Floats,
    centers: Floats,
    baseline: Floats,
    *,
    standard: float | None = None,
    measure: Callable[[int, Floats], Evaluation] | None = None,
    progress: Progress | None = None,
) -> Curve:
    """Measure every plan of a path, and k-means++.

    Parameters
    ----------
    t : ndarray of shape (m,)
        In the units of `xy`.
    xy, weights : ndarray of shape (n, 2) and (n,)
        Residents in metres.
    centers : ndarray of shape (m, k, 2)
        Facilities at every t.
    baseline : ndarray of shape (k, 2)
        Facilities of the lowest-average plan.
    standard : float, optional
        Service standard in metres.
    measure : callable, optional
        Measures the facilities of one plan, given its index (the baseline comes after the last) and their positions;
        by default everyone goes to the nearest in a straight line.
    progress : callable, optional
        Called with a fraction and a text.

    Returns
    -------
    Curve
    """
    cells = gather(xy, weights) if len(xy) > MANY and measure is None else None
    points, mass = (xy, weights) if cells is None else (cells.xy, cells.weights)
    along = [name for name, measure in MEASURES.items() if measure.along_dial]
    rows = []
    for step, sites in enumerate([*centers, baseline]):
        if measure is None:
            measured = evaluate(points, sites, sample_weight=mass, standard=standard)
        else:
            measured = measure(step, sites)
        row = {name: getattr(measured, name) for name in along}
        if cells is not None:
            row["largest_distance"] = _farthest(xy, weights, sites, cells, measured.distance)
        rows.append({name: np.nan if value is None else float(value) for name, value in row.items()})
        if progress is not None:
            progress((step + 1) / (len(centers) + 1), "Measuring the trade-off")
    columns = {name: np.array([row[name] for row in rows[:-1]]) for name in along}
    return Curve(t, columns, rows[-1], 0.0 if cells is None else cells.error)


def _farthest(xy: Floats, weights: Floats, sites: Floats, cells: Cells, distance: Floats) -> float:
    """The exact longest trip, found by looking only into the cells that could contain it."""
    peopled = cells.weights > 0
    at_least = (distance - cells.reach)[peopled].max()
    suspects = np.flatnonzero(peopled & (distance + cells.reach >= at_least))
    members = np.concatenate([cells.order[cells.start[c] : cells.start[c + 1]] for c in suspects])
    members = members[weights[members] > 0]
    apart = np.linalg.norm(xy[members, None] - sites[None], axis=2)
    return float(apart.min(axis=1).max())
