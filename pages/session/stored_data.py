"""Uploads in the store: written when they are taken into use, read when this server does not have them in memory."""

import time
from collections.abc import Callable

import streamlit as st

from pages.serving import browser, people
from pages.serving.cache import caches
from pages.serving.config import config
from pages.serving.jobs import JobError, files
from pages.serving.store import (
    BIN_DAYS,
    EXISTING,
    RESIDENTS,
    Actor,
    AwayError,
    Dataset,
    Project,
    Scenario,
    StoreError,
    store,
)
from pages.serving.store.packing import existing_bytes, existing_from, residents_bytes, residents_from
from pages.session import address, notices, state
from tkm_core.export import PlanFile
from tkm_core.residents import Existing, Residents

TRUST = 20.0  # seconds before it is checked again whether somebody may still see a project
GONE = (
    "{what} no longer here, or cannot be opened: their owner removed them, nobody used them for {days} days, they "
    "belong to a project that is not shared with you, or the database does not answer. Whoever removed them can "
    "restore them on the Data page for {bin} days; otherwise, please upload them again on the {page} page."
)


def actor() -> Actor:
    """Who asks the store: the visitor, with the links that this visit has seen."""
    visit, key = state.visit(), address.get("project")
    if key and key not in visit.keys:
        visit.keys = [*visit.keys, key]
    cookies = st.context.cookies.to_dict()
    return people.visitor((*browser.links(cookies), *visit.keys), browser.of(cookies) or visit.browser)


class GoneError(Exception):
    """Data that the address names cannot be opened: the page says so, and shows nothing else.

    Parameters
    ----------
    field : str
        Of the address, that names them.
    what : str
        Begins the sentence.
    page : str
        Where such data are uploaded.
    """

    def __init__(self, field: str, what: str, page: str = "Data") -> None:
        super().__init__(GONE.format(what=what, days=config().upload_days, bin=f"{BIN_DAYS:.0f}", page=page))
        self.field = field


def write_residents(token: str, found: Residents, title: str, people: str) -> bool:
    """Keep residents in the store; where it does not answer, a notice says what that means."""
    return write(token, RESIDENTS, residents_bytes(found), title, people)


def write_existing(token: str, found: Existing) -> bool:
    """Keep existing facilities in the store."""
    return write(token, EXISTING, existing_bytes(found))


def write(token: str, kind: str, content: bytes, title: str = "", people: str = "") -> bool:
    """Keep what a visitor uploaded in the store, under its token; whether that worked. Fields as in `Dataset`."""
    try:
        store().add_dataset(actor(), kind, content, title=title, people=people, token=token)
    except StoreError as problem:
        notices.add(f"{problem} Until then, these data are only in this server's memory.")
        return False
    return True


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


def remove(token: str) -> bool:
    """Put an upload of this visitor in the bin; whether that worked."""
    try:
        store().remove_dataset(actor(), token)
    except StoreError as problem:
        notices.add(str(problem))
        return False
    return True


def owned(token: str) -> bool:
    """Whether this visitor may remove data: own uploads of any visit, or those of a project this visitor owns."""
    try:
        return bool(token) and store().owns_dataset(actor(), token)
    except StoreError:
        return False


def still_there(token: str, project: str | None) -> bool:
    """Whether data that are in memory may still be shown to this visitor.

    The store is asked again now and then, so that what was removed, or is no longer shared, is soon gone on every
    server.

    Parameters
    ----------
    token : str
    project : str or None
        The project they belong to, "" for none; None if they are not in the store: then the token is enough.
    """
    if project is None:
        return True
    seen, now = state.visit().let_in, time.monotonic()
    if now - seen.get(token, -TRUST) >= TRUST:
        try:
            found = store().dataset(actor(), token)
        except StoreError:
            return token in seen or not project  # the database is away: go on with what is in memory
        if found is None:
            seen.pop(token, None)
            return False
        seen[token] = now
    return True


def scenario() -> tuple[Scenario, Project] | None:
    """The scenario that the address names, with its project; None, with a notice, where it cannot be opened."""
    name = address.get("scenario")
    if not name:
        return None
    known = state.visit().scenario
    seen, now = state.visit().let_in, time.monotonic()
    if known is not None and known[0].id == name and now - seen.get(name, -TRUST) < TRUST:
        return known
    try:
        known = store().open_scenario(actor(), name)
        seen[name] = now
    except AwayError as problem:
        if known is not None and known[0].id == name:
            return known  # go on with what was open
        notices.add(f"The scenario of this link cannot be opened. {problem}")
        return None
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


def done(words: str, work: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
    """Do something in the store, and then what follows from it; a problem becomes a notice."""
    try:
        work()
    except StoreError as problem:
        notices.add(str(problem))
    else:
        then()
        st.toast(words, icon=":material/check:")
