"""Page how_many."""

import streamlit as st


def render() -> None:
    """Draw."""
    st.write("how_many")


if __name__ == "__main__":
    from app import main

    main()
