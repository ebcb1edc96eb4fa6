"""A page whose data have gone: it says so, offers a way on, and shows nothing else."""

import streamlit as st

from pages.serving.store.problems import FIGURES_ONLY
from pages.session import cities, rules, state, stored_data
from pages.session.markdown import escaped


def show(gone: stored_data.GoneError, *, alone: bool = True) -> None:
    """Say what has gone.

    Parameters
    ----------
    gone : GoneError
    alone : bool
        Whether nothing else is on the page; the Data page still takes an upload.
    """
    opened = stored_data.scenario()
    state.visit().notices = []  # what they would say about data that are not here
    figures_only = opened is not None and not opened[1].shows_homes
    if alone:
        st.title("Figures only" if figures_only else "These data are not here", anchor=False)
    st.warning(escaped(FIGURES_ONLY if figures_only else str(gone)), icon=":material/info:")
    with st.container(horizontal=True, gap="small"):
        if figures_only and st.button("See the figures", key="to_figures", type="primary"):
            st.switch_page(state.page("scenarios"))
        if alone and not figures_only and st.button("To the Data page", key="to_data", type="primary"):
            st.switch_page(state.page("data"))
        if gone.field == "upload":
            st.button("Start with a sample city", key="leave_gone", on_click=cities.leave_upload)
        else:
            st.button("Plan without them", key="leave_gone", on_click=_leave, args=(gone.field,))


def _leave(field: str) -> None:
    if field == "existing":
        cities.leave_existing()
    else:
        rules.leave(field)
