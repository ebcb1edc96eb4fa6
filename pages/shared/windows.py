"""Windows over a page, such as the list of downloads: one stays open until it is closed, whatever is drawn below it."""

import streamlit as st

from pages.shared import address, state

LEFT = "left"


def is_open(name: str, *, clicked: bool) -> bool:
    """Whether a window is to be drawn: its button was clicked, now or before, and it was not closed since."""
    if clicked:
        state.visit().window = name
    return state.visit().window == name


def close() -> None:
    """Close the window that is open; a callback."""
    state.visit().window = ""


def leave() -> None:
    """Close a window with parts that redraw by themselves; a callback, followed by `end_what_is_left`."""
    state.visit().window = LEFT


def end_what_is_left() -> None:
    """Draw the whole page after such a window was closed; in the part of the page that opens it.

    Its parts would go on redrawing themselves, and in the place of the next window that is opened: the browser then
    loses the whole page. Only a run of the page ends them.
    """
    if state.visit().window == LEFT:
        close()
        address.hold()
        st.rerun()


def come_to(page: str) -> None:
    """Close what was left open on another page."""
    visit = state.visit()
    if visit.page != page:
        visit.page, visit.window = page, ""
