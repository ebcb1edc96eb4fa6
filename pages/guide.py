"""Help: the method in a planner's words, a glossary, its limits, how to cite, and the way to the Lab."""

from pathlib import Path

import streamlit as st

from pages.session import notices, state
from tkm_core.version import VERSION

TEXTS = Path(__file__).resolve().parents[1] / "assets" / "help"
TABS = {"The method": "method", "Glossary": "glossary", "Limits and privacy": "limits", "How to cite": "cite"}


def render() -> None:
    """The texts, one tab each, and the way to the Lab."""
    notices.show()
    with st.container(width=860):
        *texts, cite, research = st.tabs([*TABS, "For researchers"])
        for tab, name in zip((*texts, cite), TABS.values(), strict=True):
            tab.markdown((TEXTS / f"{name}.md").read_text(encoding="utf-8"), anchors=False)
        cite.markdown(f"This is EvenReach {VERSION}.")
        with research:
            st.markdown(
                "The **Lab** repeats the experiments of the paper, with their figures and tables, on your data "
                "set or on the data of the paper. Nothing in it is needed to plan facilities."
            )
            st.page_link(state.page("lab"), label="Open the Lab", icon=":material/science:")


if __name__ == "__main__":
    from app import main

    main()
