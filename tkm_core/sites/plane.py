"""Capacities without given sites: alternately assign people and move facilities, at every t.

For given facilities, the cheapest assignment is a transport problem; for a given assignment, a facility's best place
is the tilted mean of its people. Neither step can raise the city-wide cost: it is exact coordinate descent.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering import (
    Frame,
    cells,
    check_clusters,
    check_fixed,
    check_grid,
    check_points,
    check_scale,
    check_weights,
    in_units_of,
    level_weights,
    named_weights,
    tilt,
    tilted_mean,
    tilted_path,
)
from tkm_core.notebooks import data_frame, room_above
from tkm_core.progress import Progress, never_falling, part
from tkm_core.sites.capacity import Capacity, Room, Warm, as_capacity, assign
from tkm_core.wording import dial_near

LOWER = 1e-5  # relative: a round that gains less than this is the last
ROUNDS = 100
# Every fifth t starts from two plans, the one without limits and that of the t before; others from one.
FRESH = 5
GOAL = 1e-6  # accuracy of a tilted mean, as a share of the cluster's radius
WALK = 1_500  # the fewest weighted points that stand for the residents while all t are gone through


@dataclass(frozen=True, eq=False, repr=False)
class CapacityPath:
    """Facilities with limited room over a grid of t; facility j is the same along the path.

    Attributes
    ----------
    t : array (s,)
    centers : array (s, k, d)
        Existing facilities come last.
    city_cost : array (s,)
    """

    t: Floats
    centers: Floats
    city_cost: Floats
    _problem: "_Plane" = field(repr=False)

    def __repr__(self) -> str:
        _, k, d = self.centers.shape
        return (
            f"<CapacityPath: {k} facilities in {d} dimensions at {len(self.t)} t from {self.t.min():g} to "
            f"{self.t.max():g}>"
        )

    def to_frame(self) -> Any:
        """One row for each t and facility: where it stands, and the city-wide cost at that t.

        Returns
        -------
        pandas.DataFrame
            Indexed by t and facility, counted from 0.

        Examples
        --------
        >>> path = capacity_path([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [9.0, 2.0]], 2, 2, t=[0, 1], random_state=0)
        >>> path.to_frame().shape, list(path.to_frame().columns)
        ((4, 3), ['x0', 'x1', 'city_cost'])
        """
        s, k, d = self.centers.shape
        columns = {"t": np.repeat(self.t, k), "facility": np.tile(np.arange(k), s)}
        columns |= {f"x{j}": self.centers[:, :, j].ravel() for j in range(d)}
        return data_frame({**columns, "city_cost": np.repeat(self.city_cost, k)}).set_index(["t", "facility"])

    def plot(self, what: str | None = None, **options: Any) -> Any:
        """Draw the city-wide cost over t.

        Needs the extra "plot"; options as in `tkm_core.figures.plot`.

        Returns
        -------
        plotly Figure
        """
        return room_above("figures", "plot").plot(self, what, **options)

    def shares(self, i: int) -> Floats:
        """The part of each resident's people that each facility serves at t[i] (n, k); 0 in rows without people."""
        plane = self._problem
        x = plane.served(plane.frame.inside(self.centers[i]), plane.tilt(float(self.t[i])))[0]
        shares = np.zeros((plane.n, len(x)))
        shares[plane.rows] = (x / plane.weights).T
        return shares

    def labels(self, i: int) -> Labels:
        """The facility that serves most of each resident's people at t[i]; -1 for rows without people."""
        shares = self.shares(i)
        return np.where(shares.any(axis=1), shares.argmax(axis=1), -1).astype(np.int32)


@dataclass(frozen=True)
class _Plane:
    """Residents with people, in the solver's coordinates, and the room of each facility."""

    frame: Frame
    X: Floats
    weights: Floats
    room: Room
    rows: np.ndarray
    n: int
    length: float = 1.0  # in which t is counted

    def tilt(self, t: float) -> float:
        """The setting t in the solver's coordinates."""
        return tilt(t, self.frame.unit / self.length)

    def served(self, centers: Floats, t: float, warm: Warm | None = None) -> tuple[Floats, float]:
        """People of each place at each facility, and the city-wide cost."""
        F = np.zeros((len(centers), len(self.X)))
        for axis in range(self.X.shape[1]):
            F += (self.X[:, axis] - centers[:, axis, None]) ** 2
        found = assign(
            F, self.weights, self.room.least, self.room.most, t, warm or Warm(np.zeros(len(centers)))
        )
        assert found is not None, "there is room for everyone, and everyone reaches everything"  # noqa: S101
        return found

    def condensed(self, count: int) -> "_Plane":
        """At most `count` weighted points in place of the residents; people can be split, so capacities still fit."""
        if len(self.X) <= count:
            return self
        X, weights = cells(self.X, self.weights, count)
        return replace(self, X=X, weights=weights, rows=np.arange(len(X)), n=len(X))

    def descend(self, start: Floats, n_free: int, t: float, prices: Warm | None = None) -> "_End":
        """Assign and move in turn until nothing is gained; ``prices`` start the first assignment."""
        centers = start.copy()
        warm = Warm(np.zeros(len(start))) if prices is None else replace(prices, prices=prices.prices.copy())
        x, value = self.served(centers, t, warm)
        for _ in range(ROUNDS):
            moved = centers.copy()
            for j in range(n_free):
                mine = x[j] > 0
                if mine.any():
                    tilted_mean(self.X[mine], x[j][mine], centers[j].copy(), t, GOAL, moved[j])
            x, lower = self.served(moved, t, warm)
            if not lower < value:
                break
            done = lower > value * (1 - LOWER)
            centers, value = moved, lower
            if done:
                break
        return _End(centers, value, warm)


@dataclass(frozen=True)
class _End:
    """The end of a descent: facilities, city-wide cost, and the prices of the last assignment."""

    centers: Floats
    value: float
    prices: Warm


def capacity_path(
    X: ArrayLike,
    n_clusters: int,
    capacity: Capacity | ArrayLike,
    *,
    t: ArrayLike | None = None,
    sample_weight: ArrayLike | str | None = None,
    fixed_centers: ArrayLike | None = None,
    scale: str | float | None = None,
    random_state: int | None = None,
    progress: Progress | None = None,
) -> CapacityPath:
    """Place facilities with limited room anywhere on a map, for every t of a grid.

    Parameters
    ----------
    X : array (n, d)
        Residents.
    n_clusters : int
        Facilities to place.
    capacity : number, array (k,) or Capacity
        The most people a facility may serve: one number, or one for each (new ones first); ``Capacity(most, least)``
        for both limits. A place's people may be split between facilities.
    t : array (s,), optional
        The dial; by default 0 and 60 geometric values from 0.01 to 100.
    sample_weight : array (n,) or str, optional
        Population of each row, or the name of its column in the table X.
    fixed_centers : array (f, d), optional
        Existing facilities; they come after the new ones in ``centers``.
    scale : "auto", float or None
        The length in which t is counted; "auto": the spread of the residents; None: the unit of X.
    random_state : int, optional
        Makes the result repeatable.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    CapacityPath

    Examples
    --------
    >>> path = capacity_path([[0.0], [1.0], [2.0], [9.0]], 2, 2, t=[0.0], random_state=0)
    >>> sorted(path.centers[0].ravel().tolist()), sorted(np.bincount(path.labels(0)).tolist())
    ([0.5, 5.5], [2, 2])
    """
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    people = check_weights(sample_weight, len(points))
    k = check_clusters(n_clusters, len(points))
    fixed = check_fixed(fixed_centers, points.shape[1])
    grid = check_grid(t)
    length = check_scale(scale, points, people, grid)
    limits = as_capacity(capacity) or Capacity()
    size = k + len(fixed)
    rows = np.flatnonzero(people > 0)
    weights = level_weights(people[rows])
    room = Room.of(limits, size, float(people.sum()), float(weights.sum()), k, np.arange(k, size))
    frame = Frame.of(points[rows])
    plane = _Plane(frame, frame.inside(points[rows]), weights, room, rows, len(points), length)
    report = never_falling(progress)
    free = tilted_path(
        points, k, t=grid, criterion="city", sample_weight=people, fixed_centers=fixed_centers,
        scale=length, random_state=random_state, progress=part(report, 0.0, 0.2),
    )  # fmt: skip
    order = np.argsort(grid, kind="stable")
    tilts = [plane.tilt(t) for t in grid[order]]
    few = plane.condensed(max(WALK, 100 * size))
    best: list[_End] = []
    for number, (i, t_) in enumerate(zip(order, tilts, strict=True)):
        report(0.2 + 0.3 * number / len(order), f"Room for everyone at t = {dial_near(grid[i])}")
        starts = [frame.inside(free.centers[i])] + ([best[-1].centers] if best else [])
        if number % FRESH:
            starts = [min(starts, key=lambda start: few.served(start, t_)[1])]
        best.append(min((few.descend(start, k, t_) for start in starts), key=lambda end: end.value))
    for number in range(len(order) - 2, -1, -1):
        report(0.5 + 0.2 * (1 - number / len(order)), "Walking the dial back")
        end = few.descend(best[number + 1].centers, k, tilts[number])
        if end.value < best[number].value * (1 - LOWER):
            best[number] = end
    if few is not plane:
        for number, t_ in enumerate(tilts):
            report(0.7 + 0.3 * number / len(order), "Room for every single resident")
            best[number] = plane.descend(best[number].centers, k, t_, best[number].prices)
    report(1.0, "Done")
    centers = np.empty((len(grid), size, points.shape[1]))
    cost = np.empty(len(grid))
    for end, i in zip(best, order, strict=True):
        centers[i, :k], centers[i, k:] = frame.outside(end.centers[:k]), fixed
        cost[i] = end.value
    return CapacityPath(grid, centers, in_units_of(cost, frame.unit, 2, "The cost"), plane)
