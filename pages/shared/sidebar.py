"""The sidebar: the problem (who, how many) and the wishes (budget, units, what the map shows)."""

import streamlit as st

from pages.serving.config import config
from pages.shared import address, session
from pages.shared.markdown import escaped
from tkm_core.figures import LAYERS
from tkm_core.planning import Plan, most_facilities
from tkm_core.residents import SAMPLES, find_sample
from tkm_core.units import METRES

LAYER_WORDS = {
    "areas": "Service areas",
    "paths": "Paths over t",
    "baseline": "k-means++",
    "farthest": "Farthest",
}
COLOUR_WORDS = {
    "facility": "Facility that serves them",
    "distance": "Distance to it",
    "change": "Gain or loss against k-means++",
}


def problem() -> session.City:
    """Which residents, and how many facilities for them."""
    with st.sidebar:
        place = session.city()
        options = list(SAMPLES)
        current = address.get("dataset")
        if current not in options:
            options.append(current)
        st.selectbox(
            "Dataset",
            options,
            format_func=lambda key: _title(key, place),
            key="dataset",
            persist_state="session",
            help="Sample cities, or your own: upload a file on the Data page.",
        )
        st.markdown(f":small[:gray[{escaped(place.size)}{_kept(place)}]]", width="content")
        places = most_facilities(place.residents, address.MOST_FACILITIES)
        if address.get("k") > places:
            session.notice(
                f"{place.title} has only {places} {'place' if places == 1 else 'places'}: the number of "
                f"facilities is set to {places}."
            )
            address.put("k", places)
        st.number_input(
            "Facilities to site" if place.existing is None else "New facilities to site",
            min_value=1,
            max_value=places,
            step=1,
            key="k",
            persist_state="session",
            help="How many to open. Facilities that exist already are added on the Data page and come on top."
            if place.existing is None
            else f"How many to open beside the {place.existing.words}, which stay where they are.",
        )
    return place


def _kept(place: session.City) -> str:
    """What becomes of existing facilities, if there are any."""
    if place.existing is not None:
        return f"; {place.existing.words} stay" + ("s" if len(place.existing) == 1 else "")
    elsewhere = session.existing()
    return "" if elsewhere is None else f"; your {elsewhere.words} are elsewhere and not used here"


def _title(key: str, place: session.City) -> str:
    if key == address.UPLOAD:
        return place.title if place.saved is None else f"Opened plan: {place.title}"
    sample = find_sample(key)
    return sample.title if sample else key


def wishes(plan: Plan) -> None:
    """Budget, units and the map; none of them computes anything anew, only the figures are redrawn."""
    with st.sidebar:
        st.slider(
            "Accept at most this much more average distance",
            min_value=0,
            max_value=50,
            step=1,
            format="+%d %%",
            key="budget",
            persist_state="session",
        )
        with st.container(horizontal=True, gap="small"):
            st.button(
                "To budget",
                key="to_budget",
                icon=":material/target:",
                on_click=_turn,
                args=(plan, "budget"),
                help="Turns the dial to the fairest plan within your budget: the shortest longest trip.",
                width="stretch",
            )
            st.button(
                "Suggest",
                key="suggest",
                icon=":material/lightbulb:",
                on_click=_turn,
                args=(plan, "knee"),
                help="Turns the dial to the knee of the trade-off: beyond it, fairness starts to cost more "
                "than it brings.",
                width="stretch",
            )
    units_and_standard()
    with st.sidebar:
        st.selectbox(
            "Colour by",
            list(COLOUR_WORDS),
            format_func=COLOUR_WORDS.__getitem__,
            key="colour",
            persist_state="session",
        )
        st.pills(
            "Show on map",
            list(LAYERS),
            format_func=LAYER_WORDS.__getitem__,
            selection_mode="multi",
            key="show",
            persist_state="session",
        )
        if config().offline_maps:
            return
        st.segmented_control(
            "Ground",
            ["plain", "streets"],
            format_func={"plain": "Plain (offline)", "streets": "Streets"}.__getitem__,
            key="ground",
            required=True,
            persist_state="session",
            width="stretch",
            help="Streets are loaded from Carto over the internet; the plain ground needs no network.",
        )


def units_and_standard() -> None:
    """Kilometres or miles, and the service standard."""
    with st.sidebar:
        standard, units = st.columns([1.25, 1], vertical_alignment="bottom")
        standard.number_input(
            f"Standard, {address.get('units')}",
            min_value=0.1,
            max_value=1000.0,
            step=1.0,
            format="%g",
            key="standard",
            persist_state="session",
            help="Your service standard: everyone should have a facility within this distance.",
        )
        units.segmented_control(
            "Units",
            list(METRES),
            key="units",
            required=True,
            persist_state="session",
            on_change=_convert,
            width="stretch",
        )
        st.session_state["units_before"] = address.get("units")


def _convert() -> None:
    """Keep the service standard the same distance when the units change."""
    before, now = st.session_state["units_before"], address.get("units")
    address.put("standard", round(address.get("standard") * METRES[before] / METRES[now], 1))


def _turn(plan: Plan, where: str) -> None:
    """Turn the dial to the budget or to the knee."""
    i = plan.within_budget(address.get("budget")) if where == "budget" else plan.knee()
    st.session_state["playing"] = False
    address.put("t", float(plan.t[i]))
