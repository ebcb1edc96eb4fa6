"""Scenarios: saved plans as cards, compared side by side, shared, with their history."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from pages.serving.config import config
from pages.serving.store import OWNER, ROLES, VIEWER, Actor, Project, Scenario, StoreError, store
from pages.shared import (
    address,
    cities,
    kept_data,
    notices,
    scenario_comparison,
    scenarios,
    screen,
    state,
    tokens,
)
from pages.shared.markdown import escaped

ACROSS, MOST = 3, 4  # cards in a row; scenarios that can be compared
DAYS = {"until it is withdrawn": None, "for 30 days": 30.0, "for one day": 1.0}
MARK = "mark_"


def render() -> None:
    """The projects of this person, and the scenarios of the one chosen."""
    cities.current()
    spot = st.container()
    try:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.title("Scenarios", anchor=False, width="content")
            tokens.manage()
        _dead_link()
        projects = store().projects_of(kept_data.actor())
        chosen = _choose(projects) if projects else None
        if chosen is None:
            _nothing_yet()
        else:
            _project(chosen)
    except StoreError as problem:
        st.error(escaped(str(problem)), icon=":material/error:")
    with spot:
        notices.show()


def _dead_link() -> None:
    """Say so if the link that somebody came with does not work."""
    key = address.get("project")
    if key and not store().projects_of(Actor(keys=(key,))):
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
            _share(project)
        _history(project)
    if project.note:
        st.markdown(f":gray[{escaped(project.note)}]")
    _private_link()
    _undo()
    found = store().scenarios_of(kept_data.actor(), project.id)
    if not found:
        st.markdown("This project has no scenarios yet.")
    for start in range(0, len(found), ACROSS):
        for column, one in zip(st.columns(ACROSS, gap="medium"), found[start : start + ACROSS], strict=False):
            with column, st.container(border=True, key=f"card_{one.id}"):
                _card(one, project)
    marked = [one for one in found if state.widget(MARK + one.id)]
    if len(marked) > MOST:
        st.info(f"At most {MOST} scenarios can be compared at once.", icon=":material/info:")
    elif len(marked) > 1:
        scenario_comparison.render(list(reversed(marked)))
    elif len(found) > 1:
        st.markdown(":gray[Tick two to four scenarios to compare them.]")


def _private_link() -> None:
    """Tell a visitor who is not signed in that only the link leads back to the project."""
    if not kept_data.actor().person and address.get("project"):
        st.info(
            "Nobody signs in on this server: this project belongs to whoever has its private link. Keep it, for "
            "example as a bookmark.",
            icon=":material/key:",
        )
        st.code(address.link("scenarios", project=address.get("project")), language=None, wrap_lines=True)


def _card(one: Scenario, project: Project) -> None:
    picture = one.pictures.get(screen.theme(), "")
    if picture:
        coded = base64.b64encode(picture.encode()).decode()
        st.html(
            f'<img src="data:image/svg+xml;base64,{coded}" alt="" style="width:100%;height:auto;display:block">'
        )
    st.markdown(f"**{escaped(one.name)}**")
    st.markdown("  \n".join(scenarios.key_figures(one, address.get("units"))))
    if one.note:
        st.markdown(f":small[:gray[{escaped(one.note)}]]")
    when = datetime.fromtimestamp(one.created, UTC).strftime("%d %b %Y, %H:%M UTC")
    st.markdown(f":small[:gray[{escaped(one.author)}, {when}]]")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if st.button("Open", key=f"open_{one.id}", type="primary"):
            scenarios.show(one)
        if project.can_edit:
            _edit(one)
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
            on_click=_done,
            args=(
                "Duplicated.",
                lambda: store().duplicate_scenario(kept_data.actor(), one.id, f"{one.name}, copy"),
            ),
        )
        st.button("Delete", key=f"delete_{one.id}", icon=":material/delete:", on_click=_delete, args=(one,))


def _done(words: str, work: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
    """Do something in the store, and then what follows from it; a problem becomes a notice."""
    try:
        work()
    except StoreError as problem:
        notices.add(str(problem))
    else:
        then()
        st.toast(words, icon=":material/check:")


def _change(one: Scenario) -> None:
    name, note = state.widget(f"name_{one.id}"), state.widget(f"note_{one.id}")
    _done(
        "Saved.",
        lambda: store().change_scenario(kept_data.actor(), one.id, one.version, name=name, note=note),
    )


def _delete(one: Scenario) -> None:
    def note() -> None:
        state.visit().undo = one.id, one.name

    _done("Deleted.", lambda: store().delete_scenario(kept_data.actor(), one.id), note)


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

    _done("Restored.", lambda: store().restore_scenario(kept_data.actor(), scenario), forget)


def _edit_project(project: Project) -> None:
    with st.popover("Edit project", icon=":material/edit:"):
        st.text_input("Name", project.name, max_chars=120, key="project_name")
        st.text_area("Note", project.note, max_chars=4000, key="project_note")
        st.button(
            "Save changes", key="change_project", type="primary", on_click=_change_project, args=(project,)
        )
        if project.role == OWNER:
            st.checkbox("Delete this project with all its scenarios and data, for good", key="sure")
            st.button(
                "Delete the project",
                key="delete_project",
                icon=":material/delete:",
                disabled=not state.widget("sure"),
                on_click=_delete_project,
                args=(project,),
            )


def _delete_project(project: Project) -> None:
    _done(
        "The project is deleted.",
        lambda: store().delete_project(kept_data.actor(), project.id),
        lambda: address.put("project", ""),
    )


def _change_project(project: Project) -> None:
    told = {"name": state.widget("project_name"), "note": state.widget("project_note")}
    _done("Saved.", lambda: store().change_project(kept_data.actor(), project.id, project.version, **told))


def _share(project: Project) -> None:
    """Links that can be withdrawn, and people where they sign in."""
    with st.popover("Share", icon=":material/group_add:"):
        st.selectbox("Role of people with the link", ROLES, key="share_role")
        st.selectbox("The link works", list(DAYS), key="share_days")
        st.text_input("Who is it for? (optional)", max_chars=120, key="share_label")
        st.button("Make a link", key="share_project", type="primary", on_click=_new_link, args=(project,))
        if state.visit().new_link:
            st.markdown("Copy it now: it is not shown again.")
            st.code(state.visit().new_link, language=None, wrap_lines=True)
        for one in store().shares_of(kept_data.actor(), project.id):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                until = (
                    ""
                    if one.expires is None
                    else f", until {datetime.fromtimestamp(one.expires, UTC):%d %b %Y}"
                )
                st.markdown(f"{one.role}: {escaped(one.label or 'a link')}{until}", width="stretch")
                st.button(
                    "Withdraw",
                    key=f"revoke_{one.id}",
                    type="tertiary",
                    on_click=_done,
                    args=(
                        "The link no longer works.",
                        lambda one=one: store().revoke(kept_data.actor(), project.id, one.id),
                    ),
                )
        if config().login:
            _people(project)


def _people(project: Project) -> None:
    st.text_input("E-mail address of a person", max_chars=120, key="member_person")
    st.selectbox("Role", (VIEWER, *ROLES[1:], "no longer a member"), key="member_role")
    st.button("Save", key="set_member", on_click=_set_member, args=(project,))
    for one in store().members_of(kept_data.actor(), project.id):
        st.markdown(f"{escaped(one.person)}: {one.role}")


def _set_member(project: Project) -> None:
    person, role = state.widget("member_person"), state.widget("member_role")
    wanted = role if role in ROLES else None
    _done("Done.", lambda: store().set_member(kept_data.actor(), project.id, person, wanted))


def _new_link(project: Project) -> None:
    role, days = state.widget("share_role"), DAYS[state.widget("share_days")]
    try:
        _, secret = store().share(
            kept_data.actor(), project.id, role, label=state.widget("share_label"), days=days
        )
    except StoreError as problem:
        notices.add(str(problem))
    else:
        state.visit().new_link = address.link("scenarios", project=secret)


def _history(project: Project) -> None:
    with st.popover("History", icon=":material/history:"):
        for event in store().history(kept_data.actor(), project.id, most=50):
            when = datetime.fromtimestamp(event.at, UTC).strftime("%d %b %Y, %H:%M")
            what = f"{event.what} “{event.scenario}”" if event.scenario else event.what
            what += f"{', ' if event.scenario else ' '}{event.detail}" if event.detail else ""
            st.markdown(f":small[{when} :gray[{escaped(event.author)}] {escaped(what)}]")


if __name__ == "__main__":
    from app import main

    main()
