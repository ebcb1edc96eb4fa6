"""Page data."""

import streamlit as st


def render() -> None:
    """Draw."""
    st.write("data")


if __name__ == "__main__":
    from app import main

    main()
