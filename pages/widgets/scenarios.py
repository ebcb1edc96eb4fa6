"""Scenarios for a visitor: save the plan on screen, open one again, and what several say side by side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.scenario_content import name_of, pictures, saved_figures
from pages.serving.store import Draft, Project, Scenario, StoreError, store
from pages.session import address, cities, dial, plans, rules, screen, state, stored_data
from pages.session.markdown import escaped
from tkm_core.export import plan_json
from tkm_core.measures import COMPARED, MEASURES, SAVED, figure_decimals, shown_in
from tkm_core.planning import Plan, one_setting
from tkm_core.residents import find_sample
from tkm_core.stories import facilities_text
from tkm_core.version import VERSION

NAME = "scenario_name"  # the widget in which the next one is named
# the settings on which a plan depends; the others say how it is looked at
PLANNED = (
    "dataset", "upload", "existing", "k", "pins", "closed", "places", "roads", "table", "by", "measure", "direction",
    "most", "least", "equal",
)  # fmt: skip


def at_the_side(place: City, plan: Plan) -> None:
    """On the Plan page: the scenario that is open, and the button that saves the plan on screen."""
    if screen.presenting():
        return
    opened = stored_data.scenario()
    with st.sidebar:
        with st.popover("Save as scenario", icon=":material/save:", width="stretch"):
            st.text_input(
                "Name",
                key=NAME,
                max_chars=120,
                placeholder=facilities_text(plan),
                help="Without one it is called after its facilities and the setting of the dial.",
            )
            st.button(
                "Save",
                key="save_scenario",
                type="primary",
                on_click=_ask_to_save,
                help="Kept on the Scenarios page, with its data and its exact result, until you delete it.",
            )
        name, state.visit().saving = state.visit().saving, None
        if name is not None:  # not in the callback, where it would be shown in place of the page's beginning
            _save_and_say(place, plan, name)
        if opened is None:
            return
        st.markdown(
            f":small[:gray[Open scenario: **{escaped(opened[0].name)}**. {_how_shown(opened[0], place, plan)}]]"
        )
        st.button(
            "Plan again",
            key="plan_anew",
            icon=":material/refresh:",
            type="tertiary",
            on_click=lambda: address.put("scenario", ""),
            help="Leave the saved plan and compute it again with the same settings and this version's solver.",
        )


def _how_shown(one: Scenario, place: City, plan: Plan) -> str:
    """Whether the plan on screen is the one that was saved, and by which version."""
    if plans.shows_saved(place, plan.k):
        if one.made_with == VERSION:
            return "It is shown as it was saved."
        return f"It was saved by version {escaped(one.made_with)} and is shown as it was; this is version {VERSION}."
    now = address.everything()
    if all(now.get(name) == text for name, text in one.settings.items() if name in PLANNED):
        return (
            f"It was planned anew, because this version, {VERSION}, does not measure its streets or its table in the "
            f"same way as version {escaped(one.made_with)}, which saved it. Its own figures are on the Scenarios page."
        )
    return "The settings have been changed since."


def _ask_to_save() -> None:
    state.visit().saving = str(state.widget(NAME) or "").strip()
    state.set_widget(NAME, "")  # for the next one


def _save_and_say(place: City, plan: Plan, name: str) -> None:
    try:
        with st.spinner("Saving the scenario, with its figures and its picture", show_time=True):
            made = save(place, plan, name)
    except StoreError as problem:
        st.warning(escaped(str(problem)), icon=":material/info:")
    else:
        address.write()  # it was written at the top of the page, before there was a project
        st.toast(escaped(f"Saved as “{made.name}”."), icon=":material/check:")


def save(place: City, plan: Plan, name: str = "") -> Scenario:
    """Save the plan on screen, under a name: in the project in use, or in a new one that is called after the city."""
    i = plan.index(dial.setting(plan))
    project, opened = project_in_use(), stored_data.scenario()
    names = store().names_in(stored_data.actor(), project.id) if project is not None else set()
    draft = Draft(
        _unused(name or name_of(plan, i), names),
        _settings(place),
        saved_figures(plan, i, place),
        plan_json(plan, i),
        pictures=pictures(place, plan, i, screen.look(place)),
        parent="" if opened is None else opened[0].id,
    )
    made, secret = store().save_scenario(
        stored_data.actor(),
        draft,
        None if project is None else project.id,
        title=place.title,
    )
    if secret:
        address.put("project", secret)
    state.visit().project = made.project_id
    return made


def project_in_use() -> Project | None:
    """Where the next scenario goes: the project of the open one, the one chosen last, or the one changed last."""
    opened = stored_data.scenario()
    if opened is not None and opened[1].can_edit:
        return opened[1]
    mine = [one for one in store().projects_of(stored_data.actor()) if one.can_edit]
    return next((one for one in mine if one.id == state.visit().project), mine[0] if mine else None)


def _unused(name: str, taken: set[str]) -> str:
    """A name that no other scenario of the project has."""
    candidates = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 3))]
    return next(one for one in candidates if one not in taken)


def _settings(place: City) -> dict[str, str]:
    """The address of the plan; what came with a plan file is kept, too, and named."""
    settings = address.everything()
    if place.saved is None:
        return settings
    settings.pop("upload", None)
    if find_sample(place.home) is not None:
        settings["dataset"] = place.home
    else:
        settings["upload"] = cities.kept_home(place)
    if place.existing is not None:
        cities.keep_existing(place.existing)
        settings["existing"] = address.get("existing")
        address.put("existing", "")
    settings |= rules.keep_of_plan(place.rules)
    try:
        same = rules.saved(settings, place.residents, place.existing) == place.rules
    except ValueError:
        same = False
    if not same:
        msg = "This plan cannot be saved here: its rules cannot be kept exactly as its file has them. Keep the file."
        raise StoreError(msg)
    return {name: text for name, text in settings.items() if text}


def show(one: Scenario) -> None:
    """Open a scenario on the Plan page."""
    address.take(one.settings)
    address.put("scenario", one.id)
    state.visit().scenario = None
    state.visit().project = one.project_id
    st.switch_page(state.page("plan"))


def measures(one: Scenario) -> dict[str, float]:
    """The measures of a scenario, in metres."""
    return cast("dict[str, float]", one.figures.get("measures", {}))


def unit_of(one: Scenario, lengths: str) -> str:
    """The unit in which the trips of a scenario are shown: minutes, or the visitor's unit of lengths."""
    return "min" if one.figures.get("facts", {}).get("unit") == "min" else lengths


def key_figures(one: Scenario) -> list[str]:
    """The three figures of a card, in the units of its map: those in which it was saved."""
    found, unit = measures(one), unit_of(one, one.settings.get("units") or "km")
    lines = []
    for key in ("mean_distance", "largest_distance", "p95_distance"):
        if key in found:
            value = MEASURES[key].value(found[key], unit)
            lines.append(f"{MEASURES[key].column}: **{value:,.{min(2, figure_decimals(value))}f} {unit}**")
    return lines


def table(chosen: Sequence[Scenario], unit: str) -> pd.DataFrame:
    """The measures of scenarios side by side, as numbers."""
    keys = [key for key in shown_in(SAVED) if all(key in measures(one) for one in chosen)]
    shown = [key for key in shown_in(COMPARED) if key in keys] or keys
    columns = {
        one.name if [other.name for other in chosen].count(one.name) == 1 else f"{one.name} ({number})": [
            float(MEASURES[key].value(measures(one)[key], unit)) for key in shown
        ]
        for number, one in enumerate(chosen, start=1)
    }
    return pd.DataFrame({"Measure": [MEASURES[key].heading(unit) for key in shown], **columns})


def best(found: pd.DataFrame) -> list[list[bool]]:
    """For each row of such a table, which figures are the best as they are shown; fewer is better in all of them."""
    told = []
    for row in found.drop(columns="Measure").to_numpy(dtype=float):
        rounded = np.round(row, figure_decimals(*row))
        told.append([bool(value == rounded.min()) and len(row) > 1 for value in rounded])
    return told


def marked(found: pd.DataFrame) -> pd.DataFrame:
    """The same table as text, the best of each row in bold green."""
    columns: dict[str, list[str]] = {escaped(str(name)): [] for name in found.columns[1:]}
    for row, marks in zip(found.drop(columns="Measure").to_numpy(dtype=float), best(found), strict=True):
        digits = figure_decimals(*row)
        for cells, value, mark in zip(columns.values(), row, marks, strict=True):
            cells.append(f":green[**{value:,.{digits}f}**]" if mark else f"{value:,.{digits}f}")
    return pd.DataFrame({"Measure": found["Measure"], **columns})


def reopened(one: Scenario) -> tuple[City, Plan] | None:
    """A scenario's city and its plan at its one setting, as it was saved; None where its data cannot be opened."""
    told = one.settings
    place = cities.named(told.get("dataset", ""), told.get("upload", ""))
    saved = stored_data.plan_file(one.id)
    if place is None or saved is None:
        return None
    existing = cities.named_existing(told.get("existing", ""))

    def make() -> Plan:
        travel = rules.saved(told, place.residents, existing).travel
        found = tasks.restored(one.id, saved, place.residents, state.still_here, travel=travel, proven=True)
        return one_setting(found.plan, found.i)

    try:
        with st.spinner("Opening the saved plans", show_time=True):
            plan = cast("Plan", caches().results.once(("scenario", one.id, *place.key_with_existing), make))
    except ValueError:
        return None
    kept = plan.existing if len(plan.existing) else None
    return replace(place, existing=kept, closed=plan.closed, rules=plan.rules), plan
