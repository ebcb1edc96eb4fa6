"""Catchments on the Plan page: what lies within some minutes of a facility, or of all, along the streets."""

import streamlit as st

from pages.serving.city import City
from pages.session import markdown, plans, screen, state
from tkm_core import figures
from tkm_core.planning import MINUTES, Plan, Reached, catchments
from tkm_core.stories import tell_catchments
from tkm_core.wording import plain

KEY = "catchments"
NONE, ALL = "none", "all"
SIGN = ("reach", f"within {', '.join(f'{limit:g}' for limit in MINUTES)} min")


def select(plan: Plan) -> None:
    """The choice at the side: no catchments, those of all facilities, or of one."""
    if not plan.rules.travel.has_catchments or screen.presenting():
        return
    facilities = [str(j) for j in range(len(plan.kinds))]

    def words(choice: str) -> str:
        named = {NONE: "None", ALL: "Of all facilities"}
        return named.get(choice) or plain(plan.title(int(choice)), "Facility")

    if state.widget(KEY) not in (None, NONE, ALL, *facilities):
        state.set_widget(KEY, ALL)  # there are fewer facilities now
    with st.sidebar:
        st.selectbox(
            "Catchments",
            [NONE, ALL, *facilities],
            format_func=words,
            key=KEY,
            persist_state="session",
            help="The ground from which people get to a facility within 5, 10, 15 and 20 minutes along the streets.",
        )


def shown(place: City, plan: Plan, i: int) -> list[Reached] | None:
    """The catchments that are asked for, worked out once for this setting; None if none are."""
    chosen = state.widget(KEY, NONE)
    if chosen == NONE or not plan.rules.travel.has_catchments:
        return None
    facility = None if chosen == ALL else int(chosen)
    if facility is not None and facility >= len(plan.kinds):
        return None
    with st.spinner("Working out the catchments", show_time=True):
        return plans.kept(place, plan, ("catchments", i, facility), lambda: catchments(plan, i, facility))


def on_map(found: list[Reached] | None, i: int) -> bytes | None:
    """The same for the live map."""
    return None if found is None else figures.live_catchments(found, i)


def sentence(place: City, plan: Plan, found: list[Reached] | None) -> None:
    """How many live within each limit."""
    if found is None:
        return
    chosen = state.widget(KEY, NONE)
    title = "a facility" if chosen == ALL else plan.title(int(chosen))
    of = title[:1].lower() + title[1:]
    told = tell_catchments(found, of=of, by=plan.rules.travel.mode_words, people=place.people)
    st.markdown(f":small[{markdown.escaped(told)}]")
