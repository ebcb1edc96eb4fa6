"""Find the fewest facilities within the service standard beside the page, with progress and a Stop button."""

from collections.abc import Hashable

import streamlit as st

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.plan_cache import WAITING
from pages.session import address, screen, state
from pages.session.background import LOOK
from pages.session.background_work import BackgroundWork
from pages.session.markdown import escaped
from pages.widgets import errors, sidebar
from tkm_core.figures import Look
from tkm_core.planning import Fewest
from tkm_core.progress import Progress
from tkm_core.stories import tell_fewest
from tkm_core.wording import counted

LABEL = "Looking for the fewest facilities within your standard"


def show(place: City, look: Look) -> None:
    """Say how many facilities bring everyone within the standard, as soon as that is known."""
    reach = screen.standard(place)
    key = ("fewest", *place.key_with_existing, reach)
    with st.container(key="fewest", horizontal=True, vertical_alignment="center", gap="small"):
        work = None if caches().results.get(key) is not None else _begun(place, reach, key)
        found = caches().results.get(key)  # what is quick is there at once
        if isinstance(found, Fewest):
            _answer(place, found, look)
        elif work is not None and work.running:
            st.fragment(errors.show_problems(_watch), run_every=LOOK)(work)
        elif work is not None and work.stopped:
            _say(f":gray[Stopped {LABEL[:1].lower()}{LABEL[1:]}.]")
            st.button(
                "Carry on", icon=":material/play_arrow:", key="go_on_fewest", type="tertiary", on_click=_again
            )
        elif work is not None:
            _say(escaped(work.problem))


def _begun(place: City, reach: float, key: Hashable) -> BackgroundWork:
    """The search for this standard; one for another standard ends."""
    before = state.visit().fewest
    if before is not None and before.key == key and (before.running or before.stopped or before.problem):
        return before
    if before is not None:
        before.stop()

    def work(progress: Progress) -> None:
        caches().results.once(
            key,
            lambda: tasks.fewest(
                place.residents, reach, staying=place.staying, rules=place.rules, progress=progress
            ),
            lambda: progress(0.0, WAITING),
        )

    begun = BackgroundWork(key, LABEL, work)
    state.visit().fewest = begun
    return begun


def _say(text: str) -> None:
    st.markdown(f":material/straighten: {text}", width="content")


def _watch(work: BackgroundWork) -> None:
    """Show how far the search is; when it has ended, draw the page anew."""
    if not work.running:
        if address.settled():
            st.rerun()
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _say(f":gray[{LABEL}: {100 * work.fraction:.0f} %]")
        st.button("Stop", icon=":material/stop:", key="stop_fewest", type="tertiary", on_click=work.stop)


def _again() -> None:
    state.visit().fewest = None


def _answer(place: City, found: Fewest, look: Look) -> None:
    """The answer, with a button that takes it over."""
    kept = 0 if place.staying is None else len(place.staying)
    told = tell_fewest(found, unit=look.unit, people=place.people, n_existing=kept)
    st.markdown(f":material/straighten: **{escaped(told)}**", width="stretch")
    number = found.number
    if number and number != address.get("k") and number <= sidebar.most_new(place):
        st.button(
            f"Plan {counted(number, 'facility', 'facilities')}",
            key="use_fewest",
            icon=":material/arrow_forward:",
            on_click=lambda: address.put("k", number),
            help="Sets the number of facilities. The Plan page places them by its own search: turn the dial to "
            "its upper end to come closest to the standard. Someone may still have a little farther to go.",
        )
