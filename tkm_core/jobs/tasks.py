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
from tkm_core.jobs.mending import mend_cache
from tkm_core.jobs.pool import JobPool
from tkm_core.methods import Solution
from tkm_core.path import TiltedPath
from tkm_core.plan import Floats, Plan, make_plan
from tkm_core.progress import Progress, part
from tkm_core.residents import Report, Residents, ResidentsError, load_residents

MODULES = ("tkm_core.jobs.tasks",)  # what a worker imports; doing so also mends its cache of compiled code

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


def _bare(residents: Residents) -> Residents:
    """Residents without names, labels and report: positions, weights and what is known of them."""
    bare = replace(residents, name="", report=Report(), labels={})
    for name in ("xy", "origin", "scale"):
        if name in residents.__dict__:  # where the cached properties live
            bare.__dict__[name] = residents.__dict__[name]
    return bare
