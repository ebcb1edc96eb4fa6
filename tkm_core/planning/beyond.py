"""Plan for residents that do not fit in memory: condensed to cells, with exact figures from passes over all rows."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from glob import has_magic
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyproj import CRS

from tkm_core.arrays import Floats
from tkm_core.clustering import Condensed, TiltedPath, condensed, finish, survey
from tkm_core.evaluation import Evaluation, evaluate_settings
from tkm_core.partitions import Change, ParquetRows, PartitionError, Rows, over_rows, parquet_head, rows_of
from tkm_core.progress import Progress, part, silent
from tkm_core.residents import WGS84, Report, Residents, ResidentsError, load_residents, local_crs, transform
from tkm_core.wording import counted

if TYPE_CHECKING:
    from tkm_core.planning.plan import Plan

BEYOND = 20_000_000  # rows from which on a file is not read into memory
HEAD = 5_000  # rows by which the columns are recognised
PLACES = 40  # sample points along each side of the range, to choose a map projection
MARGIN = 0.005  # share of the range added on each side, for places between the sample points
SAME = 1e-5  # degrees
# Figures of a plan that come from all rows, not from cells.
EXACT = tuple(
    item.name
    for item in fields(Evaluation)
    if item.name not in ("t", "labels", "distance", "standard", "fairness_ratio")
)


@dataclass(frozen=True, eq=False, repr=False)
class ResidentCells(Residents):
    """Cells that stand for residents beyond memory; passes over all rows make their plans exact.

    Attributes
    ----------
    rows : Rows
        All residents, on the map in metres.
    known : Condensed
        The cells, and the moments of their rows.
    scheduler : str or None
        Address of the Dask scheduler that reads the rows.
    """

    rows: Rows | None = None
    known: Condensed | None = None
    scheduler: str | None = None

    @property
    def count(self) -> int:
        """How many rows the cells stand for."""
        return 0 if self.known is None else self.known.count

    def exact_path(self, path: TiltedPath, k: int, criterion: str, report: Progress = silent) -> TiltedPath:
        """Refine a path found on the cells by one or two passes over all rows; in scaled coordinates."""
        if self.rows is None or self.known is None or not k:
            return path
        centers = np.stack([self.to_xy(each) for each in path.centers])
        with over_rows(self.rows, self.scheduler) as passes:
            found = finish(passes, self.known, centers, path.t, self.scale, k, criterion, report)
        scaled = (found.centers - self.origin) / self.scale
        scaled[:, k:] = path.centers[:, k:]
        city_cost, tilted_sse, sse = found.history.T / self.scale**2
        return replace(
            path, centers=scaled, tilted_sse=tilted_sse, sse=sse, city_cost=city_cost, error=found.left,
            arrangement=found.arrangement,
        )  # fmt: skip

    def measured(
        self, centers: Sequence[Floats], t: Sequence[float], standard: float | None, report: Progress = silent
    ) -> list[Evaluation]:
        """Every measure of several sets of facilities, in metres, from one pass over all rows."""
        if self.rows is None:
            msg = "The rows are no longer available."
            raise PartitionError(msg)
        most = max(len(each) for each in centers)
        # for sets of different size in one pass, the last facility is repeated; the copies serve nobody
        filled = np.stack([np.vstack([each, *[each[-1:]] * (most - len(each))]) for each in centers])
        with over_rows(self.rows, self.scheduler) as passes:
            found = evaluate_settings(passes, filled, np.array(t), standard, report)
        return [_shortened(one, len(each)) for one, each in zip(found, centers, strict=True)]


def _shortened(found: Evaluation, k: int) -> Evaluation:
    """An evaluation without the repeated facilities, which serve nobody because ties go to the first."""
    arrays = ("population", "tilted_sse_by_cluster", "variance", "variance_of_distance", "max_distance")
    return replace(found, **{name: getattr(found, name)[:k] for name in arrays})


def beyond_memory(file: Any, scheduler: str | None = None) -> bool:
    """Whether a path means several files, a remote file, a very large one, or work for a cluster.

    >>> beyond_memory("homes/*.parquet"), beyond_memory("homes.csv"), beyond_memory("s3://bucket/homes.parquet")
    (True, False, True)
    """
    if isinstance(file, ParquetRows):
        return True
    if not isinstance(file, str | os.PathLike):
        return False
    path = os.fspath(file)
    if not isinstance(path, str):
        return False
    parquet = path.lower().endswith((".parquet", ".geoparquet", ".parq"))
    if (has_magic(path) and not Path(path).exists()) or "://" in path:
        return True
    if Path(path).is_dir():
        return any(Path(path).rglob("*.parquet"))
    if not parquet or not Path(path).is_file():
        return False
    if scheduler:
        return True
    try:
        return int(pq.read_metadata(path).num_rows) > BEYOND
    except (pa.ArrowException, OSError):
        return False  # `load_residents` says what is wrong with it


def condense_residents(
    file: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    weight: Any = None,
    crs: Any = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> ResidentCells:
    """Read residents beyond memory as cells: one pass for their range, unless the files state it, and one to condense.

    Parameters
    ----------
    file : str or ParquetRows
        Parquet or GeoParquet: a file, a folder, a glob, also on object storage.
    x, y, weight : str, optional
        Columns; guessed from names and the first rows, as `load_residents` does. False for no weight.
    crs : str, int or CRS, optional
        Reference system of the coordinates; by default what the file says, or degrees.
    scheduler : str, optional
        The address of a Dask scheduler; by default ``EVENREACH_SCHEDULER``, or this process alone.
    progress : callable, optional
        Called with a fraction and a text; an exception it raises ends the work, on the workers too.

    Returns
    -------
    ResidentCells

    Raises
    ------
    ResidentsError or PartitionError
        With a message that names the file, row and column.
    """
    report = progress or silent
    asked = file if isinstance(file, ParquetRows) else ParquetRows(os.fspath(file))
    report(0.0, "Looking at the first rows")
    name, head = parquet_head(asked.path, HEAD)
    told = _understood(head, name, x=x, y=y, weight=weight, crs=crs)
    source, columns = _columns(told, head)
    people = told.report.column_for("weight")
    flat = _rows(asked.path, columns, people, _as_it_is if columns is None else None)
    with over_rows(flat, scheduler) as passes:
        box = flat.box
        if box is None:
            found = survey(passes, part(report, 0.0, 0.4))
            box = found.low, found.high
    places = _grid_of(*box)
    lonlat = transform(places, source, WGS84)
    if not np.isfinite(lonlat).all() or np.abs(lonlat[:, 1]).max() > 90:
        reach = " and ".join(f"from {a:g} to {b:g}" for a, b in zip(*box, strict=True))
        msg = f"The coordinates of {flat.name} reach {reach}, which {source.name} does not hold."
        raise ResidentsError(msg, needs="crs")
    target = local_crs(lonlat)
    rows = _rows(asked.path, columns, people, Projection(source.to_wkt(), target.to_wkt()))
    on_map = transform(places, source, target)
    margin = MARGIN * np.ptp(on_map, axis=0)
    rows = replace(rows, box=(on_map.min(axis=0) - margin, on_map.max(axis=0) + margin))
    with over_rows(rows, scheduler) as passes:
        known = condensed(passes, part(report, 0.4, 1.0))
    return _cells(rows, known, target, source, told.report, scheduler)


def _rows(path: Any, columns: tuple[str, str] | None, people: str | None, change: Change | None) -> Rows:
    """The rows of a path, transformed where they are read."""
    found = rows_of(ParquetRows(path, columns, people, change))
    assert found is not None  # noqa: S101  a path always means rows
    return found


@dataclass(frozen=True)
class Projection:
    """Transforms coordinates from one reference system to another, in whichever process reads the rows."""

    source: str
    target: str

    def __call__(self, points: Floats) -> Floats:
        """Transform points; a point that is not on the map becomes a row without a finite value, which is reported."""
        return transform(points, CRS.from_wkt(self.source), CRS.from_wkt(self.target))


def _as_it_is(points: Floats) -> Floats:
    """No transformation."""
    return points


def _understood(head: pa.Table, name: str, **choices: Any) -> Residents:
    """Recognise the columns by the first rows, with the reader of planners' files."""
    file = BytesIO()
    pq.write_table(head, file)
    given = {role: choice for role, choice in choices.items() if choice is not None}
    return load_residents(file.getvalue(), name=name, keep_suspect=True, **given)


def _columns(told: Residents, head: pa.Table) -> tuple[CRS, tuple[str, str] | None]:
    """The reference system of the coordinates, and their columns with x first; None for a column of points."""
    source = told.source_crs or WGS84
    names = [told.report.column_for(role) for role in ("x", "y")]
    if None in names:
        if told.report.column_for("lonlat"):
            msg = "Both coordinates are in one column of text. Beyond memory they must be two columns of numbers."
            raise ResidentsError(msg, needs="x", report=told.report)
        return source, None
    pair = (str(names[0]), str(names[1]))
    for columns in (pair, pair[::-1]):
        points = np.column_stack([head[column].to_numpy() for column in columns]).astype(np.float64)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) == len(told) and np.abs(transform(points, source, WGS84) - told.lonlat).max() < SAME:
            return source, columns
    msg = f"It is not clear how “{pair[0]}” and “{pair[1]}” become longitude and latitude."
    raise ResidentsError(msg, needs="crs", report=told.report)


def _grid_of(low: Floats, high: Floats) -> Floats:
    """Points evenly spread over a box."""
    along = [np.linspace(a, b, PLACES) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*along), axis=-1).reshape(-1, 2)


def _cells(
    rows: Rows, known: Condensed, crs: CRS, source: CRS, told: Report, scheduler: str | None
) -> ResidentCells:
    """The cells as residents, with a report that says what they stand for."""
    read = rows.n_rows or known.count
    parts = counted(len(rows.pieces), "group")
    told_of = (
        f"The {read:,} rows, in {parts}, were condensed to {len(known.X):,} cells. Facilities, and the figures of the "
        "command line, come from passes over all rows; the app's figures, maps, charts, and who gains or loses, from "
        "cells."
    )
    notes = [told_of]
    empty = read - known.count
    if empty:
        notes.append(f"{counted(empty, 'row')} with a population of 0 count for nothing.")
    total = float(known.weights.sum())
    # other notes are true of the first rows only
    report = replace(told, rows_read=read, rows_kept=read, dropped=[], notes=notes, total_weight=total)
    lonlat = transform(known.X, crs, WGS84)
    name = rows.name.strip("“”").rpartition("/")[2]
    cells = ResidentCells(
        name,
        lonlat,
        known.weights,
        crs,
        source,
        report,
        {},
        None,
        rows=rows,
        known=known,
        scheduler=scheduler,
    )
    cells.__dict__["xy"] = known.X
    return cells


def measure_exactly(plan: "Plan", i: int, standard: float | None = None, report: Progress = silent) -> "Plan":
    """The plan with exact figures for setting i and for the reference, from one pass over all rows.

    Distances of single residents stay those of cells. A plan for residents in memory is returned as it is.
    """
    home = plan.residents
    if not isinstance(home, ResidentCells) or not plan.serving.plain:
        return plan
    sets: dict[str, tuple[Floats, float]] = {
        "plan": (plan.centers_xy(i), float(plan.t[i])),
        "average": (plan.baseline_xy, 0.0),
        "reference": (plan.reference_xy, 0.0),
    }
    found = home.measured(
        [centers for centers, _ in sets.values()],
        [t / plan.scale**2 for _, t in sets.values()],
        standard,
        report,
    )
    exact = dict(zip(sets, found, strict=True))
    on_cells: Callable[..., Evaluation] = plan._evaluate
    baseline, reference = plan._evaluate_baseline, plan._evaluate_reference

    def with_exact(cells: Evaluation, asked: float | None, key: str) -> Evaluation:
        """The evaluation on cells, with the figures that are known exactly."""
        names = [name for name in EXACT if name != "share_within" or asked == standard]
        return replace(cells, **{name: getattr(exact[key], name) for name in names})

    def evaluation(at: int, asked: float | None) -> Evaluation:
        """An evaluation of the plan, exact at setting i."""
        cells = on_cells(at, asked)
        return with_exact(cells, asked, "plan") if at == i else cells

    plan.__dict__["_evaluate"] = evaluation
    plan.__dict__["_evaluate_baseline"] = lambda asked: with_exact(baseline(asked), asked, "average")
    plan.__dict__["_evaluate_reference"] = lambda asked: with_exact(reference(asked), asked, "reference")
    return plan
