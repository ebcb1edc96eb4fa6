"""A plan for every t from a few passes: range, cells, the dial on the cells, then exact sums for all t at once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tkm_core.arrays import Bools, Floats
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
from tkm_core.clustering.threads import pool
from tkm_core.partitions import PartitionError, Passes
from tkm_core.progress import Progress, part, silent

COLUMN = {"city": 0, "cluster": 1}
SAMPLED = 20_000  # stand-ins that say how large t f is
POLISH = 3  # steps on the cells and the rows farthest out
AGAIN, AGAIN_SAMPLED = 1, 6  # most further passes
STILL = 1e-4  # of a cluster's radius: facilities that all have a shorter step left are not moved


@dataclass(frozen=True)
class Condensed:
    """Rows as weighted stand-ins, and what is needed to come back to the rows.

    Attributes
    ----------
    frame : Frame
    X, weights : arrays
        Stand-ins in the coordinates of the data.
    scale : float
        Spread of all rows, in the coordinates of the data.
    count : int
        How many rows there are.
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
    """The cells; made once more where the files were wrong about their range."""
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
    """Facilities at each setting as the exact passes leave them, in the coordinates of the data."""

    centers: Floats
    history: Floats  # (m, 3): city-wide cost, tilted SSE, SSE
    left: Floats  # the longest step, relative to its cluster's radius
    wrong: Floats  # what the costs may be wrong by, relative
    weight: float


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
    """An exact pass for all t at once, a step, and another pass where a facility moved; the better of the two stays.

    One step is enough after the walk on the cells of a grid; after that on a sample there may be several.

    ``centers`` (m, k + f, d) and ``length``, in which t is counted, are in the coordinates of the data.
    """
    frame = known.frame
    inside = np.stack([frame.inside(each) for each in centers])
    tilts = np.array([tilt(each, frame.unit / length) if each else 0.0 for each in t])
    most = AGAIN if known.cells is not None else AGAIN_SAMPLED
    best = _pass(
        passes, known, inside, tilts, n_free, part(report, 0.0, 1 / (most + 1)), "All rows, at every t"
    )
    scale = np.ones(len(tilts))  # of the next step: shorter after one that led no lower
    for number in range(1, most + 1):
        if best.left.max(initial=0.0) <= STILL:
            break
        stage = part(report, number / (most + 1), (number + 1) / (most + 1))
        trial = best.centers + scale[:, None, None] * best.steps
        again = _pass(passes, known, trial, tilts, n_free, stage, "All rows once more")
        lower = again.history[:, COLUMN[criterion]] < best.history[:, COLUMN[criterion]]
        scale = np.where(lower, 1.0, scale / 4)
        best = best.chosen(again, lower)
    report(1.0, "Done")
    fixed = centers[:, n_free:]
    outside = np.stack([frame.outside(each[:n_free]) for each in best.centers])
    return Finished(
        np.concatenate([outside, fixed], axis=1),
        in_units_of(best.history, frame.unit, 2, "The tilted cost"),
        best.left,
        best.wrong,
        best.weight,
    )


@dataclass(frozen=True)
class Passed:
    """What one exact pass says about facilities, in the solver's coordinates."""

    centers: Floats
    steps: Floats
    history: Floats
    left: Floats
    wrong: Floats
    weight: float

    def chosen(self, other: "Passed", lower: Bools) -> "Passed":
        """The other where it is lower, this one elsewhere."""

        def pick(name: str) -> Any:
            mine, theirs = getattr(self, name), getattr(other, name)
            return np.where(lower.reshape(-1, *(1,) * (mine.ndim - 1)), theirs, mine)

        names = ("centers", "steps", "history", "left", "wrong")
        return replace(self, **{name: pick(name) for name in names})


def _pass(
    passes: Passes, known: Condensed, centers: Floats, tilts: Floats, n_free: int, report: Progress, text: str
) -> Passed:
    """Exact costs and steps of facilities at every setting."""
    m, k, d = centers.shape
    low, high = known.frame.inside(known.frame.low[None])[0], known.frame.inside(known.frame.high[None])[0]
    corners = np.maximum(np.abs(centers - low), np.abs(centers - high))
    reach = (corners**2).sum(axis=2).min(axis=1)  # some facility is within this of everybody
    with np.errstate(invalid="ignore"):
        small = np.nan_to_num(tilts * reach, nan=0.0, posinf=np.inf) <= SMALL_Z
    ask = Ask(known.frame, centers, tilts, small, _hot(known, centers, tilts))
    wrong = np.zeros(m)
    kept = None
    if known.cells is not None:
        rows = np.zeros((m, known.cells.grid.count), np.bool_)
        kept = Sums.zeros(m, k, d)
        cells, settings = known.cells, zip(centers, tilts, small, strict=True)
        tasks = [pool().submit(cells.summed, at, t, small=bool(few)) for at, t, few in settings]
        for i, task in enumerate(tasks):
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
    for i in np.flatnonzero(ask.hot).tolist():
        end = _outer_end(known, centers[i], tilts[i], found.rows[i][found.far[i] >= 0], n_free)
        steps[i], beyond[i] = end.centers - centers[i], end.left
    radius = np.sqrt(np.where(whole.clusters["top"] > 0, whole.clusters["top"], np.inf))
    left = np.maximum((np.linalg.norm(steps, axis=2) / radius).max(axis=1), beyond)
    return Passed(centers, steps, history, left, wrong, found.weight)


def _hot(known: Condensed, centers: Floats, tilts: Floats) -> Bools:
    """Where t f is so large that Newton's step is likely to overshoot, and the rows farthest out decide."""
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
    """A few steps to the tilted means of the cells and of the rows farthest out, which decide at a large t."""
    d = centers.shape[1]
    points = np.vstack([known.frame.inside(known.X), rows[:, :d]])
    problem = Problem.of(points, np.concatenate([known.weights, rows[:, d]]), n_free)
    return descend(problem, centers, t, max_iter=POLISH)


def length_of(scale: str | float | None, known: Condensed) -> float:
    """The length in which t is counted (``scale`` of ``TiltedKMeans``), in the coordinates of the data."""
    if scale == "auto":
        return known.scale or 1.0
    return 1.0 if scale is None else check_number(scale, "scale")
