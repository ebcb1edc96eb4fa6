"""Two to four scenarios side by side: maps in step, one table, one chart, and who gains and loses."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.serving.store import Scenario
from pages.shared import address, cities, live_plan, markdown, scenarios, screen
from pages.shared.markdown import escaped
from tkm_core import figures
from tkm_core.export import csv_bytes
from tkm_core.planning import Plan, Reference
from tkm_core.stories import Story, tell_plan

GROUP = "scenarios"
Opened = tuple[cities.City, Plan]


def render(chosen: Sequence[Scenario]) -> None:
    """Compare scenarios, the oldest first; those that measure in other units cannot stand in one table."""
    units = {scenarios.unit_of(one, address.get("units")) for one in chosen}
    if len(units) > 1:
        st.info(
            "Some of these scenarios count minutes and some count distances: they cannot be compared.",
            icon=":material/info:",
        )
        return
    st.header("Side by side", anchor=False)
    opened = [scenarios.reopened(one) for one in chosen]
    _maps(chosen, opened)
    unit = units.pop()
    look = replace(_look(opened), unit=unit)
    table = scenarios.table(chosen, unit)
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        st.table(scenarios.marked(table), border="horizontal", hide_index=True)
    names, told = [one.name for one in chosen], [scenarios.measures(one) for one in chosen]
    with right:
        st.plotly_chart(
            figures.scenarios_chart(names, told, [one.figures.get("curve", {}) for one in chosen], look),
            theme=None,
            config=figures.CONFIG,
            key="scenarios_chart",
            alt=figures.scenario_words(names, told, look),
        )
    story = _gains(chosen, opened)
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "This table (CSV)",
            data=lambda: csv_bytes(table),
            file_name="scenarios.csv",
            mime="text/csv",
            icon=":material/download:",
            key="save_comparison",
            on_click="ignore",
        )
        st.download_button(
            "Report of this comparison (HTML)",
            data=lambda: figures.comparison_report(
                names,
                [one.pictures.get("light", "") for one in chosen],
                [one.note for one in chosen],
                table,
                scenarios.best(table),
                title=str(chosen[0].figures.get("facts", {}).get("title", "")),
                change=None if story is None else (names[0], names[-1], story),
            ),
            file_name="comparison.html",
            mime="text/html",
            icon=":material/description:",
            key="save_comparison_report",
            on_click="ignore",
        )


def _look(opened: Sequence[Opened | None]) -> figures.Look:
    return screen.look(next((one[0] for one in opened if one is not None), None) or cities.current())


def _maps(chosen: Sequence[Scenario], opened: Sequence[Opened | None]) -> None:
    """A map each; those of the same residents move in step."""
    for start in range(0, len(chosen), 2):
        for spot, one, found in zip(
            st.columns(2), chosen[start : start + 2], opened[start : start + 2], strict=False
        ):
            with spot:
                st.markdown(f"**{escaped(one.name)}**")
                if found is None:
                    st.markdown(
                        ":gray[Its map is drawn when its streets or its travel table are open: open it first.]"
                    )
                    continue
                place, plan = found
                live_plan.beside(
                    place,
                    plan,
                    screen.look(place),
                    screen.standard(place),
                    key=f"beside_{one.id}",
                    group=f"{GROUP} {place.residents.fingerprint}",
                )


def _gains(chosen: Sequence[Scenario], opened: Sequence[Opened | None]) -> Story | None:
    """Who gains and who loses from the first scenario to the last, where both are about the same residents."""
    first, last = opened[0], opened[-1]
    names = chosen[0].name, chosen[-1].name
    if first is None or last is None:
        return None
    st.markdown(f"**From {escaped(names[0])} to {escaped(names[1])}**")
    if first[0].residents.fingerprint != last[0].residents.fingerprint:
        st.markdown(":gray[They are about different residents: nobody gains or loses from one to the other.]")
        return None
    place, plan = last
    towards = plan.against(Reference("saved", names[0], first[1].centers_lonlat(0)))
    look, standard = screen.look(place), screen.standard(place)
    story = tell_plan(towards, 0, unit=look.unit, standard=standard, people=place.people)
    st.markdown(f"{markdown.toned(story.headline)} {markdown.toned(story.detail)}")
    return story
