"""Plans and their figures for a visitor: made once for the same residents, whoever asks."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar, cast

import numpy as np

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.plan_cache import WAITING, make_plan, plan_key, plan_weight
from pages.session import long_work, references, stored_data
from tkm_core.arrays import Floats
from tkm_core.export import PlanFile, Restored, same_rules
from tkm_core.figures import DrawnDeck, DrawnFigure
from tkm_core.planning import (
    NONE_EXISTING,
    PLAN_CRITERION,
    Plan,
    Reference,
    Travel,
    at_columns,
    compared_as_usual,
)
from tkm_core.progress import Progress

D = TypeVar("D", DrawnDeck, DrawnFigure)
K = TypeVar("K")


def plan_of(place: City, k: int) -> Plan:
    """The plan for k facilities, next to what it is compared with.

    It is computed once for these residents, whatever t is, or it is the one that was opened.
    """
    made = place.opened(k)
    if made is None:
        new = "" if place.existing is None else "new "
        facilities = f"1 {new}facility" if k == 1 else f"{k} {new}facilities"
        made = long_work.result(
            caches().plans,
            plan_key(place, k),
            f"Placing {facilities} for {place.title}" if k else f"Measuring {place.title} as it is today",
            lambda progress: _make(place, k, progress),
            weight=plan_weight(place),
        )
    return against(place, made, references.chosen(place))


def against(place: City, plan: Plan, reference: Reference) -> Plan:
    """The same plan, compared with something else; kept, so that its figures are worked out once."""
    if plan.reference == reference:
        return plan
    found = caches().results.once(
        ("against", plan_key(place, plan.k), _path(plan), _proof(plan), reference),
        lambda: plan.against(reference),
        weight=max(1.0, len(place.residents) / 50_000),
    )
    return cast("Plan", found)


def prove(place: City, k: int, t: Floats, seconds: float, progress: Progress) -> None:
    """Spend some seconds on the proof of a plan at settings t; the plan is kept with what was found."""
    key = plan_key(place, k)
    before = caches().plans.get(key)
    if before is not None:
        for own in np.setdiff1d(t, before.t):
            before = before.with_stop(float(own))
        better = before.with_proof_of(make_plan(place, k, progress, t=before.t, prove=seconds))
        caches().plans.put(key, better, plan_weight(place))


def part_of_other_work(place: City, k: int, progress: Progress, criterion: str = PLAN_CRITERION) -> Plan:
    """The plan for k facilities, computed as part of other long work, which tells how far it is."""
    return caches().plans.once(
        plan_key(place, k, criterion),
        lambda: _make(place, k, progress, criterion),
        lambda: progress(0.0, WAITING),
        plan_weight(place),
    )


def _make(place: City, k: int, progress: Progress, criterion: str = PLAN_CRITERION) -> Plan:
    """Make a plan, or open that of the scenario that is open."""
    if place.scenario:
        return _as_saved(place, k, progress) or part_of_other_work(replace(place, scenario=""), k, progress)
    return make_plan(place, k, progress, criterion=criterion)


def shows_saved(place: City, k: int) -> bool:
    """Whether the plan for k facilities is that of the scenario that is open, as it was saved."""
    if not place.scenario:
        return False
    found = caches().results.once(
        ("as saved", plan_key(place, k)), lambda: "yes" if _file_for(place, k) is not None else "no"
    )
    return found == "yes"


def _file_for(place: City, k: int) -> PlanFile | None:
    """The plan file of the scenario that is open, if it is for k facilities, the same data and the same rules."""
    saved = stored_data.plan_file(place.scenario)
    there = place.existing or NONE_EXISTING
    fixed = at_columns(there.lonlat, there.pinned, place.rules, place.residents)
    if (
        saved is None
        or not same_rules(saved, place.rules)
        or (saved.k, saved.closed, saved.fingerprint) != (k, place.closed, place.residents.fingerprint)
        or not np.array_equal(saved.fixed_lonlat, fixed)
    ):
        return None
    return saved


def _as_saved(place: City, k: int, progress: Progress) -> Plan | None:
    """The plan of the scenario that is open, as it was saved; None if the settings have changed since then."""
    saved = _file_for(place, k)
    if saved is None:
        return None
    travel = place.rules.travel
    made = tasks.restored(place.scenario, saved, place.residents, progress, travel=travel, proven=True).plan
    kept = made.existing if place.existing is None else replace(place.existing, lonlat=made.existing.lonlat)
    return compared_as_usual(replace(made, existing=kept))


def _path(plan: Plan) -> bytes:
    """A digest of where a plan's facilities stand: one from a file may differ from the one made here."""
    return blake2b(plan.t.tobytes() + plan.path.centers.tobytes(), digest_size=16).digest()


def _proof(plan: Plan) -> bytes:
    """A digest of what is proven about a plan: it gets better with time."""
    return b"" if plan.gap is None else blake2b(plan.gap.tobytes(), digest_size=16).digest()


def restored(place: City, digest: str, saved: PlanFile, travel: Travel | None) -> Restored:
    """A plan brought back from a file, with a progress bar where it has to be made anew.

    `travel` is what is at hand to measure it by, if it was not measured in straight lines.
    """
    found = long_work.result(
        caches().results,
        ("restored", *place.key_with_existing, digest, None if travel is None else travel.fingerprint),
        f"Opening the plan for {place.title}",
        lambda progress: tasks.restored(digest, saved, place.residents, progress, travel=travel),
        weight=max(1.0, len(place.residents) / 50_000),
    )
    return cast("Restored", found)


def kept(place: City, plan: Plan, what: Hashable, make: Callable[[], K]) -> K:
    """Something made of the plan of a city, once for all who ask for the same; `what` says what it depends on."""
    return cast(
        "K",
        caches().results.once(("of plan", plan_key(place, plan.k), plan.reference, _path(plan), what), make),
    )


def drawn(place: City, plan: Plan, what: Hashable, draw: Callable[[], D]) -> D:
    """A figure of the plan of a city, drawn once for all who ask for the same; `what` says what else it depends on."""
    key = (plan_key(place, plan.k), plan.reference, _path(plan), what)
    return cast("D", caches().figures.once(key, draw, weight=lambda made: made.size))
