"""`tilted_path`: facilities for every t of a grid, and how each one moves as t grows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from tkm_core.arrays import Floats
from tkm_core.clustering.checks import (
    check_clusters,
    check_fixed,
    check_grid,
    check_points,
    check_weights,
    named_weights,
    warn_of_units,
)
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.continuity import found_jumps, matched
from tkm_core.clustering.descent import CHUNK, Descent, descend, descend_all
from tkm_core.clustering.frame import Framed
from tkm_core.clustering.search import COLUMN, FINE, Search
from tkm_core.clustering.threads import pool
from tkm_core.clustering.upward import not_let_down
from tkm_core.notebooks import data_frame, figure, html_table, room_above
from tkm_core.partitions import Rows, over_rows, rows_of
from tkm_core.progress import Progress, part, silent
from tkm_core.wording import dial_near

ANCHORS = 9  # values of t at which the search starts afresh
POLISH, ENOUGH = 1, 0.05  # the most steps on very many residents, and the error below which none is taken
SEARCHES = 2  # at each of them
LOWER = 1e-9  # relative: smaller improvements count as none
ROUNDS = 50  # the most times that plans are passed along the whole path


@dataclass(frozen=True, repr=False)
class TiltedPath:
    """Facilities over a grid of t; facility j is the same facility along the path.

    Attributes
    ----------
    t : array (m,)
    centers : array (m, k, d)
    tilted_sse, sse, city_cost : arrays (m,)
    error : array (m,)
        The longest remaining step on the full data, relative to its cluster's radius.
    arrangement : int array (m,)
        Neighbouring t with the same number belong to one continuous branch; a change of number is a jump.
    """

    t: Floats
    centers: Floats
    tilted_sse: Floats
    sse: Floats
    city_cost: Floats
    error: Floats
    arrangement: NDArray[np.int64]

    def __repr__(self) -> str:
        _, k, d = self.centers.shape
        jumps = len(np.unique(self.arrangement)) - 1
        return (
            f"<TiltedPath: {k} facilities in {d} dimensions at {len(self.t)} t from {self.t.min():g} to "
            f"{self.t.max():g}, {jumps} jumps>"
        )

    def _repr_html_(self) -> str:
        """The costs at the ends and in the middle."""
        shown = np.argsort(self.t, kind="stable")[
            np.unique(np.linspace(0, len(self.t) - 1, 7).round().astype(int))
        ]
        costs = (("tilted SSE", self.tilted_sse), ("city-wide cost", self.city_cost), ("SSE", self.sse))
        rows = [(name, *(figure(values[i]) for i in shown)) for name, values in costs]
        return html_table(repr(self)[1:-1], ["", *(f"t = {self.t[i]:.3g}" for i in shown)], rows)

    def to_frame(self) -> Any:
        """One row for each t and facility: its coordinates x0, x1, ..., and the costs at that t.

        Returns
        -------
        pandas.DataFrame
            Indexed by t and facility, counted from 0.

        Examples
        --------
        >>> path = tilted_path([[0.0, 0], [0, 1], [5, 5], [5, 6]], 2, t=[0, 1], random_state=0)
        >>> path.to_frame().shape, list(path.to_frame().columns[:2])
        ((4, 6), ['x0', 'x1'])
        """
        m, k, d = self.centers.shape
        columns = {f"x{axis}": self.centers[:, :, axis].ravel() for axis in range(d)}
        for name in ("tilted_sse", "city_cost", "sse", "arrangement"):
            columns[name] = np.repeat(getattr(self, name), k)
        facility = np.tile(np.arange(k), m)
        return data_frame({"t": np.repeat(self.t, k), "facility": facility, **columns}).set_index(
            ["t", "facility"]
        )

    def plot(self, what: str | None = None, **options: Any) -> Any:
        """Draw how each facility moves as t grows ("ways", in two dimensions), or the "costs" over t.

        Needs the extra "plot"; options as in `tkm_core.figures.plot`.

        Returns
        -------
        plotly Figure
        """
        return room_above("figures", "plot").plot(self, what, **options)


def tilted_path(
    X: Any,
    n_clusters: int,
    *,
    t: ArrayLike | None = None,
    criterion: str = "cluster",
    sample_weight: ArrayLike | str | None = None,
    fixed_centers: ArrayLike | None = None,
    scale: str | float | None = None,
    random_state: int | None = None,
    progress: Progress | None = None,
) -> TiltedPath:
    """Place facilities for every t of a grid.

    Parameters
    ----------
    X : array (n, d), Dask array or table, ParquetRows, or path of Parquet files
        Residents. Data that are not in memory are read piece by piece, on a Dask cluster if one is connected (or given
        by ``EVENREACH_SCHEDULER``): see the guide "Beyond one machine".
    n_clusters : int
        Facilities to place.
    t : array (m,), optional
        The grid; by default 0 and 60 geometric values from 0.01 to 100.
    criterion : {"cluster", "city"}
        Which fixed point wins at each t: lowest tilted SSE or lowest city-wide cost. With "city", a plan in which the
        farthest resident is farther away than at a smaller t is replaced by one in which they are not and which costs
        at most 0.1 % more, if there is one; such a plan need not be a fixed point.
    sample_weight : array (n,) or str, optional
        Population of each row, or the name of its column in a table or file; that column is no coordinate then.
    fixed_centers : array (f, d), optional
        Existing facilities; they come after the new ones in ``centers``.
    scale : "auto", float or None
        The length in which t is counted, as in ``TiltedKMeans``: None for the unit of X, "auto" for the spread of X.
    random_state : int, optional
        Makes the result repeatable.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    TiltedPath

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> path = tilted_path(X, 3, random_state=0)
    >>> path.centers.shape
    (61, 3, 2)
    """
    rows = rows_of(X, sample_weight)
    if rows is not None:
        return _streamed(
            rows, n_clusters, t, criterion, fixed_centers, scale, random_state, progress or silent
        )
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    grid = check_grid(t)
    check_clusters(n_clusters, len(points))
    if criterion not in COLUMN:
        msg = f"criterion is {criterion!r}; choose 'cluster' (the paper's tilted SSE) or 'city' (the city-wide cost)."
        raise ValueError(msg)
    fixed = check_fixed(fixed_centers, points.shape[1])
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    framed = Framed.of(points, weights, n_clusters, fixed)
    search = Search(framed.problem, framed.fixed, criterion)
    report = progress or silent
    order = np.argsort(grid, kind="stable")
    length = framed.length_of_t(scale)
    if scale is None:
        warn_of_units(grid[order], float(np.sqrt(search.variance)) * framed.frame.unit)
    tilts = np.array([framed.tilt(t, length) for t in grid[order]])
    walked = _walk(search, tilts, grid[order], rng, report)
    centers = matched(np.array([each.centers for each in walked]), n_clusters)
    ends = _on_all(search, tilts, grid[order], centers, report)
    if criterion == "city":
        replaced = not_let_down(search.middle, tilts, ends, partial(_standing, search))
        for i, other in replaced.items():
            ends[i], centers[i] = other, other.centers
    jumps = found_jumps(search.walk, tilts, centers, [each.sse for each in ends])
    final = [framed.back(each, t) for each, t in zip(ends, tilts, strict=True)]
    report(1.0, "Done")
    back = np.argsort(order, kind="stable")
    return TiltedPath(
        t=grid,
        centers=np.array([each.centers for each in final])[back],
        tilted_sse=np.array([each.tilted_sse for each in final])[back],
        sse=np.array([each.sse for each in final])[back],
        city_cost=np.array([each.city_cost for each in final])[back],
        error=np.array([each.left for each in final])[back],
        arrangement=np.cumsum(jumps, dtype=np.int64)[back],
    )


def _streamed(
    rows: Rows,
    n_clusters: int,
    t: ArrayLike | None,
    criterion: str,
    fixed_centers: ArrayLike | None,
    scale: str | float | None,
    random_state: int | None,
    report: Progress,
) -> TiltedPath:
    """The path for rows beyond memory: found on cells, then made exact for all t at once."""
    from tkm_core.clustering.streamed.path import condensed, finish, length_of

    with over_rows(rows) as passes:
        known = condensed(passes, part(report, 0.0, 0.3))
        check_clusters(n_clusters, known.count)
        length = length_of(scale, known)
        if scale is None:
            warn_of_units(np.sort(check_grid(t)), known.scale, stacklevel=4)
        path = tilted_path(
            known.X, n_clusters, t=t, criterion=criterion, sample_weight=known.weights, fixed_centers=fixed_centers,
            scale=length, random_state=random_state, progress=part(report, 0.3, 0.6),
        )  # fmt: skip
        found = finish(
            passes, known, path.centers, path.t, length, n_clusters, criterion, part(report, 0.6, 1.0)
        )
    city_cost, tilted_sse, sse = found.history.T
    return replace(
        path, centers=found.centers, tilted_sse=tilted_sse, sse=sse, city_cost=city_cost, error=found.left,
        arrangement=found.arrangement,
    )  # fmt: skip


def _walk(
    search: Search, grid: Floats, dial: Floats, rng: np.random.Generator, report: Progress
) -> list[Descent]:
    """The lowest fixed points found on few stand-ins: searched at some t, then passed on both ways.

    ``grid`` is the ``dial`` in the solver's coordinates.

    There are two rounds: the first searches from new seeds; the second, at the t in between, starts from the best plan
    known there and from a crossing of plans found nearby.
    """
    best: dict[int, Descent] = {}
    last = len(grid) - 1
    stops = sorted({round(i) for i in np.linspace(0, last, 2 * ANCHORS - 1)})
    found: dict[int, Floats] = {}  # what the searches at each t end at
    for number, anchors in enumerate((stops[::2], stops[1::2])):
        for a, i in enumerate(anchors):
            report(0.25 * number + 0.2 * a / len(anchors), f"Searching at t = {dial_near(dial[i])}")
            start = None
            if number:
                start = _beginnings(search, best[i].centers, _near(found, stops, i, 1), grid[i], rng)
            plans = search.candidates(grid[i], rng, SEARCHES, start)
            cover = search.cover(grid[i]) if number == 0 else None
            if cover is not None:
                moved = search.candidates(grid[i], rng, 1, cover)
                plans = np.concatenate([plans, cover[None], moved])
            found[i] = descend_all(search.walk, plans, grid[i])[0]
        for i in anchors:  # what lost at one t may win at the next
            for end in _near(found, stops, i, 2):
                _keep_lower(best, i, descend(search.walk, end, grid[i]), search, grid[i])
        _hand_on(best, search, grid, partial(report, 0.25 * number + 0.2, "Walking the path both ways"))
    return [best[i] for i in range(last + 1)]


def _near(found: dict[int, Floats], stops: list[int], i: int, places: int) -> Floats:
    """The plans found at the i-th t and at the stops up to so many places away."""
    at = stops.index(i)
    return np.concatenate([found[j] for j in stops[max(0, at - places) : at + places + 1] if j in found])


def _beginnings(search: Search, known: Floats, nearby: Floats, t: float, rng: np.random.Generator) -> Floats:
    """Plans from which to search at t: the best one known, and crossings of those found nearby."""
    ends, values = descend_all(search.walk, np.concatenate([known[None], nearby]), t, tol=FINE)
    crossed = search.crossed(ends, values[:, COLUMN[search.criterion]], t, rng, SEARCHES - 1)
    return known if crossed is None else np.concatenate([known[None], crossed])


def _keep_lower(best: dict[int, Descent], i: int, found: Descent, search: Search, t: float) -> bool:
    """Keep ``found`` for the i-th t if it is clearly lower than the best so far; return whether it was."""
    column = COLUMN[search.criterion]
    lower = i not in best or clearly_lower(
        found.history[-1, column], best[i].history[-1, column], LOWER, search.walk.noise(t)
    )
    if lower:
        best[i] = found
    return lower


def _hand_on(best: dict[int, Descent], search: Search, grid: Floats, alive: Callable[[], None]) -> None:
    """Descend at each t from the plans of its neighbours, up and down, until nothing improves."""
    tried: set[tuple[int, int]] = set()  # (plan, t)
    seen: list[Descent] = []  # keeps the identities in `tried` unique
    for _ in range(ROUNDS):
        improved = False
        for back in (-1, 1):
            for i in range(len(grid))[::-back]:
                start = best.get(i + back)
                if start is None or (id(start), i) in tried:
                    continue
                tried.add((id(start), i))
                seen.append(start)
                alive()
                found = descend(search.walk, start.centers, grid[i])
                improved |= _keep_lower(best, i, found, search, grid[i])
        if not improved:
            return


def _on_all(search: Search, grid: Floats, dial: Floats, centers: Floats, report: Progress) -> list[Descent]:
    """The plans found on stand-ins as fixed points of all residents; for very many, to within a stated error."""
    many = len(search.full.X) > CHUNK

    def at(start: Floats, t: float) -> Descent:
        """Descend on all residents, for very many by way of the stand-ins."""
        if not many:
            return descend(search.full, start, t)
        near = descend(search.middle, start, t, tol=1e-3)
        found = descend(search.full, near.centers, t, POLISH, ENOUGH**2, alone=True)
        return replace(found, labels=found.labels[:0].copy())  # labels of every t would fill the memory

    tasks = [pool().submit(at, start, t) for start, t in zip(centers, grid, strict=True)]
    done: list[Descent] = []
    try:
        for task, t in zip(tasks, dial, strict=True):
            report(0.5 + 0.5 * len(done) / len(grid), f"All residents at t = {dial_near(t)}")
            done.append(task.result())
    finally:
        for task in tasks:
            task.cancel()
    return done


def _standing(search: Search, centers: Floats, t: float) -> Descent:
    """The costs of facilities for all residents, without moving them."""
    found = descend(search.full, centers, t, max_iter=0)
    return replace(found, labels=found.labels[:0].copy()) if len(search.full.X) > CHUNK else found
