"""How good a plan on sites is proven to be: the proof gets better in the background while the planner looks.

It works for a few seconds first and then for as long as the settings allow; each time what it has found takes the place
of the plan that is kept, so that every page shows it. It gives way to other work, and can be stopped at any time.
"""

from collections.abc import Hashable

import streamlit as st

from pages.serving.city import City
from pages.serving.config import config
from pages.serving.jobs import tasks
from pages.serving.plan_cache import plan_key
from pages.session import address, dial, plans, state
from pages.session.background import LOOK
from pages.session.background_work import BackgroundWork
from pages.session.markdown import escaped
from tkm_core.planning import Plan
from tkm_core.progress import Progress

FIRST = 4  # seconds of the first look: most small plans are closed within it
LABEL = "Proving how good this plan is"


class _GaveWayError(ValueError):
    """Somebody else's work was waiting."""


def newest(place: City, k: int) -> Plan:
    """The plan for k facilities with the best proof there is, while work on a better one goes on."""
    plan = dial.with_setting(plans.plan_of(place, k))
    _begin(place, k, plan)
    work = state.visit().proof
    if work is None or work.running or place.saved is not None:
        return plan
    state.visit().proof_seen = work  # whatever it found is in the plan that is shown now
    return dial.with_setting(plans.plan_of(place, k))


def _begin(place: City, k: int, plan: Plan) -> None:
    """Work on the proof of the plan for k facilities, unless it is closed, was stopped, or has had its time."""
    work, spent = state.visit().proof, state.visit().proven
    key = plan_key(place, k)
    if work is not None and work.key != key:
        work.stop()
        work = None
    looked = (key, plan.t.tobytes())  # a link may name a setting of its own
    seconds = _next(spent.get(looked, 0))
    if place.saved is not None or plan.gap is None or not plan.open_proof or not seconds:
        return
    if plans.shows_saved(place, k):  # it stays as it was saved, with what was proven then
        return
    if work is not None and (work.running or work.stopped):
        return

    def prove(progress: Progress) -> None:
        def told(fraction: float, text: str) -> None:
            progress(fraction, text)
            if tasks.others_wait():
                raise _GaveWayError

        try:
            plans.prove(place, k, plan.t, float(seconds), told)
        except _GaveWayError:
            return
        spent[looked] = seconds

    state.visit().proof = BackgroundWork(key, LABEL, prove)


def show(plan: Plan, i: int, key: Hashable) -> None:
    """What is proven at a setting, and how the work on it goes."""
    told = plan.proof(i)
    if not told:
        return
    work = state.visit().proof
    with st.container(horizontal=True, vertical_alignment="center", key="proof_row"):
        st.markdown(f":material/verified: **{escaped(told)}**", width="content")
        if work is not None and work.key == key and work is not state.visit().proof_seen:
            st.fragment(_watch, run_every=LOOK)(work)


def _watch(work: BackgroundWork) -> None:
    """How far the proof is; when it is done, the whole page is drawn anew with it."""
    if not work.running:
        if address.settled():
            st.rerun()
        return
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        st.markdown(f":small[:gray[{LABEL}: {100 * work.fraction:.0f} %]]", width="content")
        st.button(
            "Stop",
            icon=":material/stop:",
            key="stop_proof",
            type="tertiary",
            on_click=work.stop,
            help="What has been proven so far stays.",
        )


def _next(spent: float) -> int:
    """Seconds of the next look at a plan that was looked at for so many."""
    return next(
        (budget for budget in (min(FIRST, config().proof_seconds), config().proof_seconds) if budget > spent),
        0,
    )
