"""What a call plans for: a city with its existing facilities and rules; and the plan of a saved scenario."""

from dataclasses import replace
from typing import Any

from pages.serving.api.messages import PlanWish
from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import files, tasks
from pages.serving.plan_cache import cached_plan
from pages.serving.plan_settings import FIELDS, UPLOAD, valid_settings
from pages.serving.rule_data import NOTHING, SAMPLE, Kept, RuleSource, from_store
from pages.serving.samples import sample
from pages.serving.store import EXISTING, RESIDENTS, Actor, Dataset, Scenario, store
from pages.serving.store.packing import existing_from, residents_from
from pages.serving.store.problems import DENIED, DeniedError
from tkm_core.planning import Plan
from tkm_core.progress import Progress
from tkm_core.residents import Existing, find_sample


def city(actor: Actor, wish: PlanWish, progress: Progress) -> City:
    """The city of a wish with its rules, if the caller may see its data.

    Raises
    ------
    DeniedError
        If there are no such data for this person.
    ValueError
        If a number names a facility that is not there, or a rule cannot be followed.
    """
    place = home(actor, wish.dataset)
    found = None if wish.existing is None else _existing(actor, wish.existing)
    count = 0 if found is None else len(found)
    beyond = [number for number in wish.closed if number > count]
    if beyond:
        there = "is 1 existing facility" if count == 1 else f"are {count} existing facilities"
        msg = f"There {there}: number {beyond[0]} cannot be closed."
        raise ValueError(msg)
    source = _source(actor, settings(wish), progress)
    if wish.places == SAMPLE and source.places() == NOTHING:
        msg = "This data set comes without candidate sites."
        raise ValueError(msg)
    follow = source.rules(place.residents, found)
    if wish.equal_groups and not follow.equal_groups:
        msg = "Groups cannot count the same: these residents have no groups, or facilities have limited room."
        raise ValueError(msg)
    closed = tuple(sorted({number - 1 for number in wish.closed}))
    return replace(place, existing=found, closed=closed, rules=follow)


def settings(wish: PlanWish) -> dict[str, str]:
    """The address that shows the plan of a wish."""
    is_sample = find_sample(wish.dataset) is not None
    told: dict[str, Any] = {
        "dataset": wish.dataset if is_sample else UPLOAD,
        "upload": "" if is_sample else wish.dataset,
        "k": wish.k,
        "t": wish.t,
        "existing": wish.existing,
        "closed": ".".join(map(str, sorted(set(wish.closed)))),
        "pins": "_".join(f"{pin.lon:.5f},{pin.lat:.5f}" for pin in wish.pins),
        "places": wish.places,
        "roads": wish.roads,
        "table": wish.table,
        "most": wish.most or "",
        "least": wish.least or "",
        "equal": "1" if wish.equal_groups else "",
    }
    if wish.by != "straight":
        told |= {"by": wish.by, "measure": wish.measure, "direction": wish.direction}
    return {name: str(value) for name, value in told.items() if value not in (None, "")}


def planned(actor: Actor, wish: PlanWish, progress: Progress) -> tuple[City, Plan, int]:
    """The city of a wish, its plan, and which setting of the dial was wished for."""
    pins = valid_settings(settings(wish))["pins"]
    if pins and len(pins) >= wish.k:
        msg = f"Of {wish.k} new facilities at most {max(wish.k - 1, 0)} can be pinned: leave at least one to place."
        raise ValueError(msg)
    place = city(actor, wish, progress).with_pins(pins)
    made = cached_plan(place, wish.k - len(pins), progress, wish.criterion)
    t = float(wish.t)
    plan = made.with_stop(t)
    return place, plan, plan.index(t)


def reopened(actor: Actor, scenario: str, progress: Progress) -> tuple[Scenario, City, Plan, int]:
    """A scenario's plan exactly as it was saved, with its city."""
    found, _ = store().open_scenario(actor, scenario)
    told = found.settings
    data, there = told.get("dataset", ""), told.get("existing", "")
    place = home(actor, told.get("upload", "") if data == UPLOAD else data)
    content = store().plan_of(actor, scenario)  # asked each time: what others opened is not for everyone
    saved = caches().plan_files.once(scenario, lambda: files.plan_file(scenario, content, progress))
    follow = _source(actor, dict(told), progress).rules(
        place.residents, _existing(actor, there) if there else None
    )
    restored = tasks.restored(scenario, saved, place.residents, progress, travel=follow.travel, proven=True)
    return found, place, restored.plan, restored.i


def home(actor: Actor, name: str) -> City:
    """The residents that a sample's key or a token names.

    Raises
    ------
    DeniedError
        If there are no such data for this person.
    """
    if find_sample(name) is not None:
        return sample(FIELDS["dataset"].read(name))
    found = _row(actor, RESIDENTS, name)
    known = caches().uploads.get(name)
    if known is not None and known.saved is None:
        return known
    residents = residents_from(store().content(actor, name))
    place = City(name, found.title, found.people, residents, project=found.project_id or "")
    return caches().uploads.put(name, place, max(len(residents), 1000))


def kept(actor: Actor, kind: str, token: str) -> Kept:
    """The sites and zones ("places"), road file ("roads") or travel table ("table") that a token names.

    Raises
    ------
    DeniedError
        If there is no such thing for this person.
    """
    row = _row(actor, kind, token)
    known = caches().rules.get(token)
    if known is None:
        content = store().content(actor, token)
        known = caches().rules.put(
            token, (from_store(row, content), row.project_id or ""), 1 + len(content) / 1e6
        )
    return known[0]


def _source(actor: Actor, told: dict[str, str], progress: Progress) -> RuleSource:
    return RuleSource(valid_settings(told), lambda kind, token: kept(actor, kind, token), progress)


def _existing(actor: Actor, token: str) -> Existing:
    _row(actor, EXISTING, token)
    return existing_from(store().content(actor, token))


def _row(actor: Actor, kind: str, token: str) -> Dataset:
    found = store().dataset(actor, token)
    if found is None or found.kind != kind:
        raise DeniedError(DENIED)
    return found
