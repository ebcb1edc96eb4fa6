"""Open a saved plan again, for this visitor and those who get the link."""

import hashlib
from dataclasses import replace

import streamlit as st

from pages.serving.jobs import tasks
from pages.shared import address, session
from pages.shared.markdown import escaped
from tkm_core.export import LARGEST_PLAN_FILE, PlanFile, PlanFileError
from tkm_core.residents import SAMPLES, Existing, Report


def reopen() -> None:
    """Ask for a plan file; show its plan if its data are here, or make it anew for the data in use."""
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
        place = replace(_city_of(saved), existing=_existing_of(saved))
        restored = session.restored(place, digest, saved)
    except ValueError as problem:
        st.error(escaped(str(problem)), icon=":material/error:")
        return
    st.info(escaped(restored.message), icon=":material/info:")
    if st.button("Show this plan", type="primary", key="show_plan_file"):
        session.keep_plan(place, restored.plan)
        address.put("k", restored.plan.k)
        address.put("t", address.nearest_on_dial(saved.t))
        st.switch_page(session.page("plan"))


def _read(digest: str, content: bytes) -> PlanFile:
    """What the file says, read once by a worker, and within what this server plans for."""
    kept = st.session_state.get("plan_file_read")
    if kept is None or kept[0] != digest:
        with st.spinner("Reading the file", show_time=True):
            # touching the session is where a visitor who left is noticed
            kept = digest, tasks.plan_file(digest, content, lambda *_: st.session_state.get("plan_file"))
        st.session_state["plan_file_read"] = kept
    saved: PlanFile = kept[1]
    if saved.k > address.MOST_FACILITIES:
        msg = (
            f"This plan has {saved.k} new facilities; this server plans for at most {address.MOST_FACILITIES}. "
            "Open it with the command line instead."
        )
        raise PlanFileError(msg)
    return saved


def _existing_of(saved: PlanFile) -> Existing | None:
    """The existing facilities a plan was made with."""
    if not len(saved.fixed_lonlat):
        return None
    return Existing(saved.fixed_lonlat, saved.fixed_names, Report())


def _city_of(saved: PlanFile) -> session.City:
    """The city a plan was made for if it is here, else the one in use."""
    here = session.city()
    if here.residents.fingerprint == saved.fingerprint:
        return here
    for key, sample in SAMPLES.items():
        if sample.size not in (0, saved.points):
            continue
        place = session.sample_city(key)
        if place.residents.fingerprint == saved.fingerprint:
            return place
    return here
