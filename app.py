"""The door: page set-up, navigation, the one frame around every page."""

import streamlit as st

st.set_page_config(page_title="EvenReach", layout="wide")
st.title("EvenReach")
st.write("Where to put public facilities so that everyone is reached evenly.")
