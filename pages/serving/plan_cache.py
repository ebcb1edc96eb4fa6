"""Make plans and cache them: one for the same residents and rules, whoever asks for it."""

from collections.abc import Hashable

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from tkm_core.arrays import Floats
from tkm_core.planning import PLAN_CRITERION, Plan
from tkm_core.progress import Progress

SEED = 0
WAITING = "waiting for the same work"  # which another visitor asked for before


def plan_key(place: City, k: int, criterion: str = PLAN_CRITERION) -> Hashable:
    """Name the plan for k facilities in the cache."""
    key = (*place.key_with_existing, k, SEED)
    return key if criterion == PLAN_CRITERION else (*key, criterion)


def plan_weight(place: City) -> float:
    """Weigh a plan for a city in the cache."""
    return max(len(place.residents), 20_000)


def cached_plan(place: City, k: int, progress: Progress, criterion: str = PLAN_CRITERION) -> Plan:
    """Make the plan for k facilities, or take it from the cache; whoever comes second waits."""
    return caches().plans.once(
        plan_key(place, k, criterion),
        lambda: make_plan(place, k, progress, criterion=criterion),
        lambda: progress(0.0, WAITING),
        plan_weight(place),
    )


def make_plan(
    place: City,
    k: int,
    progress: Progress,
    *,
    t: Floats | None = None,
    prove: float = 0.0,
    criterion: str = PLAN_CRITERION,
) -> Plan:
    """Make the plan for k facilities, in a worker of this server."""
    return tasks.plan(
        place.residents,
        k,
        existing=place.existing,
        closed=place.closed,
        rules=place.rules,
        t=t,
        prove=prove,
        criterion=criterion,
        random_state=SEED,
        progress=progress,
    )
