"""The heavy jobs of the app, each a function that can be sent to a worker, and the one pool of this process."""

import atexit
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from io import BytesIO
from typing import Any

import numpy as np

from tkm_core.comparison import neighbourhoods, solve
from tkm_core.config import config
from tkm_core.curve import Curve
from tkm_core.existing import Existing
from tkm_core.export import PlanFile, Restored, read_plan_file, restore_plan, to_bytes
from tkm_core.export import table as export_table
from tkm_core.jobs.mending import mend_cache
from tkm_core.jobs.pool import JobPool
from tkm_core.methods import Solution
from tkm_core.path import TiltedPath
from tkm_core.plan import Floats, Plan, make_plan
from tkm_core.progress import Progress, part
from tkm_core.residents import Report, Residents, ResidentsError, load_residents

MODULES = ("tkm_core.jobs.tasks",)  # what a worker imports; doing so also mends its cache of compiled code

LARGEST_FILE = 400e6  # bytes: it is held in the server's memory until it is fetched
SMALL = 2_000  # residents; the first plan on a new server need not wait for its workers

mend_cache()


@cache
def pool() -> JobPool:
    """The pool of this process, as the settings want it; ended with the process."""
    wanted = config()
    made = JobPool(
        wanted.workers,
        memory_mb=wanted.worker_memory_mb,
        most_waiting=wanted.most_waiting,
        minutes=wanted.job_minutes,
        modules=MODULES,
    )
    atexit.register(made.close)
    return made


def plan(
    residents: Residents,
    k: int,
    *,
    existing: Existing | None = None,
    random_state: int,
    progress: Progress,
) -> Plan:
    """A plan with its trade-off curve, as `make_plan` makes it, from a worker.

    Parameters
    ----------
    residents : Residents
    k : int
        Number of new facilities.
    existing : Existing, optional
        Facilities that stay; their names do not leave this process.
    random_state : int
    progress : callable
        As in `JobPool.run`.

    Returns
    -------
    Plan
    """
    fixed, names = (None, ()) if existing is None else (existing.lonlat, existing.names)
    key = ("plan", residents.fingerprint, k, random_state, _bytes(fixed))
    made = _elsewhere(key, _plan_parts, residents, k, fixed, random_state, progress=progress)
    path, baseline, curve = made
    return Plan(residents, k, random_state, "cluster", path, baseline, {None: curve}, names)


def solution(
    residents: Residents,
    name: str,
    k: int,
    *,
    t: float,
    patience: float,
    existing: Existing | None = None,
    random_state: int,
    progress: Progress,
) -> Solution:
    """Facilities of one method, as `solve` finds them, from a worker."""
    fixed = None if existing is None else existing.lonlat
    dial = t if name == "tkm" else None
    key = ("method", residents.fingerprint, name, k, dial, patience, random_state, _bytes(fixed))
    work = partial(solve, t=t, patience=patience, fixed_lonlat=fixed, random_state=random_state)
    found: Solution = _elsewhere(key, work, residents, name, k, progress=progress, method=name)
    return found


def radius(residents: Residents, k: int, progress: Progress) -> Floats | None:
    """The neighbourhood radius of every resident, as `neighbourhoods` finds it, from a worker."""
    found: Floats | None = _elsewhere(
        ("radius", residents.fingerprint, k), neighbourhoods, residents, k, progress=progress
    )
    return found


def plan_file(key: str, content: bytes, progress: Progress) -> PlanFile:
    """A plan file as `read_plan_file` reads it, in a worker.

    Parameters
    ----------
    key : str
        A digest of the content.
    content : bytes
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    PlanFileError
        If it is not a plan file, or damaged.
    """
    about = {"job": "plan file", "megabytes": round(len(content) / 1e6, 1)}
    found: PlanFile = pool().run(("plan file", key), _plan_file, content, about=about, progress=progress)
    return found


def restored(key: Hashable, saved: PlanFile, residents: Residents, progress: Progress) -> Restored:
    """A plan from its file, with its trade-off curve, as `restore_plan` brings it back, from a worker.

    Parameters
    ----------
    key : hashable
        A digest of the file.
    saved : PlanFile
    residents : Residents
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    PlanFileError
        If the file was changed after it was saved.
    """
    asked = ("restore", residents.fingerprint, key)
    path, baseline, curve, same_data = _elsewhere(asked, _restored_parts, residents, saved, progress=progress)
    fixed = saved.fixed_names
    plan = Plan(residents, saved.k, saved.random_state, saved.criterion, path, baseline, {None: curve}, fixed)
    return Restored.of(saved, plan, same_data=same_data)


def table(key: Hashable, plan: Plan, i: int, what: str, file_format: str, progress: Progress) -> bytes:
    """One of the tables of a plan as a file, as `to_bytes` makes it, from a worker.

    Parameters
    ----------
    key : hashable
        Of the data and the plan; who holds the same key is handed the same file, names in it included.
    plan : Plan
    i : int
        Setting of the dial.
    what, file_format : str
        As in `tkm_core.export`.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ValueError
        If the file gets too large to be handed out.
    """
    home = plan.residents
    sent = replace(plan, residents=replace(_bare(home), labels=home.labels), _curves={})
    asked = ("table", key, plan.path.centers[i].tobytes(), i, what, file_format)
    about = {"job": "table", "residents": len(home), "format": file_format}
    made: bytes = pool().run(asked, _table, sent, i, what, file_format, about=about, progress=progress)
    return made


def residents(
    key: str, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any], progress: Progress
) -> Residents:
    """Residents as `load_residents` reads them, in a worker: a file that breaks its reader breaks nothing else.

    Parameters
    ----------
    key : str
        A digest of files and options.
    files : sequence of tuple of (str, bytes)
        Name and content of each file.
    options : mapping
        As `load_residents` takes them.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ResidentsError
        If the files cannot be used as they are, or hold more residents than this server plans for.
    """
    megabytes = sum(len(content) for _, content in files) / 1e6
    about = {"job": "read", "megabytes": round(megabytes, 1)}
    work = partial(_read, list(files), dict(options), config().most_residents)
    found: Residents = pool().run(("read", key), work, about=about, progress=progress)
    return found


def _read(
    files: list[tuple[str, bytes]],
    options: dict[str, Any],
    most: int,
    progress: Progress,  # noqa: ARG001  reading is killed, not asked to stop
) -> Residents:
    parts = []
    for name, content in files:
        part = BytesIO(content)
        part.name = name
        parts.append(part)
    found = load_residents(parts[0] if len(parts) == 1 else parts, name=files[0][0], **options)
    if len(found) > most:
        msg = (
            f"There are {len(found):,} residents in this file; this server plans for at most {most:,}. "
            "Add them up by block or grid cell, with a column that counts the people of each."
        )
        raise ResidentsError(msg, report=found.report)
    return found


def _plan_file(content: bytes, progress: Progress) -> PlanFile:  # noqa: ARG001  it is short
    return read_plan_file(content)


def _elsewhere(
    key: tuple[Hashable, ...],
    function: Callable[..., Any],
    residents: Residents,
    *arguments: Any,
    progress: Progress,
    **about: str,
) -> Any:
    """Run in the pool; the log says what and for how many, never for whom."""
    told = {"job": key[0], "residents": len(residents), **about}
    small = len(residents) <= SMALL
    return pool().run(key, function, _bare(residents), *arguments, about=told, progress=progress, small=small)


def _bytes(fixed: Floats | None) -> bytes:
    return b"" if fixed is None else fixed.tobytes()


def _plan_parts(
    residents: Residents, k: int, fixed: Floats | None, random_state: int, progress: Progress
) -> tuple[TiltedPath, Floats, Curve]:
    """What makes a plan beside its residents, which stay where they are."""
    made = make_plan(
        residents,
        k,
        fixed_lonlat=fixed,
        random_state=random_state,
        progress=part(progress, 0.0, 0.85),
    )
    curve = made.trade_off(progress=part(progress, 0.85, 1.0))
    return made.path, np.asarray(made.baseline), curve


def _restored_parts(
    residents: Residents, saved: PlanFile, progress: Progress
) -> tuple[TiltedPath, Floats, Curve, bool]:
    """What makes a restored plan beside its residents, which stay where they are, as their name does."""
    found = restore_plan(saved, residents, progress=part(progress, 0.0, 0.85))
    curve = found.plan.trade_off(progress=part(progress, 0.85, 1.0))
    return found.plan.path, found.plan.baseline, curve, found.same_data


def _table(plan: Plan, i: int, what: str, file_format: str, progress: Progress) -> bytes:
    progress(0.0, "gathering the figures")
    frame = export_table(plan, i, what)
    progress(0.3, "writing the file")
    made = to_bytes(frame, file_format)
    if len(made) > LARGEST_FILE:
        msg = (
            f"This file would have {len(made) / 1e6:,.0f} MB, more than the {LARGEST_FILE / 1e6:,.0f} MB that "
            "this server hands out. Parquet and CSV hold the same in less."
        )
        raise ValueError(msg)
    return made


def _bare(residents: Residents) -> Residents:
    """Residents without names, labels and report: positions, weights and what is known of them."""
    bare = replace(residents, name="", report=Report(), labels={})
    for name in ("xy", "origin", "scale"):
        if name in residents.__dict__:  # where the cached properties live
            bare.__dict__[name] = residents.__dict__[name]
    return bare
