"""Windows over a page, such as the list of downloads: one stays open until it is closed, whatever is drawn below it."""

import streamlit as st

from pages.session import address, state

LEFT = "left"


def ask(name: str) -> None:
    """Open a window; a callback of its button."""
    visit = state.visit()
    visit.window, visit.window_drawn = name, False


def is_open(name: str) -> bool:
    """Whether a window is to be drawn, which the caller then does: it was asked for and not closed since."""
    visit = state.visit()
    if visit.window != name:
        return False
    visit.window_drawn = True
    return True


def draw_if_asked(*own: str) -> None:
    """Draw the whole page if a window was asked for whose button this run does not reach; not for the caller's own.

    A click that also lets go of the dial may reach the server together with what the dial says. Streamlit then draws
    only the part with the map.
    """
    visit = state.visit()
    if not visit.window_drawn and visit.window not in own:
        visit.window_drawn = True
        address.hold()
        st.rerun()


def close() -> None:
    """Close the window that is open; a callback."""
    visit = state.visit()
    visit.window, visit.window_drawn = "", True


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
        visit.page, visit.saving = page, None
        close()
