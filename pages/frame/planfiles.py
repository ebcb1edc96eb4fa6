"""Open a saved plan again."""

import hashlib
from dataclasses import replace

import streamlit as st

from pages.frame import address, session
from tkm_core.existing import Existing
from tkm_core.export import PlanFile, PlanFileError, read_plan_file
from tkm_core.residents import Report
from tkm_core.residents.samples import SAMPLES, find_sample


def reopen() -> None:
    """Ask for a plan file; show its plan if its data are here, or make it anew for the data in use."""
    given = st.file_uploader("Or open a saved plan file", type=["json"], key="plan_file")
    if given is None:
        return
    try:
        content = given.getvalue()
        saved = read_plan_file(content)
        place = replace(_city_of(saved), existing=_existing_of(saved))
        restored = session.restored(place, hashlib.blake2b(content, digest_size=16).hexdigest(), saved)
    except PlanFileError as problem:
        st.error(str(problem), icon=":material/error:")
        return
    st.info(restored.message, icon=":material/info:")
    if st.button("Show this plan", type="primary", key="show_plan_file"):
        session.keep_plan(place, restored.plan)
        if find_sample(place.key) is not None:
            address.put("dataset", place.key)
        if place.existing is None:
            address.put("existing", "")
        else:
            session.keep_existing(place.existing)
        address.put("k", restored.plan.k)
        address.put("t", address.nearest_on_dial(saved.t))
        st.switch_page(session.page("plan"))


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
