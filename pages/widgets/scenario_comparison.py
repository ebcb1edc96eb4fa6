"""Two to four scenarios side by side: maps in step, one table, one chart, and who gains and loses."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.serving.city import City
from pages.serving.store import Scenario
from pages.session import address, cities, markdown, screen, stored_data
from pages.session.markdown import escaped
from pages.widgets import live_plan, scenarios
from tkm_core import figures
from tkm_core.export import as_file_name, csv_bytes
from tkm_core.planning import Plan
from tkm_core.stories import Story, tell_plan

GROUP = "scenarios"
Opened = tuple[City, Plan]
Change = tuple[str, str, Story]  # from where to where, and what it means


def render(chosen: Sequence[Scenario]) -> None:
    """Compare scenarios, the oldest first; those measured in different units cannot be in one table."""
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
    curves, words = (
        [one.figures.get("curve", {}) for one in chosen],
        figures.scenario_words(names, told, look),
    )
    with right:
        st.plotly_chart(
            figures.scenarios_chart(names, told, curves, look),
            theme=None,
            config=figures.CONFIG,
            key="scenarios_chart",
            alt=words,
        )
    change = _gains(chosen, opened)
    title = str(chosen[0].figures.get("facts", {}).get("title", ""))
    name = f"{as_file_name(title)}-{len(chosen)}-scenarios"
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "This table (CSV)",
            data=lambda: csv_bytes(table),
            file_name=f"{name}.csv",
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
                title=title,
                chart=(figures.scenarios_svg(told, curves, replace(look, theme="light")), words),
                change=change,
            ),
            file_name=f"{name}.html",
            mime="text/html",
            icon=":material/description:",
            key="save_comparison_report",
            on_click="ignore",
        )


def _look(opened: Sequence[Opened | None]) -> figures.Look:
    place = next((one[0] for one in opened if one is not None), None)
    try:
        return screen.look(place or cities.current())
    except stored_data.GoneError:
        return figures.Look(theme=screen.theme())


def _maps(chosen: Sequence[Scenario], opened: Sequence[Opened | None]) -> None:
    """A map each; those of the same residents move in step."""
    for start in range(0, len(chosen), 2):
        for spot, one, found in zip(
            st.columns(2), chosen[start : start + 2], opened[start : start + 2], strict=False
        ):
            with spot:
                st.markdown(f"**{escaped(one.name)}**")
                if found is None:
                    st.markdown(":gray[Its map cannot be drawn: its data are no longer as they were saved.]")
                    continue
                place, plan = found
                live_plan.beside(
                    place,
                    plan,
                    screen.look(place),
                    screen.standard(place),
                    # two underscores in a row, which an id may have, are no part of a component's key
                    key=f"beside-{one.id.replace('_', '.')}",
                    group=f"{GROUP} {place.residents.fingerprint}",
                )


def _from_to(chosen: Sequence[Scenario]) -> tuple[int, int]:
    """Which two are compared: of more than two, the first and the last unless others are chosen."""
    last = len(chosen) - 1
    if last == 1:
        return 0, 1
    with st.container(horizontal=True, gap="small"):
        a, b = (
            st.selectbox(
                label,
                range(len(chosen)),
                index=usual,
                format_func=lambda number: chosen[number].name,
                key=f"{key}_{'_'.join(one.id for one in chosen)}",
                width=300,
            )
            for label, usual, key in (("Who gains and loses from", 0, "gains_from"), ("to", last, "gains_to"))
        )
    return a, b


def _gains(chosen: Sequence[Scenario], opened: Sequence[Opened | None]) -> Change | None:
    """Who gains and who loses from one scenario to another, where both are about the same residents."""
    a, b = _from_to(chosen)
    first, last = opened[a], opened[b]
    names = chosen[a].name, chosen[b].name
    if first is None or last is None:
        return None
    st.markdown(f"**From {escaped(names[0])} to {escaped(names[1])}**")
    if first[0].residents.fingerprint != last[0].residents.fingerprint:
        st.markdown(":gray[They are about different residents: nobody gains or loses from one to the other.]")
        return None
    place, plan = last
    towards = plan.against(first[1].as_reference(0, names[0]))
    look, standard = screen.look(place), screen.standard(place)
    story = tell_plan(towards, 0, unit=look.unit, standard=standard, people=place.people)
    st.markdown(f"{markdown.toned(story.headline)} {markdown.toned(story.detail)}")
    return names[0], names[1], story
