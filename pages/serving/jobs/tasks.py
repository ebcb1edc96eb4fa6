"""The heavy jobs of the app, each a function that can be sent to a worker, and the two pools of this process."""

import atexit
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

import pyarrow as pa

from pages.serving.config import config
from pages.serving.jobs import reading
from pages.serving.jobs.mending import mend_cache
from pages.serving.jobs.pool import Health, JobPool
from pages.serving.jobs.problems import READING, JobError
from tkm_core.arrays import Floats
from tkm_core.export import LARGEST, PlanFile, Restored, restore_plan, to_bytes
from tkm_core.export import table as export_table
from tkm_core.methods import Solution
from tkm_core.planning import Plan, make_plan, neighbourhoods, solve
from tkm_core.progress import Progress, part
from tkm_core.residents import Existing, Report, Residents

MODULES = (
    "pages.serving.jobs.tasks",
)  # what a worker imports; doing so also mends its cache of compiled code
READER_MODULES = ("pages.serving.jobs.rehearsal",)
READERS = 2  # one is ready while another is replaced; one address never has both

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
        seconds=60 * wanted.job_minutes,
        modules=MODULES,
    )
    atexit.register(made.close)
    return made


@cache
def readers() -> JobPool:
    """The pool that reads visitors' files, each in a process of its own, also where nothing else has workers.

    Windows cannot pass a connection to a process: there, files are read in the server.
    """
    wanted = config()
    made = JobPool(
        0 if os.name == "nt" else READERS,
        memory_mb=wanted.worker_memory_mb,
        most_waiting=wanted.most_waiting,
        seconds=wanted.read_seconds,
        modules=READER_MODULES,
        sentences=READING,
        single_use=True,
    )
    atexit.register(made.close)
    return made


def start() -> None:
    """Start both pools, so that nobody waits for it."""
    pool()
    readers()


def close() -> None:
    """End both pools."""
    pool().close()
    readers().close()


def health() -> Health:
    """How the pool is, with what readers do; well if both are."""
    plans, reads = pool().health(), readers().health()
    running, waiting = plans.running + reads.running, plans.waiting + reads.waiting
    return replace(plans, running=running, waiting=waiting, well=plans.well and reads.well)


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
    made: Plan = _elsewhere(key, _plan, residents, k, fixed, random_state, progress=progress)
    return replace(made, residents=residents, existing_names=names)


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
    made: Restored = _elsewhere(asked, _restored, residents, saved, progress=progress)
    return Restored.of(saved, replace(made.plan, residents=residents), same_data=made.same_data)


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
    """Residents as `load_residents` reads them, in a process for this one read: it harms and learns nothing else.

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
    about = _about_files(sum(len(content) for _, content in files))
    most = config().most_residents
    found: Residents = readers().run(
        ("read", key, most),
        reading.residents,
        list(files),
        dict(options),
        most,
        about=about,
        progress=progress,
    )
    _check_text(found)
    return found


def plan_file(key: str, content: bytes, progress: Progress) -> PlanFile:
    """A plan file as `read_plan_file` reads it, in a process for this one read.

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
        If it is not a plan file, too large for one, or damaged.
    """
    enough = content[: LARGEST + 1]  # of a file that is too large, enough to be refused
    about = _about_files(len(content))
    found: PlanFile = readers().run(
        ("plan file", key), reading.plan_file, enough, about=about, progress=progress
    )
    return found


def _check_text(found: Residents) -> None:
    """Refuse text that says it lies outside of its own memory: showing it would show the server's."""
    try:
        for text in found.labels.values():
            if isinstance(text, pa.Array):
                text.validate(full=True)
    except pa.ArrowInvalid as problem:
        raise JobError(READING.lost) from problem


def _about_files(size: int) -> dict[str, Any]:
    return {"job": "read", "megabytes": round(size / 1e6, 1)}


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


def _plan(residents: Residents, k: int, fixed: Floats | None, random_state: int, progress: Progress) -> Plan:
    """A plan with its curve."""
    made = make_plan(
        residents, k, fixed_lonlat=fixed, random_state=random_state, progress=part(progress, 0.0, 0.85)
    )
    made.trade_off(progress=part(progress, 0.85, 1.0))
    return _without_residents(made)


def _restored(residents: Residents, saved: PlanFile, progress: Progress) -> Restored:
    """A restored plan with its curve."""
    found = restore_plan(saved, residents, progress=part(progress, 0.0, 0.85))
    found.plan.trade_off(progress=part(progress, 0.85, 1.0))
    return replace(found, plan=_without_residents(found.plan))


def _without_residents(plan: Plan) -> Plan:
    """A plan as it is sent back: its residents are there already."""
    return replace(plan, residents=cast("Residents", None))


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
