"""Place facilities inside or outside zones: a lattice of allowed points, refined around the chosen ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tkm_core.arrays import Bools, Floats
from tkm_core.clustering import (
    check_centers,
    check_grid,
    check_points,
    check_scale,
    check_weights,
    named_weights,
)
from tkm_core.extras import needs_extra
from tkm_core.progress import Progress, never_falling, part
from tkm_core.sites.path import site_path
from tkm_core.sites.search import Search
from tkm_core.sites.table import Table
from tkm_core.wording import counted, dial_near

FIRST = 400  # about how many allowed points the first lattice has
FINEST = 1e-3  # default mesh at which refining ends, as a share of the longest side
STEPS = np.array([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y], dtype=float)
ROUNDS = 60  # the most moves from neighbour to neighbour at one mesh


@dataclass(frozen=True)
class ZonePath:
    """Facilities at allowed points over a grid of t.

    Attributes
    ----------
    t : array (s,)
    centers : array (s, k, 2)
        Existing facilities come last.
    city_cost : array (s,)
    mesh : float
        Width of the final lattice: no allowed neighbour of a facility on it is a better place.
    """

    t: Floats
    centers: Floats
    city_cost: Floats
    mesh: float


def allowed(points: Floats, only_in: Any = None, not_in: Any = None) -> Bools:
    """Which points lie in ``only_in`` (or on its edge) and not inside ``not_in``; both are shapely geometries.

    >>> from shapely import box
    >>> allowed(np.array([[0.5, 0.5], [2.0, 0.5]]), only_in=box(0, 0, 1, 1)).tolist()
    [True, False]
    """
    try:
        import shapely
    except ModuleNotFoundError as missing:
        raise needs_extra(zone_path.__name__, missing) from missing

    inside = np.ones(len(points), dtype=bool)
    if only_in is not None:
        shapely.prepare(only_in)
        inside &= shapely.intersects_xy(only_in, points[:, 0], points[:, 1])
    if not_in is not None:
        shapely.prepare(not_in)
        inside &= ~shapely.contains_xy(not_in, points[:, 0], points[:, 1])
    return inside


def lattice(low: Floats, high: Floats, mesh: float) -> Floats:
    """Points of a square lattice centred on a box.

    >>> lattice(np.zeros(2), np.array([2.0, 1.0]), 1.0).tolist()
    [[0.5, 0.5], [1.5, 0.5]]
    """
    axes = [
        a + mesh * (np.arange(max(1, round((b - a) / mesh))) + 0.5) for a, b in zip(low, high, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def zone_path(
    X: ArrayLike,
    n_sites: int,
    *,
    only_in: Any = None,
    not_in: Any = None,
    t: ArrayLike | None = None,
    sample_weight: ArrayLike | str | None = None,
    fixed_centers: ArrayLike | None = None,
    scale: str | float | None = None,
    mesh: float | None = None,
    random_state: int | None = None,
    progress: Progress | None = None,
) -> ZonePath:
    """Place facilities where zones allow them, for every t of a grid, by straight-line distance.

    Parameters
    ----------
    X : array (n, 2)
        Residents on a flat map, in metres or any unit that is the same along both axes.
    n_sites : int
        Facilities to place.
    only_in, not_in : shapely geometries, optional
        Where facilities may be, and where not; in the coordinates of X.
    t : array (s,), optional
        The dial; by default 0 and 60 geometric values from 0.01 to 100.
    sample_weight : array (n,) or str, optional
        Population of each row, or the name of its column in the table X.
    fixed_centers : array (f, 2), optional
        Existing facilities, and those pinned by hand; they may be anywhere, and come after the new ones in
        ``centers``.
    scale : "auto", float or None
        The length in which t is counted; "auto": the spread of the residents; None: the unit of X.
    mesh : float, optional
        Width of the finest lattice; by default a thousandth of the longest side of the allowed area.
    random_state : int, optional
        Makes the result repeatable.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    ZonePath

    Examples
    --------
    >>> from shapely import box
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> path = zone_path(X, 1, not_in=box(-1, -1, 1, 1), t=[0.0], random_state=0)
    >>> float(np.abs(path.centers[0]).max().round(1))
    1.0
    """
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    if points.shape[1] != 2:
        msg = f"X has {points.shape[1]} column(s); zones need a map with two."
        raise ValueError(msg)
    people = check_weights(sample_weight, len(points))
    grid = check_grid(t)
    tilts = grid / check_scale(scale, points, people, grid) ** 2
    fixed = np.empty((0, 2)) if fixed_centers is None else check_centers(fixed_centers, 2, "fixed_centers")
    report = never_falling(progress)
    low, high = _area(points[people > 0], only_in)
    coarse, width = _first_lattice(low, high, only_in, not_in, n_sites)
    distances = cdist(points, np.vstack([coarse, fixed]))
    path = site_path(
        distances, n_sites, t=tilts, sample_weight=people, fixed_sites=np.arange(len(coarse), len(coarse) + len(fixed)),
        random_state=random_state, progress=part(report, 0.0, 0.6),
    )  # fmt: skip
    everywhere = np.vstack([coarse, fixed])
    goal = FINEST * float((high - low).max()) if mesh is None else float(mesh)
    if not goal > 0:
        msg = f"mesh is {goal:g}; it must be a length above 0."
        raise ValueError(msg)
    centers, cost = np.empty((len(grid), n_sites + len(fixed), 2)), np.empty(len(grid))
    reached = width
    for i, value in enumerate(tilts):
        report(0.6 + 0.4 * i / len(grid), f"Refining at t = {dial_near(grid[i])}")
        centers[i], cost[i], reached = _refined(
            points, people, everywhere[path.sites[i]], n_sites, value, width, goal, only_in, not_in
        )
    report(1.0, "Done")
    return ZonePath(grid, centers, cost, reached)


def _area(points: Floats, only_in: Any) -> tuple[Floats, Floats]:
    """The box to search for allowed points: around the residents, and within ``only_in`` if it is given."""
    low, high = points.min(axis=0), points.max(axis=0)
    if only_in is not None:
        bounds = np.array(only_in.bounds)
        if not np.isfinite(bounds).all():
            msg = "The zone in which facilities may stand is empty."
            raise ValueError(msg)
        within = np.maximum(low, bounds[:2]), np.minimum(high, bounds[2:])
        # a zone away from the residents is searched as a whole
        low, high = within if (within[0] < within[1]).all() else (bounds[:2], bounds[2:])
    side = float((high - low).max()) or 1.0
    return low - 1e-9 * side, high + 1e-9 * side


def _first_lattice(low: Floats, high: Floats, only_in: Any, not_in: Any, k: int) -> tuple[Floats, float]:
    """Some hundreds of allowed points and their mesh; an error if the zones leave too little room."""
    sides = np.maximum(high - low, 1e-9 * (high - low).max())
    mesh = float(np.sqrt(sides.prod() / FIRST))
    for _ in range(8):
        points = lattice(low, high, mesh)
        points = points[allowed(points, only_in, not_in)]
        if len(points) >= max(FIRST / 4, 10 * k):
            return points, mesh
        mesh /= 2
        if sides.prod() / mesh**2 > 4_000_000:
            break
    if len(points) < k:
        left = counted(len(points), "place")
        msg = f"The zones leave {left} for {k} facilities on a lattice of {2 * mesh:.3g}: allow more."
        raise ValueError(msg)
    return points, 2 * mesh


def _refined(
    X: Floats,
    people: Floats,
    start: Floats,
    k: int,
    t: float,
    mesh: float,
    goal: float,
    only_in: Any,
    not_in: Any,
) -> tuple[Floats, float, float]:
    """Move each facility to better allowed neighbours until none is left, then halve the mesh and repeat."""
    centers = start.copy()
    count = np.arange(len(centers))
    while True:
        for _ in range(ROUNDS):
            around = np.concatenate([centers[j] + mesh * STEPS for j in range(k)])
            around = around[allowed(around, only_in, not_in)]
            table = Table.of(cdist(X, np.vstack([centers, around])), people)
            search = Search(table, k, count[k:])
            found = search.descend(count.copy(), table.tilt(t), 0)
            if not found.lower(search.judge(count, table.tilt(t))):
                break
            centers = np.vstack([centers, around])[found.sites]
        if mesh / 2 < goal:
            break
        mesh /= 2
    return centers, float(table.outside(search.judge(count, table.tilt(t)).value)), mesh
