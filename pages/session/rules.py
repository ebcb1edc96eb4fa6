"""The rules of the Sites page: what may be built where, how distance is measured, how much room there is.

Small settings stand in the address. Sites, zones, road files and travel tables are kept in the store under secret
tokens, which the address names.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import cast

import numpy as np
import streamlit as st

from pages.serving import rule_data
from pages.serving.cache import caches
from pages.serving.jobs import files
from pages.serving.plan_settings import FIELDS, valid_settings
from pages.serving.rule_data import (
    MODES,
    NO_COLUMN,
    NOTHING,
    SAMPLE,
    Kept,
    KeptFile,
    Places,
    RuleSource,
    places_bytes,
    places_of,
)
from pages.session import address, notices, state, stored_data
from tkm_core.figures import live_roads
from tkm_core.planning import STRAIGHT, AlongStreets, Rules
from tkm_core.residents import Existing, Residents, Sites, Zones
from tkm_core.streets import Streets
from tkm_core.wording import counted

__all__ = ["MODES", "NO_COLUMN", "SAMPLE", "KeptFile", "Places"]
WAYS = {"straight": "Straight lines", **MODES, "table": "Your table"}
SIMPLIFY = 4.0  # metres by which a street on the map may be off
WHAT = {"places": "candidate sites and zones", "roads": "streets", "table": "travel tables"}


def _source() -> RuleSource:
    """What the address says about rules."""
    return RuleSource({name: address.get(name) for name in FIELDS}, _fetch, state.still_here)


def _fetch(field: str, token: str) -> Kept | None:
    found = kept(field, token)
    if found is None:
        raise stored_data.GoneError(field=field, what=f"The {WHAT[field]} of this link are", page="Sites")
    return found


def kept(field: str, token: str) -> Kept | None:
    """What a token names: from memory, or from the store, where another server may have put it; None if it is gone."""
    known = caches().rules.get(token)
    if known is not None and stored_data.still_there(token, known[1]):
        return cast("Kept", known[0])
    stored = stored_data.read(token, field)
    if stored is None:
        return None
    row, content = stored
    found = rule_data.from_store(row, content)
    caches().rules.put(token, (found, row.project_id or ""), 1 + len(content) / 1e6)
    return found


def saved(settings: Mapping[str, str], home: Residents, existing: Existing | None) -> Rules:
    """The rules of a saved scenario.

    Raises
    ------
    ValueError
        If they cannot be followed, with a sentence that says why.
    """
    return RuleSource(valid_settings(settings), kept, state.still_here).rules(home, existing)


def keep_of_plan(told: Rules) -> dict[str, str]:
    """Keep the rules that came with a plan file; returns the settings that name them.

    Streets and tables are those in use: without them the file would not have opened.
    """
    limits = {"most": 0.0 if np.isinf(told.most) else told.most, "least": told.least}
    drawn = places_of(told)
    return {
        "places": "" if drawn == NOTHING else _keep(drawn),
        **told.travel.settings,
        **{name: f"{people:.0f}" for name, people in limits.items()},
        "equal": "1" if told.equal_groups else "",
    }


def places() -> Places:
    """The sites and zones that the address names."""
    return _source().places()


def keep_places(found: Places) -> None:
    """Take sites and zones into use: the address names them by a new secret token, or none if nothing is left."""
    if found == NOTHING:
        address.put("places", "")
        return
    address.put("places", _keep(found))


def _keep(found: Places) -> str:
    """Keep sites and zones under a new secret token."""
    token = state.new_token()
    stored = stored_data.write(token, "places", places_bytes(found))
    caches().rules.put(token, (found, "" if stored else None), 1 + len(found.drawing.sites) / 1_000)
    return token


def add_sites(sites: Sites) -> None:
    """Add candidate sites from a file to those that are there; this can be undone."""
    before = places()
    again = before.already(sites)
    told = f"{counted(len(sites) - again, 'site')} added."
    if again:
        told += f" {counted(again, 'site')} of the file {'was' if again == 1 else 'were'} there already."
    change_places(before.with_sites(sites, state.new_token()[:6]), told)


def add_zones(zones: Zones, kind: str) -> None:
    """Add zones from a file to those that are there; this can be undone."""
    changed = places().with_zones(zones, kind, state.new_token()[:6])
    change_places(changed, f"{counted(len(zones), 'zone')} added.")


def change_places(found: Places, told: str) -> None:
    """Take sites and zones into use, and remember what there was before, so that it can be undone."""
    before = address.get("places")
    keep_places(found)
    state.visit().places_undo = (before, address.get("places"), told)


def undo_places() -> None:
    """Go back to the sites and zones before the last change; a callback."""
    before, _, _ = state.visit().places_undo or ("", "", "")
    address.put("places", before)
    state.visit().places_undo = None


def last_change() -> str:
    """The last change of sites and zones, in words, as long as it can be undone; "" if it cannot."""
    _, after, told = state.visit().places_undo or ("", "-", "")
    return told if address.get("places") == after else ""


def keep_file(
    field: str, name: str, content: bytes, unit: str = "", *, columns: tuple[tuple[str, str], ...] = ()
) -> None:
    """Take a road file (field "roads") or a travel table (field "table") into use."""
    token, file = state.new_token(), KeptFile(name, content, unit, columns)
    stored = stored_data.write(token, field, content, name, rule_data.said_of(file))
    caches().rules.put(token, (file, "" if stored else None), 1 + len(content) / 1e6)
    address.put(field, token)


def leave(field: str) -> None:
    """Plan without what a field names; if this visitor brought it at this visit, it goes into the bin."""
    token = address.get(field)
    if token in state.visit().own:
        if not stored_data.remove(token):
            return
        caches().remove_about(token)
    address.put(field, "")
    usual = {"roads": MODES, "table": ("table",)}
    if address.get("by") in usual.get(field, ()):
        address.put("by", "straight")


def road_file() -> KeptFile | None:
    """The road file that was uploaded, if any."""
    return _source().road_file()


def has_streets() -> bool:
    """Whether there are streets to measure along."""
    return _source().has_streets


def streets(mode: str) -> Streets | None:
    """The streets for a mode of travel: those of the road file, or the sample's own; read once."""
    source = _source()
    if not source.has_streets:
        return None
    with st.spinner("Reading the streets", show_time=True):
        return source.streets(mode)


def read_roads(name: str, content: bytes) -> AlongStreets:
    """Read a road file once, before it is kept, so that one that does not fit the residents is refused at once."""
    with st.spinner("Reading the streets", show_time=True):
        digest = KeptFile(name, content).digest
        return AlongStreets(files.streets(digest, name, content, "walk", state.still_here))


def choose_columns(file: KeptFile, columns: tuple[tuple[str, str], ...]) -> None:
    """Read a layer of lines by other columns; those that do not fit are named and not used."""
    chosen = {role: False if name == NO_COLUMN else name for role, name in columns}
    mode = address.get("by") if address.get("by") in MODES else "walk"
    try:
        files.streets(file.digest, file.name, file.content, mode, state.still_here, columns=chosen)
    except ValueError as problem:
        notices.add(str(problem))
        return
    keep_file("roads", file.name, file.content, columns=columns)


def drawn_streets() -> bytes | None:
    """The streets as the ground of a map, where the data have them: those people travel on, or else walk on."""
    by = address.get("by") if address.get("by") in MODES else "walk"
    found = streets(by)
    if found is None:
        return None
    key = ("drawn streets", address.get("roads") or address.get("dataset"), by)
    made = caches().results.once(
        key,
        lambda: live_roads(found.lines(simplify=SIMPLIFY), areas=found.areas, credit=found.attribution),
        weight=4,
    )
    return cast("bytes", made)


def of(home: Residents, existing: Existing | None) -> Rules:
    """The rules that the address names, for some residents.

    What cannot be followed is left out with a notice.
    """
    source = _source()
    try:
        with (
            st.spinner("Reading the streets", show_time=True) if source.told["by"] in MODES else nullcontext()
        ):
            travel = source.travel(home, existing, source.places().sites)
    except ValueError as problem:
        notices.add(f"{problem} Distances are straight lines.")
        address.put("by", "straight")
        travel = STRAIGHT
    return source.rules(home, existing, travel=travel)
