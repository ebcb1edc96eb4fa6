"""Sharing a project: links that can be withdrawn, and people where they sign in."""

from datetime import UTC, datetime

import streamlit as st

from pages.serving.config import config
from pages.serving.store import ROLES, Project, StoreError, store
from pages.session import address, notices, state, stored_data
from pages.session.markdown import escaped

DAYS = {"until it is withdrawn": None, "for 30 days": 30.0, "for one day": 1.0}
NO_MEMBER = "no longer a member"
ROLE_WORDS = {"figures": "see figures only", "viewer": "see everything", "editor": "edit", "owner": "own"}
ROLE_HELP = (
    "See figures only: measures and facilities, never where people live. See everything: homes, too. Edit: save, "
    "change and delete scenarios. Own: share and delete the project and its data, as you can."
)


def menu(project: Project) -> None:
    """Links that can be withdrawn, and people where they sign in."""
    with st.popover("Share", icon=":material/group_add:"):
        st.selectbox(
            "What people with the link may do",
            ROLES,
            format_func=ROLE_WORDS.__getitem__,
            key="share_role",
            help=ROLE_HELP,
        )
        st.selectbox("The link works", list(DAYS), key="share_days")
        st.text_input("Who is it for? (optional)", max_chars=120, key="share_label")
        st.button("Make a link", key="share_project", type="primary", on_click=_new_link, args=(project,))
        if state.visit().new_link:
            st.markdown("Copy it now: it is not shown again.")
            st.code(state.visit().new_link, language=None, wrap_lines=True)
        for one in store().shares_of(stored_data.actor(), project.id):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                until = (
                    ""
                    if one.expires is None
                    else f", until {datetime.fromtimestamp(one.expires, UTC):%d %b %Y}"
                )
                role = ROLE_WORDS[one.role].capitalize()
                st.markdown(f"{role}: {escaped(one.label or 'a link')}{until}", width="stretch")
                st.button(
                    "Withdraw",
                    key=f"revoke_{one.id}",
                    type="tertiary",
                    on_click=stored_data.done,
                    args=(
                        "The link no longer works.",
                        lambda one=one: store().revoke(stored_data.actor(), project.id, one.id),
                    ),
                )
        if config().login:
            _people(project)


def _people(project: Project) -> None:
    st.text_input("E-mail address of a person", max_chars=120, key="member_person")
    st.selectbox(
        "What this person may do",
        (*ROLES, NO_MEMBER),
        format_func=lambda role: ROLE_WORDS.get(role, role),
        key="member_role",
    )
    st.button("Save", key="set_member", on_click=_set_member, args=(project,))
    for one in store().members_of(stored_data.actor(), project.id):
        st.markdown(f"{escaped(one.person)}: {ROLE_WORDS[one.role]}")


def _set_member(project: Project) -> None:
    person, role = state.widget("member_person"), state.widget("member_role")
    who = stored_data.actor()
    if role == NO_MEMBER:
        stored_data.done("Done.", lambda: store().end_membership(who, project.id, person))
    else:
        stored_data.done("Done.", lambda: store().set_member(who, project.id, person, role))


def _new_link(project: Project) -> None:
    role, days = state.widget("share_role"), DAYS[state.widget("share_days")]
    try:
        _, secret = store().share(
            stored_data.actor(), project.id, role, label=state.widget("share_label"), days=days
        )
    except StoreError as problem:
        notices.add(str(problem))
    else:
        state.visit().new_link = address.link("scenarios", project=secret)
