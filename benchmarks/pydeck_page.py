"""A page with Streamlit's slider and a pydeck map drawn by the server, to compare the live map with."""

import streamlit as st

from tkm_core import figures
from tkm_core.figures import DrawnDeck, MapGround
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import load_sample
from tkm_core.stories import tell_plan


@st.cache_resource(show_spinner=False)
def planned(dataset: str) -> tuple[Plan, MapGround]:
    """A plan for six facilities, and the ground of its map."""
    plan = make_plan(load_sample(dataset), 6)
    return plan, MapGround.of(plan.residents, width=690, height=588)


@st.fragment
def consequences(dataset: str) -> None:
    """The sentence, the dial and the map: the fragment that redraws by itself."""
    plan, ground = planned(dataset)
    hero = st.container(key="hero")
    with st.container(key="t"):
        t = st.select_slider("Fairness dial", options=plan.t.tolist(), value=float(plan.t[plan.index(0.2)]))
    i, look = plan.index(t), figures.Look()
    with hero:
        st.markdown(f"# {tell_plan(plan, i).headline_text}")
    evaluation, baseline = plan.evaluation(i), plan.baseline_evaluation()
    deck = DrawnDeck(figures.plan_map(plan, i, evaluation, baseline, ground, look))
    st.pydeck_chart(deck, height=588, key="map")


st.set_page_config(layout="wide")
consequences(st.query_params.get("dataset", "generated"))
