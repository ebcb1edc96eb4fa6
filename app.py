"""The door: page set-up, navigation, the one frame around every page.

A page is one file in pages/ with a function ``render()``, and one line in PAGES below. Its file ends with the three
lines that hand over to ``main`` when Streamlit runs it by itself, as it does for the first link to a new server.
What pages share (address, residents, plans, long work, look) is in pages/shared.
"""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages import compare, data, guide, how_many, lab, plan
from pages.serving import login, uploads, visitor
from pages.serving.jobs.asker import found_by
from pages.shared import address, errors, session, theme

ASSETS = Path(__file__).parent / "assets"
# url (the file's name), what the menu says, what draws it
PAGES: tuple[tuple[str, str, Callable[[], None]], ...] = (
    ("plan", "Plan", plan.render),
    ("data", "Data", data.render),
    ("compare", "Compare", compare.render),
    ("how_many", "How many?", how_many.render),
    ("lab", "Lab", lab.render),
    ("guide", "Help", guide.render),
)


def main() -> None:
    """Draw the frame, and in it the page that the address names."""
    found_by(visitor.asker)
    st.set_page_config(
        page_title="EvenReach",
        page_icon=ASSETS / "favicon.png",
        layout="wide",
        initial_sidebar_state=272,
    )
    st.html(theme.css(session.theme()))
    login.gate()
    st.logo(ASSETS / f"logo-{session.theme()}.svg", size="large")
    pages = {
        url: st.Page(errors.told(render), title=title, url_path=url, default=number == 0)
        for number, (url, title, render) in enumerate(PAGES)
    }
    st.session_state["pages"] = pages
    chosen = st.navigation(list(pages.values()), position="top")
    for problem in address.read():
        session.notice(f"This link is not quite right: {problem}. The usual setting is used instead.")
    for refusal in uploads.refusals():
        session.notice(refusal)
    chosen.run()
    login.leave()
    address.write()
    session.settle()


if __name__ == "__main__":
    main()
