"""What a call plans for: a sample or an upload, with existing facilities; and the plan of a saved scenario."""

from dataclasses import replace

from pages.serving.api.messages import PlanWish
from pages.serving.jobs import files, tasks
from pages.serving.store import EXISTING, RESIDENTS, Actor, Scenario, store
from pages.serving.store.packing import existing_from, residents_from
from pages.serving.store.problems import DENIED, DeniedError
from pages.shared import address, cities, plans
from pages.shared.cache import caches
from tkm_core.planning import Plan
from tkm_core.progress import Progress
from tkm_core.residents import Existing, find_sample


def city(actor: Actor, wish: PlanWish) -> cities.City:
    """The city of a wish, if the caller may see its data.

    Raises
    ------
    DeniedError
        If there are no such data for this person.
    ValueError
        If a number names a facility that is not there.
    """
    place = _home(actor, wish.dataset)
    found = None if wish.existing is None else _existing(actor, wish.existing)
    count = 0 if found is None else len(found)
    beyond = [number for number in wish.closed if number > count]
    if beyond:
        msg = f"There are {count} existing facilities: number {beyond[0]} cannot be closed."
        raise ValueError(msg)
    return replace(place, existing=found, closed=tuple(sorted({number - 1 for number in wish.closed})))


def planned(actor: Actor, wish: PlanWish, progress: Progress) -> tuple[cities.City, Plan, int]:
    """The city of a wish, its plan, and which setting of the dial was wished for."""
    place = city(actor, wish)
    made = plans.part_of_other_work(place, wish.k, progress)
    t = float(wish.t)
    plan = made.with_stop(t)
    return place, plan, plan.index(t)


def reopened(actor: Actor, scenario: str, progress: Progress) -> tuple[Scenario, cities.City, Plan, int]:
    """A scenario's plan exactly as it was saved, with its city."""
    found, _ = store().open_scenario(actor, scenario)
    told = found.settings
    data = told.get("dataset", "")
    place = _home(actor, told.get("upload", "") if data == address.UPLOAD else data)
    saved = caches().plan_files.once(
        scenario, lambda: files.plan_file(scenario, store().plan_of(actor, scenario), progress)
    )
    restored = tasks.restored(scenario, saved, place.residents, progress)
    return found, place, restored.plan, restored.i


def _home(actor: Actor, name: str) -> cities.City:
    if find_sample(name) is not None:
        return cities.sample(address.FIELDS["dataset"].read(name))
    found = store().dataset(actor, name)
    if found is None or found.kind != RESIDENTS:
        raise DeniedError(DENIED)
    known = caches().uploads.get(name)
    if known is not None and known.saved is None:
        return known
    residents = residents_from(store().content(actor, name))
    place = cities.City(name, found.title, found.people, residents, project=found.project_id or "")
    return caches().uploads.put(name, place, max(len(residents), 1000))


def _existing(actor: Actor, token: str) -> Existing:
    found = store().dataset(actor, token)
    if found is None or found.kind != EXISTING:
        raise DeniedError(DENIED)
    return existing_from(store().content(actor, token))
