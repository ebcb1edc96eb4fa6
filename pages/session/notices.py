"""Sentences at the top of the page: what is said once, in the run in which it came up."""

import streamlit as st

from pages.session import state
from pages.session.markdown import escaped


def add(text: str) -> None:
    """Say something at the top of the page in this run; it is shown as plain text."""
    state.visit().notices.append(text)


def show() -> None:
    """Show and forget what there is to say."""
    said, state.visit().notices = state.visit().notices, []
    with st.container():  # always there, so that what follows keeps its place
        for text in said:
            st.warning(escaped(text), icon=":material/info:")
