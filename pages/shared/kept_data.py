"""Uploads in the store: written when they are taken into use, read when this server does not have them in memory."""

import time

from pages.serving import people
from pages.serving.config import config
from pages.serving.jobs import JobError, files
from pages.serving.store import (
    EXISTING,
    RESIDENTS,
    Actor,
    Dataset,
    DeniedError,
    Project,
    Scenario,
    StoreError,
    store,
)
from pages.serving.store.packing import existing_bytes, existing_from, residents_bytes, residents_from
from pages.shared import address, notices, state
from pages.shared.cache import caches
from tkm_core.export import PlanFile
from tkm_core.residents import Existing, Residents

TRUST = 20.0  # seconds before it is checked again whether somebody may still see a project
GONE = (
    "{what} no longer here, or cannot be opened: their owner removed them, nobody used them for {days} days, they "
    "belong to a project that is not shared with you, or the database does not answer. Please upload them again on "
    "the {page} page.{instead}"
)


def actor() -> Actor:
    """Who asks the store: the visitor, with the links that this visit has seen."""
    visit, key = state.visit(), address.get("project")
    if key and key not in visit.keys:
        visit.keys = [*visit.keys, key]
    return people.visitor(tuple(visit.keys))


def gone(what: str, instead: str = "", *, page: str = "Data") -> str:
    """The sentence for data that a link names and that cannot be opened; `page` is where such data are uploaded."""
    return GONE.format(what=what, days=config().upload_days, instead=instead, page=page)


def write_residents(token: str, found: Residents, title: str, people: str) -> None:
    """Keep residents in the store; where it does not answer, a notice says what that means."""
    write(token, RESIDENTS, residents_bytes(found), title, people)


def write_existing(token: str, found: Existing) -> None:
    """Keep existing facilities in the store."""
    write(token, EXISTING, existing_bytes(found))


def write(token: str, kind: str, content: bytes, title: str = "", people: str = "") -> None:
    """Keep what a visitor uploaded in the store, under its token; fields as in `Dataset`."""
    try:
        store().add_dataset(actor(), kind, content, title=title, people=people, token=token)
    except StoreError as problem:
        notices.add(f"{problem} Until then, these data are only in this server's memory.")


def residents(token: str) -> tuple[Dataset, Residents] | None:
    """Residents that a token names, if they are in the store for this visitor."""
    found = read(token, RESIDENTS)
    return None if found is None else (found[0], residents_from(found[1]))


def existing(token: str) -> tuple[Dataset, Existing] | None:
    """Existing facilities that a token names, if they are in the store for this visitor."""
    found = read(token, EXISTING)
    return None if found is None else (found[0], existing_from(found[1]))


def read(token: str, kind: str) -> tuple[Dataset, bytes] | None:
    """What a token names, if it is in the store for this visitor, and of this kind."""
    try:
        found = store().dataset(actor(), token)
        if found is None or found.kind != kind:
            return None
        return found, store().content(actor(), token)
    except StoreError:
        return None


def remove(token: str) -> None:
    """Remove an upload that this visitor brought."""
    try:
        store().remove_dataset(actor(), token, own=token in state.visit().own)
    except StoreError as problem:
        notices.add(str(problem))


def owned(token: str) -> bool:
    """Whether the person who is signed in brought an upload, at whatever visit."""
    try:
        return bool(token) and store().owns_dataset(actor(), token)
    except StoreError:
        return False


def may_see(project: str) -> bool:
    """Whether this visitor may see what belongs to a project; what belongs to none ("") goes with its token alone.

    It is asked again now and then, so that a withdrawn link soon opens nothing.
    """
    if not project:
        return True
    seen, now = state.visit().let_in, time.monotonic()
    if now - seen.get(project, -TRUST) >= TRUST:
        try:
            store().project(actor(), project)
        except DeniedError:
            seen.pop(project, None)
            return False
        except StoreError:
            return project in seen  # the database is away: go on with what was open
        seen[project] = now
    return True


def scenario() -> tuple[Scenario, Project] | None:
    """The scenario that the address names, with its project; None, with a notice, where it cannot be opened."""
    name = address.get("scenario")
    if not name:
        return None
    known = state.visit().scenario
    if known is not None and known[0].id == name and may_see(known[1].id):
        return known
    try:
        known = store().open_scenario(actor(), name)
    except StoreError as problem:
        notices.add(f"The scenario of this link cannot be opened. {problem}")
        address.put("scenario", "")
        return None
    state.visit().scenario = known
    return known


def plan_file(name: str) -> PlanFile | None:
    """The plan file of a scenario; None where it cannot be read, and the plan is made anew."""
    try:
        return caches().plan_files.once(
            name, lambda: files.plan_file(name, store().plan_of(actor(), name), state.still_here)
        )
    except (StoreError, ValueError, JobError) as problem:
        notices.add(f"The saved plan cannot be read, so it is made anew. {problem}")
        return None
