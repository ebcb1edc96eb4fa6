"""The sidebar: the problem (who, how many) and the wishes (the accepted average, units, the map)."""

import streamlit as st

from pages.serving.city import City
from pages.serving.config import config
from pages.serving.plan_settings import MOST_FACILITIES, UPLOAD
from pages.session import address, cities, dial, kept_plans, notices, references, screen, state
from pages.session.markdown import escaped
from pages.widgets import catchments
from tkm_core.figures import LAYERS
from tkm_core.planning import Plan, most_facilities
from tkm_core.residents import SAMPLES, Existing, find_sample
from tkm_core.units import LENGTHS, METRES, shown_standard
from tkm_core.wording import dial_text

STANDARD = "standard"  # the widget: a number in the units that are shown
LAYER_WORDS = {
    "areas": "Service areas",
    "paths": "Facility paths",
    "baseline": "Compared with",
    "farthest": "Farthest",
}
COLOUR_WORDS = {
    "facility": "Facility that serves them",
    "distance": "Distance to it",
    "change": "Gain or loss",
}


def problem() -> City:
    """Which residents, and how many facilities for them."""
    place = cities.current()
    most = most_new(place)
    least = 0 if place.existing is not None else 1
    _fit_count(place, least, most)
    if screen.presenting():
        return place
    with st.sidebar:
        options = list(SAMPLES)
        current = address.get("dataset")
        if current not in options:
            options.append(current)
        st.selectbox(
            "Data set",
            options,
            format_func=lambda key: _title(key, place),
            key="dataset",
            persist_state="session",
            help="Sample cities, or your own: upload a file on the Data page.",
        )
        st.markdown(f":small[:gray[{escaped(place.size)}{_kept(place)}]]", width="content")
        st.number_input(
            "Facilities to site" if place.existing is None else "New facilities to site",
            min_value=least,
            max_value=most,
            step=1,
            key="k",
            persist_state="session",
            help="How many to open. Existing facilities are added on the Data page and come on top."
            if place.existing is None
            else f"How many to open beside the {place.existing.words}. With 0 you see how things stand today.",
        )
        if place.existing is not None:
            _closing(place.existing)
    return place


def _fit_count(place: City, least: int, most: int) -> None:
    """Bring the number of facilities into what this city can have, and say so."""
    if address.get("k") > most:
        notices.add(
            f"{place.title} has only {most} {'place' if most == 1 else 'places'}: the number of "
            f"facilities is set to {most}."
        )
        address.put("k", most)
    if address.get("k") < least:
        notices.add(
            "No facility exists here, so at least one has to be opened: the number of facilities is set to 1."
        )
        address.put("k", least)


def _closing(existing: Existing) -> None:
    """Which existing facilities the plan closes, by number and name."""

    def words(number: int) -> str:
        name = " ".join(existing.names[number - 1].split()) if existing.names else ""
        return f"{number} {name}".strip()

    st.multiselect(
        "Existing facilities to close",
        range(1, len(existing) + 1),
        format_func=words,
        key="closed",
        persist_state="session",
        placeholder="None",
        select_all=False,
        help="By the number on the map and the name from your file; type to search. Those who went there go to the "
        "nearest facility that stays or is new.",
    )


def reference(place: City) -> None:
    """What the plan is compared with."""
    if screen.presenting():
        return
    with st.sidebar:
        compare_with(place)


def keep(plan: Plan) -> None:
    """Keep the plan as it stands, to compare others with it."""
    if screen.presenting():
        return
    with st.sidebar:
        st.button(
            "Keep this plan to compare",
            key="keep_plan",
            icon=":material/bookmark_add:",
            on_click=_keep,
            args=(plan,),
            help="It is then offered under “Compare with”, and the Compare page shows two kept plans side by side.",
            width="stretch",
        )


def _keep(plan: Plan) -> None:
    kept = kept_plans.keep(plan)
    st.toast(escaped(f"Kept as {kept.words}."), icon=":material/bookmark_added:")


def most_new(place: City) -> int:
    """How many facilities can be opened: one for each place, or for each candidate site."""
    sites = place.rules.sites
    free = MOST_FACILITIES if sites is None else min(len(sites), MOST_FACILITIES)
    return most_facilities(place.residents, free)


def _kept(place: City) -> str:
    """What becomes of existing facilities, if there are any."""
    if place.existing is not None:
        return f"; {place.existing.words}"
    elsewhere = cities.existing()
    if elsewhere is None:
        return ""
    return f"; your {elsewhere.words} {'is' if len(elsewhere) == 1 else 'are'} elsewhere and not used here"


def _title(key: str, place: City) -> str:
    if key == UPLOAD:
        return place.title if place.saved is None else f"Opened plan: {place.title}"
    sample = find_sample(key)
    return sample.title if sample else key


def wishes(place: City, plan: Plan) -> None:
    """The accepted average trip, units and the map: nothing is computed anew, only the figures are redrawn."""
    if screen.presenting():
        return
    if plan.k:
        _budget(plan)
    units_and_standard(place)
    colour()
    with st.sidebar:
        st.pills(
            "Show on map",
            list(LAYERS),
            format_func=LAYER_WORDS.__getitem__,
            selection_mode="multi",
            key="show",
            persist_state="session",
        )
    catchments.select(plan)
    with st.sidebar:
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


def colour() -> None:
    """What the colour of residents on the map tells."""
    with st.sidebar:
        st.selectbox(
            "Colour by",
            list(COLOUR_WORDS),
            format_func=COLOUR_WORDS.__getitem__,
            key="colour",
            persist_state="session",
        )


def _budget(plan: Plan) -> None:
    """How much longer the average trip may get, and the two settings of the dial that can be asked for."""
    with st.sidebar:
        st.slider(
            "Accept an average trip longer by up to",
            min_value=0,
            max_value=50,
            step=1,
            format="+%d %%",
            key="budget",
            persist_state="session",
            help="How much longer than in the lowest-average plan the average trip may get, in percent.",
        )
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Fairest within",
                key="to_budget",
                icon=":material/target:",
                on_click=_turn,
                args=(plan, "budget"),
                help="Turns the dial to the fairest plan whose average trip is no longer than that: the one whose "
                "longest trip is shortest.",
                width="stretch",
            )
            st.button(
                "Suggest",
                key="suggest",
                icon=":material/lightbulb:",
                on_click=_turn,
                args=(plan, "knee"),
                help="Turns the dial to the bend of the trade-off curve (its knee): beyond it, shortening "
                "the longest trip starts to cost more average distance than it brings.",
                width="stretch",
            )


def units_and_standard(place: City) -> None:
    """Kilometres or miles, and the service standard; in minutes where travel times are measured."""
    with st.sidebar:
        if place.rules.unit == "min":
            st.number_input(
                "Standard, minutes",
                min_value=0.5,
                max_value=600.0,
                step=1.0,
                format="%g",
                key="minutes",
                persist_state="session",
                help="Your service standard: everyone should reach a facility within this time.",
            )
            return
        with st.container(
            horizontal=True, vertical_alignment="bottom", gap="small"
        ):  # wraps where it is narrow
            units = address.get("units")
            state.set_widget(STANDARD, shown_standard(address.get("standard"), units))
            st.number_input(
                f"Standard, {units}",
                min_value=0.01,
                max_value=2000.0,
                step=0.5,
                format="%g",
                key=STANDARD,
                on_change=_set_standard,
                help="Your service standard: everyone should have a facility within this distance. "
                "It begins with a round distance that fits the city; set your own.",
                width=108,
            )
            st.segmented_control(
                "Units",
                list(LENGTHS),
                key="units",
                required=True,
                persist_state="session",
            )


def _set_standard() -> None:
    """Take over the standard that was typed; a change of units alone never changes it."""
    address.put("standard", float(state.widget(STANDARD)) * METRES[address.get("units")])


def _turn(plan: Plan, where: str) -> None:
    """Turn the dial to the fairest accepted plan or to the knee; where it stands there already, say so."""
    i = plan.within_budget(address.get("budget")) if where == "budget" else plan.knee()
    if i == plan.index(dial.setting(plan)):
        found = "the fairest plan that you accept" if where == "budget" else "the suggested plan"
        st.toast(f"The dial is already at {found}: t = {dial_text(plan.t[i])}.", icon=":material/check:")
    dial.turn_to(float(plan.t[i]))


def compare_with(place: City) -> None:
    """Choose what every plan is compared with."""
    references.chosen(place)
    offered, kept = references.options(place), kept_plans.known(place)

    def words(token: str) -> str:
        if token in kept:
            return kept[token].words
        named = {
            "today": "Today",
            "average": "Lowest average (k-means++)",
            "straight": "By straight lines (k-means++)",
        }
        return named.get(offered[token].kind, offered[token].heading)

    st.selectbox(
        "Compare with",
        list(offered),
        format_func=words,
        key="against",
        persist_state="session",
        help="Sentence, table, map, charts, report and downloads all say what changes against this. "
        "To compare with another plan, keep it with the button below first.",
    )


def dial_slider(label: str, plan: Plan | None = None) -> float:
    """Draw the fairness dial as a slider, once on a page; the Plan page has its live map instead."""
    t = dial.setting(plan)
    if t != address.get("t"):
        address.put("t", t)
    return st.select_slider(
        label,
        options=dial.stops(plan),
        format_func=lambda t: f"t = {dial_text(t)}",
        key="t",
        persist_state="session",
    )
