"""What straight lines would have planned, shown on request beside a plan along streets or by a table."""

from dataclasses import replace

import streamlit as st

from pages.serving.city import City
from pages.session import markdown, plans, screen, state
from tkm_core.evaluation import Evaluation
from tkm_core.figures import Look
from tkm_core.planning import STRAIGHT, ByStraightLines, Plan
from tkm_core.stories import tell_straight_lines

KEY = "straight_lines"
NAME = "By straight lines"


def offered(place: City, plan: Plan) -> bool:
    """Whether there is anything to compare: a plan that goes by something else, and was not opened from a file."""
    return bool(plan.k) and not plan.rules.straight and place.saved is None


def _other(place: City, plan: Plan) -> ByStraightLines:
    """The plan beside the one by straight lines, made once."""

    def make() -> ByStraightLines:
        elsewhere = replace(place, rules=replace(place.rules, travel=STRAIGHT))
        return ByStraightLines(plan, plans.part_of_other_work(elsewhere, plan.k, state.still_here))

    with st.spinner("Planning by straight lines", show_time=True):
        return plans.kept(place, plan, ("by straight lines",), make)


def on_tradeoff(
    place: City, plan: Plan, i: int, utility: str, fairness: str
) -> dict[str, tuple[float, float]]:
    """Where the same setting stands in the trade-off if planned by straight lines; empty unless asked for."""
    if not (offered(place, plan) and state.widget(KEY)):
        return {}
    found = _measured(place, plan, i)
    return {NAME: (float(getattr(found, utility)), float(getattr(found, fairness)))}


def _measured(place: City, plan: Plan, i: int) -> Evaluation:
    standard = screen.standard(place)
    other = _other(place, plan)
    return plans.kept(
        place, plan, ("measured by straight lines", i, standard), lambda: other.evaluation(i, standard)
    )


def show(place: City, plan: Plan, i: int, look: Look) -> None:
    """The switch, and what straight lines cost at this setting: a sentence and the key figures."""
    if not offered(place, plan):
        return
    if not st.toggle(
        "Show what straight lines would have planned",
        key=KEY,
        help="The same number of facilities, placed by straight lines at the same setting of the dial. Each is moved "
        "to the nearest junction or site and measured in the same way as this plan.",
    ):
        return
    told = tell_straight_lines(
        _other(place, plan), i, unit=look.unit, standard=screen.standard(place), people=place.people
    )
    st.markdown(markdown.toned(told.headline))
    st.table(markdown.figures_table(told), border="horizontal", hide_index=True)
