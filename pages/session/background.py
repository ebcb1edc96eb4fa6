"""Work beside a page: it is done while the planner goes on turning the dial.

Long work in a run of a page holds up the parts that redraw alone: their clicks wait for its end, even one on Stop.
"""

from collections.abc import Callable, Hashable

import streamlit as st

from pages.session import state
from pages.session.background_work import BackgroundWork
from pages.session.long_work import sentence
from pages.session.markdown import escaped
from tkm_core.progress import Progress

LOOK = 0.7  # seconds between two looks at it


def begin(key: Hashable, label: str, work: Callable[[Progress], object]) -> None:
    """Begin work in place of the last; a callback."""
    last = current()
    if last is not None:
        last.stop()
    state.visit().background = BackgroundWork(key, label, work)


def current() -> BackgroundWork | None:
    """The visitor's work beside the page, running or done."""
    return state.visit().background


def bar(work: BackgroundWork) -> None:
    """How far it is, and a button that stops it."""
    with st.container(border=True, key="background_bar"):
        st.progress(work.fraction, text=escaped(sentence(work.label, work.text)))
        st.button("Stop", icon=":material/stop:", key="stop_background", on_click=work.stop)
