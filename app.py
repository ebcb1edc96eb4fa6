"""The door: page set-up, navigation, the one frame around every page.

A page is one file in pages/ with a function ``render()``, and one line in PAGES below. Its file ends with the three
lines that hand over to ``main`` when Streamlit runs it by itself, as it does for the first link to a new server.
Pages are drawn with pages/widgets; pages/session remembers the visit (address, residents, plans, long work).
"""

import base64
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages import compare, data, guide, how_many, lab, plan, scenarios, sites
from pages.serving import garbage, login, samples, uploads, visitor
from pages.serving.jobs.asker import found_by
from pages.serving.plan_cache import cached_plan
from pages.serving.plan_settings import FIELDS
from pages.session import address, notices, screen, state
from pages.widgets import errors, live_plan, styles, windows
from tkm_core.figures import Look, html_report
from tkm_core.stories import tell_plan
from tkm_core.units import METRES

ASSETS = Path(__file__).parent / "assets"
# url (the file's name), what the menu says, what draws it
PAGES: tuple[tuple[str, str, Callable[[], None]], ...] = (
    ("plan", "Plan", plan.render),
    ("data", "Data", data.render),
    ("sites", "Sites", sites.render),
    ("compare", "Compare", compare.render),
    ("how_many", "How many?", how_many.render),
    ("scenarios", "Scenarios", scenarios.render),
    ("guide", "Help", guide.render),
    ("lab", "Lab", lab.render),
)
# In the page itself: a browser asks for a file anew whenever the address changes, and so at every turn of the dial.
ICON = "data:image/png;base64," + base64.b64encode((ASSETS / "favicon.png").read_bytes()).decode()
UNDER_HELP = {"lab"}  # for researchers: reached by its address and by a link on the Help page


def main() -> None:
    """Draw the frame, and in it the page that the address names."""
    found_by(visitor.asker)
    st.set_page_config(
        page_title="EvenReach",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state=272,
    )
    st.html(styles.css(screen.theme()))
    login.gate()
    st.logo(ASSETS / "logo.svg", size="large")  # it changes its colours with the theme by itself
    pages = {
        url: st.Page(
            errors.show_problems(render),
            title=title,
            url_path=url,
            default=number == 0,
            visibility="hidden" if url in UNDER_HELP else "visible",
        )
        for number, (url, title, render) in enumerate(PAGES)
    }
    state.visit().pages = pages
    problems = address.read()
    chosen = st.navigation(list(pages.values()), position="top")
    for problem in problems:
        notices.add(f"This link is not quite right: {problem}. The usual setting is used instead.")
    for refusal in uploads.refusals():
        notices.add(refusal)
    windows.come_to(chosen.url_path)
    chosen.run()
    login.leave()
    address.write()
    garbage.settle()


def warm() -> None:
    """Make the first plan, its map and its report, so that the first visitor of a server does not wait for any."""
    usual = {name: field.default for name, field in FIELDS.items()}
    place = samples.sample(usual["dataset"])
    made = cached_plan(place, usual["k"], lambda _fraction, _text: None)
    i = made.index(usual["t"])
    look, story = Look(people=place.people), tell_plan(made, i, people=place.people)
    html_report(made, i, story, look, title=place.title)
    live_plan.prepared(place, made, look, usual["standard"] * METRES[look.unit])
    garbage.settle()


if __name__ == "__main__":
    main()
