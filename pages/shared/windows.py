"""Windows over a page, such as the list of downloads: one stays open until it is closed, whatever is drawn below it."""

from pages.shared import state


def is_open(name: str, *, clicked: bool) -> bool:
    """Whether a window is to be drawn: its button was clicked, now or before, and it was not closed since."""
    if clicked:
        state.visit().window = name
    return state.visit().window == name


def close() -> None:
    """Close the window that is open; a callback."""
    state.visit().window = ""


def come_to(page: str) -> None:
    """Close what was left open on another page."""
    visit = state.visit()
    if visit.page != page:
        visit.page, visit.window = page, ""
