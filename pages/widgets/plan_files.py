"""Open a saved plan again, for this visitor and those who get the link."""

import hashlib
from dataclasses import replace

import streamlit as st

from pages.serving.city import City
from pages.serving.jobs import files
from pages.serving.plan_settings import MOST_FACILITIES
from pages.serving.samples import sample
from pages.session import address, cities, plans, state
from pages.session.markdown import escaped
from tkm_core.export import LARGEST_PLAN_FILE, PlanFile, PlanFileError, Shown
from tkm_core.residents import SAMPLES, Existing, Report
from tkm_core.units import LENGTHS


def reopen() -> None:
    """Ask for a plan file; show its plan if it carries its data or they are here, else say which data it needs."""
    given = st.file_uploader(
        "Or open a saved plan file",
        type=["json"],
        max_upload_size=LARGEST_PLAN_FILE // 10**6,
        key="plan_file",
    )
    if given is None:
        return
    try:
        content = given.getvalue()
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        saved = _read(digest, content)
        place = replace(_city_of(saved), existing=_existing_of(saved), closed=saved.closed)
        here = cities.current().rules
        restored = plans.restored(place, digest, saved, None if here.straight else here.travel)
    except ValueError as problem:
        st.error(escaped(str(problem)), icon=":material/error:")
        return
    st.info(escaped(restored.message), icon=":material/info:")
    if st.button("Show this plan", type="primary", key="show_plan_file"):
        cities.keep_plan(place, restored.plan)
        address.put("k", restored.plan.k)
        address.put("t", saved.t)
        address.put("against", "")
        if saved.shown is not None:
            _show_as(saved.shown)
        st.switch_page(state.page("plan"))


def _show_as(shown: Shown) -> None:
    """Take over the unit and the service standard of a plan file."""
    lengths = shown.unit in LENGTHS
    if lengths:
        address.put("units", shown.unit)
    if shown.standard is not None:
        state.visit().fitted = None  # it is somebody's choice
        key, least, most = ("standard", 10.0, 2e6) if lengths else ("minutes", 0.5, 600.0)
        address.put(key, min(max(shown.standard, least), most))


def _read(digest: str, content: bytes) -> PlanFile:
    """What the file says, read once by a worker, and within what this server plans for."""
    kept = state.visit().plan_file
    if kept is None or kept[0] != digest:
        with st.spinner("Reading the file", show_time=True):
            kept = digest, files.plan_file(digest, content, state.still_here)
        state.visit().plan_file = kept
    saved = kept[1]
    if saved.k > MOST_FACILITIES:
        msg = (
            f"This plan has {saved.k} new facilities; this server plans for at most {MOST_FACILITIES}. "
            "Open it with the command line instead."
        )
        raise PlanFileError(msg)
    return saved


def _existing_of(saved: PlanFile) -> Existing | None:
    """The existing facilities a plan was made with."""
    if not len(saved.fixed_lonlat):
        return None
    return Existing(saved.fixed_lonlat, saved.fixed_names, Report())


def _city_of(saved: PlanFile) -> City:
    """The city a plan was made for: the one in use, one that the file carries, or a sample."""
    here = cities.current()
    if here.residents.fingerprint == saved.fingerprint:
        return here
    if saved.residents is not None:
        title, people = (
            (saved.name, "residents") if saved.shown is None else (saved.shown.title, saved.shown.people)
        )
        return City(cities.CARRIED + saved.fingerprint, title, people, saved.residents)
    for key, offered in SAMPLES.items():
        if offered.size not in (0, saved.points):
            continue
        place = sample(key)
        if place.residents.fingerprint == saved.fingerprint:
            return place
    raise PlanFileError(saved.needs)
