"""Two plans side by side: maps in step, the differences in a table, and who changes to another facility."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.serving.city import City
from pages.serving.kept_plan import KeptPlan
from pages.serving.plan_settings import LOWEST
from pages.session import address, dial, kept_plans, markdown, plans, screen, state
from pages.widgets import live_plan, sidebar
from tkm_core.figures import Look
from tkm_core.planning import Move, Plan, distance_decimals, moves, one_setting
from tkm_core.stories import facilities_text, tell_moves, tell_numbers, tell_plan
from tkm_core.units import METRES
from tkm_core.wording import dial_text

GROUP = "two plans"
NOW = ""  # in the address: the plan as it stands on the Plan page
MOST_ROWS = 60
OWN_WORDS = {NOW: "Plan now, as on the Plan page", LOWEST: "Lowest average"}


def render(place: City) -> None:
    """Choose two plans, then say, map and tabulate how they differ."""
    look, standard = screen.look(place), screen.standard(place)
    kept = kept_plans.known(place)
    if not kept:
        st.info(
            "To compare with a plan of your own, press “Keep this plan to compare” on the Plan page, change something "
            "there and come back.",
            icon=":material/info:",
        )
        if address.get("k") == 0:
            return
    _choose(place, kept)
    (first, before), (second, after) = (_named(place, kept, field) for field in ("a", "b"))
    towards = after.against(before.as_reference(0, first))
    back = before.against(after.as_reference(0, second))
    story = tell_plan(towards, 0, unit=look.unit, standard=standard, people=place.people)
    with st.container(key="hero", gap="xsmall"):
        names = f"From **{markdown.escaped(first)}** to **{markdown.escaped(second)}**"
        st.markdown(names)
        st.markdown(f"# {markdown.toned(story.headline)}", anchors=False)
        st.markdown(f"{markdown.toned(story.detail)} :gray[{markdown.escaped(story.context)}]")
    for spot, name, plan in zip(st.columns(2), (first, second), (back, towards), strict=True):
        with spot:
            st.markdown(f"**{markdown.escaped(name)}** :gray[{markdown.escaped(_words(plan))}]")
            here = replace(place, existing=plan.existing if len(plan.existing) else None, closed=plan.closed)
            live_plan.beside(here, plan, look, standard, key=f"beside_{'ab'[plan is towards]}", group=GROUP)
    left, right = st.columns([1, 1.2], gap="medium")
    with left:
        st.header("What is different", anchor=False)
        st.table(markdown.figures_table(story, name=second), border="horizontal", hide_index=True)
    with right:
        st.header("Who changes facility", anchor=False)
        _who_moves(before, after, first, second, look)
    if kept:
        _manage(kept)


def _choose(place: City, kept: dict[str, KeptPlan]) -> None:
    """Which plan is A and which is B, and how the maps are coloured."""
    options = [*kept, *([LOWEST] if address.get("k") else []), NOW]
    if address.get("a") == address.get("b"):
        address.put("a", next(token for token in options if token != address.get("b")))
    for field in ("a", "b"):
        if address.get(field) not in options:
            address.put(field, NOW if address.get("a" if field == "b" else "b") != NOW else options[0])
    with st.sidebar:
        for field, label in (("a", "Plan on the left"), ("b", "Plan on the right")):
            st.selectbox(
                label,
                options,
                format_func=lambda token: kept[token].words if token in kept else OWN_WORDS[token],
                key=field,
                persist_state="session",
            )
    sidebar.units_and_standard(place)
    sidebar.colour()


def _named(place: City, kept: dict[str, KeptPlan], field: str) -> tuple[str, Plan]:
    """The plan on one side, at its one setting, and its name."""
    chosen = kept.get(address.get(field))
    if chosen is not None:
        return chosen.name, chosen.plan
    with_pins, new = live_plan.pinned(place, address.get("k"))
    plan = dial.with_setting(plans.plan_of(with_pins, new))
    if address.get(field) == LOWEST:
        return "Lowest average", one_setting(plan, 0)
    return "Plan now", one_setting(plan, plan.index(dial.setting(plan)))


def _words(plan: Plan) -> str:
    return facilities_text(plan) + (f", t = {dial_text(plan.t[0])}" if plan.k else "")


def _who_moves(before: Plan, after: Plan, first: str, second: str, look: Look) -> None:
    found = moves(before, after)
    told = tell_moves(found, before.people, before=first, after=second, people=look.people)
    numbered = tell_numbers(before, after, first=first, second=second)
    st.markdown(markdown.escaped(f"{told} {numbered}".strip()))
    if not found:
        return
    digits = distance_decimals(after.evaluation(0), before.evaluation(0), look.unit)
    st.dataframe(
        _table(found[:MOST_ROWS], first, second, look, digits),
        hide_index=True,
        width="stretch",
        column_config={look.people.capitalize(): st.column_config.NumberColumn(format="localized")},
    )
    if len(found) > MOST_ROWS:
        st.markdown(f":small[:gray[The {MOST_ROWS} largest of {len(found):,} such changes.]]")


def _table(found: list[Move], first: str, second: str, look: Look, digits: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f"From ({first})": [move.before for move in found],
            f"To ({second})": [move.after for move in found],
            look.people.capitalize(): [round(move.people) for move in found],
            f"Average trip, {look.unit}": [
                f"{move.change / METRES[look.unit]:+,.{digits}f}" for move in found
            ],
        }
    )


def _manage(kept: dict[str, KeptPlan]) -> None:
    """Names of the kept plans, and the way to drop one."""
    with st.expander(f"Kept plans: {len(kept)}", icon=":material/bookmarks:"):
        for token, one in kept.items():
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input(
                    one.words,
                    one.name,
                    max_chars=40,
                    key=f"name_{token}",
                    on_change=lambda one=one, token=token: kept_plans.rename(
                        one, state.widget(f"name_{token}")
                    ),
                )
                st.button(
                    "Drop",
                    key=f"drop_{token}",
                    icon=":material/delete:",
                    on_click=kept_plans.drop,
                    args=(one,),
                )
        st.markdown(
            ":small[:gray[Kept plans belong to this visit and are forgotten after a day. To keep one for longer, "
            "download its plan file on the Plan page.]]"
        )
