"""Signing in, where the server wants it: in front of every page."""

import streamlit as st

from tkm_core.config import config


def gate() -> None:
    """Let those who have signed in pass; everyone else sees the door and nothing behind it."""
    if not config().login or st.user.is_logged_in:
        return
    st.title("Sign in to EvenReach", anchor=False)
    st.markdown("This server is for members of your organisation. The link you came with opens afterwards.")
    st.button("Sign in", type="primary", icon=":material/login:", key="sign_in", on_click=st.login)
    st.stop()


def leave() -> None:
    """The way out, at the end of the sidebar."""
    if config().login:
        st.sidebar.button(
            "Sign out", icon=":material/logout:", key="sign_out", on_click=st.logout, type="tertiary"
        )
