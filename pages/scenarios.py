"""Scenarios: saved plans as cards, compared side by side, shared, with their history."""

import base64
from contextlib import suppress
from datetime import UTC, datetime

import streamlit as st

from pages.serving.store import BIN_DAYS, OWNER, Actor, Project, Scenario, StoreError, store
from pages.serving.store.problems import FIGURES_ONLY
from pages.session import address, cities, notices, screen, state, stored_data
from pages.session.markdown import escaped
from pages.widgets import api_tokens, removed_data, scenario_comparison, scenarios, sharing

ACROSS, MOST = 3, 4  # cards in a row; scenarios that can be compared
MARK = "mark_"
PAGE = 12  # scenarios that are shown at once
PROJECTS = 100  # that can be chosen from at once


def render() -> None:
    """The projects of this person, and the scenarios of the one chosen."""
    with suppress(stored_data.GoneError):  # projects are listed without the data of the address, too
        cities.current()
    spot = st.container()
    try:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.title("Scenarios", anchor=False, width="content")
            api_tokens.manage()
        _dead_link()
        projects = _listed_projects()
        chosen = _choose(projects) if projects else None
        if chosen is None:
            _nothing_yet()
        else:
            _project(chosen)
    except StoreError as problem:
        st.error(escaped(str(problem)), icon=":material/error:")
    with spot:
        notices.show()


def _listed_projects() -> list[Project]:
    """The projects changed last; older ones a part at a time."""
    start = state.visit().projects_from
    found = store().projects_of(stored_data.actor(), PROJECTS + 1, start)
    _turn_pages("projects", start, PROJECTS, more=len(found) > PROJECTS)
    return found[:PROJECTS]


def _turn_pages(what: str, start: int, step: int, *, more: bool) -> None:
    """Buttons to the newer and the older part of a list, where it has more than one."""
    if not start and not more:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for words, where, there in (("Newer", start - step, start > 0), ("Older", start + step, more)):
            st.button(
                f"{words} {what}",
                key=f"{words.lower()}_{what}",
                disabled=not there,
                on_click=_turn,
                args=(what, where),
            )
        st.markdown(f":small[:gray[from number {start + 1} on]]", width="content")


def _turn(what: str, where: int) -> None:
    setattr(state.visit(), f"{what}_from", max(0, where))


def _dead_link() -> None:
    """Say so if the link that somebody came with does not work."""
    key = address.get("project")
    if key and not store().projects_of(Actor(keys=(key,)), 1):
        st.warning(
            "This link does not work: it has expired or was withdrawn, or its project was deleted. Ask the owner for a "
            "new one.",
            icon=":material/link_off:",
        )


def _nothing_yet() -> None:
    st.markdown(
        "Nothing is saved yet. On the Plan page, **Save as scenario** keeps the plan on screen: with its data, its "
        "settings and its exact result."
    )
    if st.button("To the Plan page", icon=":material/arrow_forward:", key="to_plan"):
        st.switch_page(state.page("plan"))


def _choose(projects: list[Project]) -> Project:
    """Which project is shown; the one changed last, unless another was chosen."""
    names = {one.id: one for one in projects}
    if state.visit().project not in names:
        state.visit().project = projects[0].id
    if len(projects) > 1:
        picked = st.selectbox(
            "Project",
            list(names),
            index=list(names).index(state.visit().project),
            format_func=lambda name: f"{names[name].name} ({names[name].scenarios})",
        )
        state.visit().project = str(picked)
    return names[state.visit().project]


def _project(project: Project) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.header(escaped(project.name), anchor=False, width="content")
        if project.can_edit:
            _edit_project(project)
        if project.role == OWNER:
            sharing.menu(project)
        if project.can_edit:
            _bin(project)
        _history(project)
    if project.note:
        st.markdown(f":gray[{escaped(project.note)}]")
    _private_link(project)
    _undo()
    if not project.shows_homes:
        st.info(FIGURES_ONLY, icon=":material/lock:")
    start = state.visit().scenarios_from
    some = store().scenarios_of(stored_data.actor(), project.id, most=PAGE + 1, start=start)
    found = some[:PAGE]
    if not found:
        st.markdown("This project has no scenarios yet.")
    for start in range(0, len(found), ACROSS):
        for column, one in zip(st.columns(ACROSS, gap="medium"), found[start : start + ACROSS], strict=False):
            with column, st.container(border=True, key=f"card_{one.id}"):
                _card(one, project)
    _turn_pages("scenarios", start, PAGE, more=len(some) > PAGE)
    marked = [one for one in found if state.widget(MARK + one.id)]
    if len(marked) > MOST:
        st.info(f"At most {MOST} scenarios can be compared at once.", icon=":material/info:")
    elif len(marked) > 1 and project.shows_homes:
        scenario_comparison.render(list(reversed(marked)))
    elif len(found) > 1 and project.shows_homes:
        st.markdown(":gray[Tick two to four scenarios to compare them.]")


def _private_link(project: Project) -> None:
    """Tell a visitor who is not signed in that only the link leads back to the project."""
    who = stored_data.actor()
    if who.person or project.role != OWNER:
        return
    own = (key for key in reversed(who.keys) if _owner_by(key, project))
    link = next(own, "")
    if link:
        st.info(
            "Nobody signs in on this server: this project belongs to whoever has its private link. This browser "
            "remembers it; keep it elsewhere, too, for example as a bookmark.",
            icon=":material/key:",
        )
        st.code(address.link("scenarios", project=link), language=None, wrap_lines=True)


def _owner_by(key: str, project: Project) -> bool:
    try:
        return store().project(Actor(keys=(key,)), project.id).role == OWNER
    except StoreError:
        return False


def _card(one: Scenario, project: Project) -> None:
    picture = one.pictures.get(screen.theme(), "")
    if picture:
        coded = base64.b64encode(picture.encode()).decode()
        st.html(
            f'<img src="data:image/svg+xml;base64,{coded}" alt="" style="width:100%;height:auto;display:block">'
        )
    st.markdown(f"**{escaped(one.name)}**")
    st.markdown("  \n".join(scenarios.key_figures(one)))
    if one.note:
        st.markdown(f":small[:gray[{escaped(one.note)}]]")
    when = datetime.fromtimestamp(one.created, UTC).strftime("%d %b %Y, %H:%M UTC")
    st.markdown(f":small[:gray[{escaped(one.author)}, {when}]]")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if project.shows_homes and st.button("Open", key=f"open_{one.id}", type="primary"):
            scenarios.show(one)
        if project.can_edit:
            _edit(one)
        if project.shows_homes:
            st.checkbox("Compare", key=MARK + one.id)


def _edit(one: Scenario) -> None:
    with st.popover("Edit"):
        st.text_input("Name", one.name, max_chars=120, key=f"name_{one.id}")
        st.text_area("Note", one.note, max_chars=4000, key=f"note_{one.id}")
        st.button("Save changes", key=f"rename_{one.id}", on_click=_change, args=(one,), type="primary")
        st.button(
            "Duplicate",
            key=f"double_{one.id}",
            icon=":material/content_copy:",
            on_click=stored_data.done,
            args=(
                "Duplicated.",
                lambda: store().duplicate_scenario(stored_data.actor(), one.id, f"{one.name}, copy"),
            ),
        )
        st.button("Delete", key=f"delete_{one.id}", icon=":material/delete:", on_click=_delete, args=(one,))


def _change(one: Scenario) -> None:
    name, note = state.widget(f"name_{one.id}"), state.widget(f"note_{one.id}")
    stored_data.done(
        "Saved.",
        lambda: store().change_scenario(stored_data.actor(), one.id, one.version, name=name, note=note),
    )


def _delete(one: Scenario) -> None:
    def note() -> None:
        state.visit().undo = one.id, one.name

    stored_data.done("Deleted.", lambda: store().delete_scenario(stored_data.actor(), one.id), note)


def _undo() -> None:
    last = state.visit().undo
    if last is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"“{escaped(last[1])}” was deleted.", width="content")
        st.button("Undo", key="undo_delete", icon=":material/undo:", on_click=_bring_back, args=(last[0],))


def _bring_back(scenario: str) -> None:
    def forget() -> None:
        state.visit().undo = None

    stored_data.done("Restored.", lambda: store().restore_scenario(stored_data.actor(), scenario), forget)


def _edit_project(project: Project) -> None:
    with st.popover("Edit project", icon=":material/edit:"):
        st.text_input("Name", project.name, max_chars=120, key="project_name")
        st.text_area("Note", project.note, max_chars=4000, key="project_note")
        st.button(
            "Save changes", key="change_project", type="primary", on_click=_change_project, args=(project,)
        )
        if project.role == OWNER:
            st.checkbox(
                "Delete this project with all its scenarios and data, for good: the uploads it was made of and copies "
                "that others made of its data go, too",
                key="sure",
            )
            st.button(
                "Delete the project",
                key="delete_project",
                icon=":material/delete:",
                disabled=not state.widget("sure"),
                on_click=_delete_project,
                args=(project,),
            )


def _delete_project(project: Project) -> None:
    stored_data.done(
        "The project is deleted.",
        lambda: store().delete_project(stored_data.actor(), project.id),
        lambda: address.put("project", ""),
    )


def _change_project(project: Project) -> None:
    told = {"name": state.widget("project_name"), "note": state.widget("project_note")}
    stored_data.done(
        "Saved.", lambda: store().change_project(stored_data.actor(), project.id, project.version, **told)
    )


def _bin(project: Project) -> None:
    """Deleted scenarios, and for owners the data that were removed: to restore, or to delete for good."""
    owner = project.role == OWNER
    gone = store().scenarios_of(stored_data.actor(), project.id, deleted=True, pictures=False)
    data = store().bin_of(stored_data.actor(), project.id) if owner else []
    if not gone and not data:
        return
    with st.popover("Bin", icon=":material/delete:"):
        st.markdown(f":gray[What was deleted can be restored for {BIN_DAYS:.0f} days.]")
        for one in gone:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{escaped(one.name)}**", width="stretch")
                st.button("Restore", key=f"restore_{one.id}", on_click=_bring_back, args=(one.id,))
                if owner:
                    st.button(
                        "Delete for good",
                        key=f"erase_{one.id}",
                        type="tertiary",
                        help="At once, and without a way back.",
                        on_click=stored_data.done,
                        args=(
                            "Deleted for good.",
                            lambda one=one: store().erase_scenario(stored_data.actor(), one.id),
                        ),
                    )
        removed_data.rows(data)


def _history(project: Project) -> None:
    with st.popover("History", icon=":material/history:"):
        for event in store().history(stored_data.actor(), project.id):
            when = datetime.fromtimestamp(event.at, UTC).strftime("%d %b %Y, %H:%M")
            what = f"{event.what} “{event.scenario}”" if event.scenario else event.what
            what += f"{', ' if event.scenario else ' '}{event.detail}" if event.detail else ""
            st.markdown(f":small[{when} :gray[{escaped(event.author)}] {escaped(what)}]")


if __name__ == "__main__":
    from app import main

    main()
