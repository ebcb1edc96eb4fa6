"""A person's tokens for the HTTP API: made, shown once, and withdrawn."""

from datetime import UTC, datetime

import streamlit as st

from pages.serving import people
from pages.serving.store import StoreError, store
from pages.session import address, notices, state, stored_data
from pages.session.markdown import escaped

DAYS = {"For 30 days": 30.0, "For 90 days": 90.0, "For a year": 365.0}


def manage() -> None:
    """A menu with this person's tokens; nothing where the API is not served, or nobody has a name."""
    who = stored_data.actor()
    if not people.serving_many() or not who.person:
        return
    with st.popover("API tokens", icon=":material/terminal:"):
        st.markdown(
            "With a token, a program can work here in your name and do what you can do. What it can call is described "
            f"in `{address.link('api/openapi.json')}`."
        )
        st.markdown(f":small[:gray[You are known here as {escaped(who.person)}.]]")
        st.text_input("What it is for", max_chars=120, key="token_label")
        st.selectbox("It works", list(DAYS), key="token_days")
        st.button("Make a token", key="make_token", type="primary", on_click=_make)
        if state.visit().new_token:
            st.markdown("Copy it now: it is not shown again.")
            st.code(state.visit().new_token, language=None, wrap_lines=True)
        for one in store().tokens_of(who):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                used = "never used" if one.used is None else f"last used {_day(one.used)}"
                st.markdown(f"{escaped(one.label)}: until {_day(one.expires)}, {used}", width="stretch")
                st.button(
                    "Withdraw", key=f"withdraw_{one.id}", type="tertiary", on_click=_withdraw, args=(one.id,)
                )


def _make() -> None:
    days = DAYS[state.widget("token_days")]
    try:
        _, secret = store().new_token(stored_data.actor(), state.widget("token_label"), days=days)
    except StoreError as problem:
        notices.add(str(problem))
    else:
        state.visit().new_token = secret


def _withdraw(token: str) -> None:
    try:
        store().withdraw_token(stored_data.actor(), token)
    except StoreError as problem:
        notices.add(str(problem))
    else:
        state.visit().new_token = ""
        st.toast("The token no longer works.", icon=":material/check:")


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d %b %Y}"
