"""The heavy jobs of the app, each a function that can be sent to a worker, and the two pools of this process."""

import atexit
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from typing import Any, cast

import numpy as np

from pages.serving.config import config
from pages.serving.jobs.files import readers
from pages.serving.jobs.pool import Health, JobPool
from pages.serving.jobs.problems import NOT_NUMBERS, JobError
from tkm_core.arrays import Floats, Ints
from tkm_core.export import PlanFile, Restored, restore_plan
from tkm_core.methods import Solution, describe
from tkm_core.planning import (
    FREE,
    PLAN_CRITERION,
    USUAL_T,
    Fewest,
    Plan,
    ResidentCells,
    Rules,
    Travel,
    compared_as_usual,
    condense_residents,
    fewest_facilities,
    group_numbers,
    make_plan,
    neighbourhoods,
    solve,
)
from tkm_core.progress import Progress, part
from tkm_core.residents import Existing, Report, Residents

MODULES = ("pages.serving.jobs.tasks",)  # what a worker imports

SMALL = 2_000  # residents; the first plan on a new server need not wait for its workers


@cache
def pool() -> JobPool:
    """The pool of this process, as the settings say; ended with the process."""
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


def start() -> None:
    """Start both pools, so that nobody waits for it."""
    pool()
    readers()


def close() -> None:
    """End both pools."""
    pool().close()
    readers().close()


def health() -> Health:
    """The state of both pools together: healthy if both are."""
    plans, reads = pool().health(), readers().health()
    running, waiting = plans.running + reads.running, plans.waiting + reads.waiting
    return replace(plans, running=running, waiting=waiting, well=plans.well and reads.well)


def others_wait() -> bool:
    """Whether somebody waits for a worker: work that is not urgent gives way."""
    return pool().health().waiting > 0


def plan(
    residents: Residents,
    k: int,
    *,
    existing: Existing | None = None,
    closed: tuple[int, ...] = (),
    rules: Rules = FREE,
    t: Floats | None = None,
    prove: float = 0.0,
    criterion: str = PLAN_CRITERION,
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
        Facilities that are there; their names do not leave this process.
    closed : tuple of int
        Which of them the plan closes, counted from 0.
    rules : Rules
        What the plan has to follow.
    t : ndarray, optional
        Settings of the dial; by default those where the plan changes.
    prove : float
        Seconds to spend on proving how good it is.
    criterion : {"city", "cluster"}
    random_state : int
    progress : callable
        As in `JobPool.run`.

    Returns
    -------
    Plan
    """
    fixed, pinned = (None, 0) if existing is None else (existing.lonlat, existing.pinned)
    groups = group_numbers(residents) if rules.equal_groups else None
    key = (
        "plan",
        residents.fingerprint,
        k,
        random_state,
        _bytes(fixed),
        pinned,
        closed,
        rules.fingerprint,
        _digest(groups),
        b"" if t is None else t.tobytes(),
        prove,
        criterion,
    )
    dial = (None if t is None else t.copy(), prove, criterion)
    made: Plan = _elsewhere(
        key,
        _plan,
        residents,
        k,
        fixed,
        pinned,
        closed,
        rules,
        dial,
        random_state,
        groups=groups,
        progress=progress,
    )
    # where a table knows only some places, pins stand at the nearest of them
    kept = made.existing if existing is None else replace(existing, lonlat=made.existing.lonlat)
    found = replace(made, residents=residents, existing=kept)
    return compared_as_usual(found)


def condensed(path: str, stamp: str, *, progress: Progress) -> ResidentCells:
    """A data set of this server as cells, from a worker, or from the cluster behind it.

    Parameters
    ----------
    path : str
        A Parquet file, or a folder of such files.
    stamp : str
        Changes when the files do.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    JobError
        If the cluster returned something else than places and people.
    """
    about = {"job": "condensed"}
    found: ResidentCells = pool().run(
        ("condensed", path, stamp), _condensed, path, about=about, progress=progress
    )
    sound = found.lonlat.shape == (len(found.weights), 2) and np.isfinite(found.lonlat).all()
    if not (sound and np.isfinite(found.weights).all() and (found.weights >= 0).all()):
        raise JobError(NOT_NUMBERS)
    return found


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
    dial = t if describe(name).has_dial else None
    # numbers, not names: what groups are called does not leave this process
    groups = group_numbers(residents) if describe(name).needs_groups else None
    key = (
        "method",
        residents.fingerprint,
        name,
        k,
        dial,
        patience,
        random_state,
        _bytes(fixed),
        _digest(groups),
    )
    work = partial(
        solve, t=t, patience=patience, fixed_lonlat=fixed, groups=groups, random_state=random_state
    )
    found: Solution = _elsewhere(key, work, residents, name, k, progress=progress, method=name)
    return found


def fewest(
    residents: Residents, reach: float, *, staying: Existing | None, rules: Rules, progress: Progress
) -> Fewest:
    """The fewest facilities within a reach, as `fewest_facilities` finds them, from a worker."""
    fixed = None if staying is None else staying.lonlat
    key = ("fewest", residents.fingerprint, reach, _bytes(fixed), rules.fingerprint)
    work = partial(_fewest, rules=rules, fixed_lonlat=fixed)
    found: Fewest = _elsewhere(key, work, residents, reach, progress=progress)
    return found


def radius(residents: Residents, k: int, progress: Progress) -> Floats | None:
    """The neighbourhood radius of every resident, as `neighbourhoods` finds it, from a worker."""
    found: Floats | None = _elsewhere(
        ("radius", residents.fingerprint, k), neighbourhoods, residents, k, progress=progress
    )
    return found


def restored(
    key: Hashable,
    saved: PlanFile,
    residents: Residents,
    progress: Progress,
    *,
    travel: Travel | None = None,
    proven: bool = False,
) -> Restored:
    """A plan from its file, with its trade-off curve, as `restore_plan` brings it back, from a worker.

    Parameters
    ----------
    key : hashable
        A digest of the file.
    saved : PlanFile
    residents : Residents
    progress : callable
        As in `JobPool.run`.
    travel : AlongStreets or ByTable, optional
        What the plan was measured by, as in `restore_plan`.
    proven : bool
        Whether to believe what the file says is proven: it is from the store.

    Raises
    ------
    PlanFileError
        If the file was changed after it was saved.
    """
    groups = group_numbers(residents) if saved.rules is not None and saved.rules["equal_groups"] else None
    by = None if travel is None else travel.fingerprint
    asked = ("restore", residents.fingerprint, key, by, _digest(groups), proven)
    made: Restored = _elsewhere(
        asked, _restored, residents, saved, (travel, proven), groups=groups, progress=progress
    )
    return Restored.of(saved, replace(made.plan, residents=residents), same_data=made.same_data)


def _elsewhere(
    key: tuple[Hashable, ...],
    function: Callable[..., Any],
    residents: Residents,
    *arguments: Any,
    progress: Progress,
    groups: Ints | None = None,
    **about: str,
) -> Any:
    """Run in the pool; the log says what and for how many, never for whom.

    Where everyone's group matters, `groups` has it as a number: what groups are called does not leave this process.
    """
    told = {"job": key[0], "residents": len(residents), **about}
    small = len(residents) <= SMALL
    sent = bare(residents, groups)
    return pool().run(key, function, sent, *arguments, about=told, progress=progress, small=small)


def _bytes(fixed: Floats | None) -> bytes:
    return b"" if fixed is None else fixed.tobytes()


def _digest(groups: Ints | None) -> bytes:
    return b"" if groups is None else blake2b(groups.data, digest_size=16).digest()


def _plan(
    residents: Residents,
    k: int,
    fixed: Floats | None,
    pinned: int,
    closed: tuple[int, ...],
    rules: Rules,
    dial: tuple[Floats | None, float, str],
    random_state: int,
    progress: Progress,
) -> Plan:
    """A plan with its curve; `dial` has its settings, the seconds of its proof and its criterion."""
    t, prove, criterion = dial
    made = make_plan(
        residents,
        k,
        fixed_lonlat=fixed,
        pinned=pinned,
        closed=closed,
        rules=rules,
        t=t,
        with_t=USUAL_T if t is None else None,
        prove=prove,
        criterion=criterion,
        random_state=random_state,
        progress=part(progress, 0.0, 0.85),
    )
    made.trade_off(progress=part(progress, 0.85, 1.0))
    return _without_residents(made)


def _condensed(path: str, progress: Progress) -> ResidentCells:
    return condense_residents(path, progress=progress)


def _fewest(residents: Residents, reach: float, progress: Progress, **options: Any) -> Fewest:
    return fewest_facilities(residents, reach, progress=progress, **options)


def _restored(
    residents: Residents, saved: PlanFile, by: tuple[Travel | None, bool], progress: Progress
) -> Restored:
    """A restored plan with its curve; `by` has what it is measured by, and whether its proof is believed."""
    travel, proven = by
    found = restore_plan(saved, residents, travel=travel, proven=proven, progress=part(progress, 0.0, 0.85))
    found.plan.trade_off(progress=part(progress, 0.85, 1.0))
    return replace(found, plan=_without_residents(found.plan))


def _without_residents(plan: Plan) -> Plan:
    """A plan as it is sent back: its residents are there already."""
    return replace(plan, residents=cast("Residents", None))


def bare(residents: Residents, groups: Ints | None = None) -> Residents:
    """Residents without names, labels and report: positions, weights, the numbers of groups, what is known of them."""
    labels = {} if groups is None else {"groups": groups.astype(object)}
    bare = replace(residents, name="", report=Report(), labels=labels)
    for name in ("xy", "origin", "scale"):
        if name in residents.__dict__:  # where the cached properties live
            bare.__dict__[name] = residents.__dict__[name]
    return bare
