"""The heavy jobs of the app, each a function that can be sent to a worker, and the one pool of this process."""

import atexit
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from tkm_core.comparison import neighbourhoods, solve
from tkm_core.config import config
from tkm_core.curve import Curve
from tkm_core.jobs.pool import JobPool, Progress
from tkm_core.methods import Solution
from tkm_core.path import TiltedPath
from tkm_core.plan import Floats, Plan, make_plan
from tkm_core.residents import Report, Residents

MODULES = ("tkm_core.jobs.tasks",)


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


def plan(residents: Residents, k: int, *, random_state: int, progress: Progress) -> Plan:
    """A plan with its trade-off curve, as `make_plan` makes it, from a worker.

    Parameters
    ----------
    residents : Residents
    k : int
    random_state : int
    progress : callable
        As in `JobPool.run`.

    Returns
    -------
    Plan
    """
    key = ("plan", residents.fingerprint, k, random_state)
    made = _elsewhere(key, _plan_parts, residents, k, random_state, progress=progress)
    path, baseline, curve = made
    return Plan(residents, k, random_state, "cluster", path, baseline, {None: curve})


def solution(
    residents: Residents,
    name: str,
    k: int,
    *,
    t: float,
    patience: float,
    random_state: int,
    progress: Progress,
) -> Solution:
    """Facilities of one method, as `solve` finds them, from a worker."""
    key = ("method", residents.fingerprint, name, k, t if name == "tkm" else None, patience, random_state)
    work = partial(solve, t=t, patience=patience, random_state=random_state)
    found: Solution = _elsewhere(key, work, residents, name, k, progress=progress, method=name)
    return found


def radius(residents: Residents, k: int, progress: Progress) -> Floats | None:
    """The neighbourhood radius of every resident, as `neighbourhoods` finds it, from a worker."""
    found: Floats | None = _elsewhere(
        ("radius", residents.fingerprint, k), neighbourhoods, residents, k, progress=progress
    )
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
    return pool().run(key, function, _bare(residents), *arguments, about=told, progress=progress)


def _plan_parts(
    residents: Residents, k: int, random_state: int, progress: Progress
) -> tuple[TiltedPath, Floats, Curve]:
    """What makes a plan beside its residents, which stay where they are."""
    made = make_plan(
        residents, k, random_state=random_state, progress=lambda done, text: progress(0.85 * done, text)
    )
    curve = made.trade_off(progress=lambda done, text: progress(0.85 + 0.15 * done, text))
    return made.path, np.asarray(made.baseline), curve


def _bare(residents: Residents) -> Residents:
    """Residents without names, labels and report: positions, weights and what is known of them."""
    bare = replace(residents, name="", report=Report(), labels={})
    known = {
        name: residents.__dict__[name] for name in ("xy", "origin", "scale") if name in residents.__dict__
    }
    bare.__dict__.update(known)  # where the cached properties live
    return bare
