"""Take a plan along: downloads, and the link to it."""

import streamlit as st

from pages.frame import address, session
from tkm_core.figures import Look
from tkm_core.plan import Plan
from tkm_core.story import Story


def sidebar(place: session.City, plan: Plan, i: int, story: Story, look: Look) -> None:
    """Downloads and the link, at the end of the sidebar."""
    with st.sidebar, st.container(horizontal=True, gap="small"):
        with st.popover("Share", icon=":material/link:", width="stretch"):
            st.markdown("This link shows the same plan elsewhere.")
            st.code(address.link(), language=None, wrap_lines=True)
