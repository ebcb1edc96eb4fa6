"""Help: the method in a planner's words, a glossary, its limits, how to cite."""

from pathlib import Path

import streamlit as st

from pages.shared import session
from tkm_core.version import VERSION

TEXTS = Path(__file__).resolve().parents[1] / "assets" / "help"
TABS = {"The method": "method", "Glossary": "glossary", "Limits and privacy": "limits", "How to cite": "cite"}


def render() -> None:
    """Four texts, one tab each."""
    session.show_notices()
    with st.container(width=860):
        for tab, name in zip(st.tabs(list(TABS)), TABS.values(), strict=True):
            tab.markdown((TEXTS / f"{name}.md").read_text(encoding="utf-8"), anchors=False)
        tab.markdown(f"This is EvenReach {VERSION}.")


if __name__ == "__main__":
    from app import main

    main()
