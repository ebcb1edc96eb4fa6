"""The path for data beyond memory: range, cells, the path on the cells, then exact sums for all t at once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering.checks import check_number
from tkm_core.clustering.compiled.costs import note_costs
from tkm_core.clustering.compiled.descents import HOT_Z
from tkm_core.clustering.compiled.passes import SMALL_Z, WIDE
from tkm_core.clustering.descent import Descent, Problem, descend, nearest
from tkm_core.clustering.frame import Frame, in_units_of, tilt
from tkm_core.clustering.streamed.cells import Cells, Sums
from tkm_core.clustering.streamed.exact import Ask, Found, bits, look, merging, together
from tkm_core.clustering.streamed.grid import (
    SIDES,
    Grid,
    Survey,
    added,
    condense,
    outer_of,
    outermost,
    survey,
)
from tkm_core.clustering.streamed.settling import settled
from tkm_core.clustering.threads import pool
from tkm_core.partitions import PartitionError, Passes
from tkm_core.progress import Progress, part, silent

COLUMN = {"city": 0, "cluster": 1}
SAMPLED = 20_000  # stand-ins from which the size of t f is estimated
POLISH = 3  # steps on the cells and the rows farthest out
AGAIN, AGAIN_SAMPLED = 1, 6  # the most further passes
STILL, STILL_SAMPLED = 1e-2, 1e-4  # share of a cluster's radius: shorter steps are not taken


@dataclass(frozen=True)
class Condensed:
    """Rows as weighted stand-ins, and what is needed to return to the rows.

    Attributes
    ----------
    frame : Frame
    X, weights : arrays
        Stand-ins in the coordinates of the data.
    scale : float
        Spread of all rows, in the coordinates of the data.
    count : int
        Number of rows.
    cells : Cells or None
        On a grid, up to three dimensions.
    """

    frame: Frame
    X: Floats
    weights: Floats
    scale: float
    count: int
    cells: Cells | None


def condensed(passes: Passes, report: Progress = silent) -> Condensed:
    """Stand-ins for all rows: the means of cells, or in more than three dimensions every m-th row."""
    d = passes.rows.n_columns
    if d > WIDE:
        msg = f"{passes.rows.name} has {d} columns; beyond memory up to {WIDE} are possible. Leave some out."
        raise ValueError(msg)
    found = survey(passes, part(report, 0.0, 0.3))
    if d not in SIDES:
        frame = Frame.of(np.vstack([found.low, found.high]))
        mean = np.average(found.sample, axis=0, weights=found.people)
        variance = float(np.average(((found.sample - mean) ** 2).sum(axis=1), weights=found.people)) / d
        X, weights, _ = passes(
            outermost, outer_of, mean, part(report, 0.3, 1.0), "Looking for the rows farthest out"
        )
        points, people = np.vstack([found.sample, X]), np.concatenate([found.people, weights])
        return Condensed(frame, points, people, float(np.sqrt(variance)), found.count, None)
    grid, cells, count = _cells(passes, found, part(report, 0.3, 1.0))
    scale = float(np.sqrt(cells.variance)) * grid.frame.unit
    return Condensed(grid.frame, grid.frame.outside(cells.mean), cells.weight, scale, count, cells)


def _cells(passes: Passes, found: Survey, report: Progress) -> tuple[Grid, Cells, int]:
    """The cells, made again if the files stated a wrong range."""
    for _ in range(2):
        grid = Grid.of(found)
        moments = passes(condense, added, grid, report, "Condensing the rows to cells")
        if not np.isfinite(moments.low).all():
            msg = f"{passes.rows.name} has no rows with a weight above 0; at least one resident must count."
            raise PartitionError(msg)
        if (moments.low >= found.low).all() and (moments.high <= found.high).all():
            break
        found = replace(found, low=moments.low, high=moments.high)
    frame = replace(grid.frame, low=moments.low, high=moments.high)
    return grid, Cells.of(replace(grid, frame=frame), moments), int(moments.sums[:, 0].sum())


@dataclass(frozen=True)
class Finished:
    """Facilities at each setting after the exact passes, in the coordinates of the data."""

    centers: Floats
    history: Floats  # (m, 3): city-wide cost, tilted SSE, SSE
    left: Floats  # the longest remaining step, relative to its cluster's radius
    wrong: Floats  # relative error bound of the costs
    weight: float
    arrangement: Ints  # plans with the same number pass into one another as t changes


def finish(
    passes: Passes,
    known: Condensed,
    centers: Floats,
    t: Floats,
    length: float,
    n_free: int,
    criterion: str,
    report: Progress = silent,
) -> Finished:
    """An exact pass for all t at once, and another at those t where a step is left; the better of the two stays.

    On the cells of a grid, plans are settled first, and one further pass is enough; on a sample there may be several.

    ``centers`` (m, k + f, d) and ``length``, the unit for t, are in the coordinates of the data.
    """
    frame = known.frame
    inside = np.stack([frame.inside(each) for each in centers])
    tilts = np.array([tilt(each, frame.unit / length) if each else 0.0 for each in t])
    most, arrangement = AGAIN, np.zeros(len(tilts), np.int64)
    chosen = np.zeros(len(tilts), np.bool_)  # plans that stay as they are
    if known.cells is None:
        most = AGAIN_SAMPLED
    if n_free:
        hot, points = _hot(known, inside, tilts), frame.inside(known.X)
        stage = part(report, 0.0, 0.2)
        inside, arrangement, chosen = settled(
            points, known.weights, inside, tilts, hot, n_free, criterion, stage
        )
    stages = [
        part(report, 0.2 + 0.8 * i / (most + 1), 0.2 + 0.8 * (i + 1) / (most + 1)) for i in range(most + 1)
    ]
    best = _pass(passes, known, inside, tilts, n_free, stages[0], "All rows, at every t")
    scale = np.ones(len(tilts))  # of the next step: shorter after one that led no lower
    for stage in stages[1:]:
        open_ = np.flatnonzero((best.left > (STILL if known.cells is not None else STILL_SAMPLED)) & ~chosen)
        if not len(open_):
            break
        trial = best.centers[open_] + scale[open_, None, None] * best.steps[open_]
        again = _pass(passes, known, trial, tilts[open_], n_free, stage, "All rows once more")
        lower = again.history[:, COLUMN[criterion]] < best.history[open_, COLUMN[criterion]]
        scale[open_] = np.where(lower, 1.0, scale[open_] / 4)
        best = best.with_lower(again, open_[lower], lower)
    report(1.0, "Done")
    fixed = centers[:, n_free:]
    outside = np.stack([frame.outside(each[:n_free]) for each in best.centers])
    return Finished(
        np.concatenate([outside, fixed], axis=1),
        in_units_of(best.history, frame.unit, 2, "The tilted cost"),
        best.left,
        best.wrong,
        best.weight,
        arrangement,
    )


@dataclass(frozen=True)
class Passed:
    """The results of one exact pass, in the solver's coordinates."""

    centers: Floats
    steps: Floats
    history: Floats
    left: Floats
    wrong: Floats
    weight: float

    def with_lower(self, other: "Passed", at: Ints, lower: Bools) -> "Passed":
        """The same, but ``at`` some settings what the other has where it is lower."""

        def pick(name: str) -> Any:
            mine = getattr(self, name).copy()
            mine[at] = getattr(other, name)[lower]
            return mine

        names = ("centers", "steps", "history", "left", "wrong")
        return replace(self, **{name: pick(name) for name in names})


def _pass(
    passes: Passes, known: Condensed, centers: Floats, tilts: Floats, n_free: int, report: Progress, text: str
) -> Passed:
    """Exact costs and steps of facilities at every setting."""
    m, k, d = centers.shape
    low, high = known.frame.inside(known.frame.low[None])[0], known.frame.inside(known.frame.high[None])[0]
    corners = np.maximum(np.abs(centers - low), np.abs(centers - high))
    reach = (corners**2).sum(axis=2).min(axis=1)  # everybody has some facility within this squared distance
    with np.errstate(invalid="ignore"):
        small = np.nan_to_num(tilts * reach, nan=0.0, posinf=np.inf) <= SMALL_Z
    ask = Ask(known.frame, centers, tilts, small, _hot(known, centers, tilts))
    wrong = np.zeros(m)
    kept = None
    if known.cells is not None:
        rows = np.zeros((m, known.cells.grid.count), np.bool_)
        kept = Sums.zeros(m, k, d)
        cells, settings = known.cells, zip(centers, tilts, small, strict=True)
        parts = [pool().submit(cells.summed, at, t, small=bool(few)) for at, t, few in settings]
        for i, task in enumerate(parts):
            report(0.0, text)
            some, sums, wrong[i] = task.result()
            rows[i, known.cells.numbers[some]] = True
            kept.clusters[i], kept.first[i], kept.second[i] = sums.clusters[0], sums.first[0], sums.second[0]
        ask = replace(ask, grid=known.cells.grid, looked_at=bits(rows))
    found: Found = passes(look, merging(ask), ask, report, text)
    whole = found.sums if kept is None else together(ask, [kept, found.sums])
    history = np.empty((m, 3))
    for i in range(m):
        note_costs(whole.clusters[i].view(np.recarray), float(tilts[i]), bool(small[i]), history[i])
    steps = _steps(whole, tilts, small, n_free)
    beyond = np.zeros(m)
    hot = np.flatnonzero(ask.hot).tolist()
    tasks = [
        pool().submit(_outer_end, known, centers[i], tilts[i], found.rows[i][found.far[i] >= 0], n_free)
        for i in hot
    ]
    for i, end in zip(hot, (task.result() for task in tasks), strict=True):
        steps[i], beyond[i] = end.centers - centers[i], end.left
    radius = np.sqrt(np.where(whole.clusters["top"] > 0, whole.clusters["top"], np.inf))
    left = np.maximum((np.linalg.norm(steps, axis=2) / radius).max(axis=1), beyond)
    return Passed(centers, steps, history, left, wrong, found.weight)


def _hot(known: Condensed, centers: Floats, tilts: Floats) -> Bools:
    """Settings at which t f is so large that Newton's step is likely to overshoot, and the farthest rows decide."""
    points = known.frame.inside(known.X)
    points = points[:: max(1, len(points) // SAMPLED)]
    tops = np.array([nearest(points, each)[1].max() for each in centers])
    with np.errstate(invalid="ignore"):
        return np.asarray((tilts * tops > HOT_Z) | np.isinf(tilts))


def _steps(sums: Sums, tilts: Floats, small: Bools, n_free: int) -> Floats:
    """Newton's step (I + 2 t S)^{-1} (m - c) of every facility that may move, at every finite t."""
    m, k, d = sums.first.shape
    cluster = sums.clusters
    mass = np.where(small[:, None], cluster["weight"] + cluster["mass"], cluster["mass"])
    live = (cluster["weight"] > 0) & (cluster["top"] > 0) & (mass > 0) & np.isfinite(tilts)[:, None]
    live[:, n_free:] = False
    mass = np.where(live, mass, 1.0)
    g = np.where(live[..., None], sums.first / mass[..., None], 0.0)
    second = sums.second.reshape(m, k, d, d) / mass[..., None, None]
    lower = np.tril(second)
    whole = lower + np.swapaxes(np.tril(second, -1), 2, 3) - g[..., :, None] * g[..., None, :]
    t = np.where(np.isfinite(tilts), tilts, 0.0)[:, None, None, None]
    matrix = np.where(live[..., None, None], np.eye(d) + 2 * t * whole, np.eye(d))
    return np.asarray(np.linalg.solve(matrix, g[..., None])[..., 0])


def _outer_end(known: Condensed, centers: Floats, t: float, rows: Floats, n_free: int) -> Descent:
    """A few steps to the tilted means of the cells and the farthest rows, which decide at a large t."""
    d = centers.shape[1]
    points = np.vstack([known.frame.inside(known.X), rows[:, :d]])
    problem = Problem.of(points, np.concatenate([known.weights, rows[:, d]]), n_free)
    return descend(problem, centers, t, max_iter=POLISH, alone=True)


def length_of(scale: str | float | None, known: Condensed) -> float:
    """The unit of length for t (``scale`` of ``TiltedKMeans``), in the coordinates of the data."""
    if scale == "auto":
        return known.scale or 1.0
    return 1.0 if scale is None else check_number(scale, "scale")
