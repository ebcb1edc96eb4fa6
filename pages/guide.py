"""Page guide."""

import streamlit as st


def render() -> None:
    """Draw."""
    st.write("guide")


if __name__ == "__main__":
    from app import main

    main()
