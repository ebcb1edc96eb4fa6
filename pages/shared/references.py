"""What plans are compared with: today, the lowest-average plan, or a plan that was kept. Every page follows it."""

import streamlit as st

from pages.shared import address, cities, kept_plans, notices
from tkm_core.planning import AVERAGE, BY_STRAIGHT_LINES, NONE_EXISTING, TODAY, Reference, usual_reference


def options(place: cities.City) -> dict[str, Reference]:
    """What can be chosen, by its word in the address; the usual one has none."""
    usual = usual_reference(place.existing or NONE_EXISTING)
    first = usual if place.saved is None else place.saved.reference  # an opened plan opens as it was
    other = {one.kind: one for one in (usual, AVERAGE) if one != first}
    if not place.rules.straight:
        other["straight"] = BY_STRAIGHT_LINES
    return {
        "": first,
        **other,
        **{token: kept.reference for token, kept in kept_plans.known(place).items()},
    }


def chosen(place: cities.City) -> Reference:
    """What the address names; the usual one, with a notice, where that cannot be."""
    offered, asked = options(place), address.get("against")
    if asked not in offered:
        if asked == "today" and offered[""] is not TODAY:
            notices.add("No facility exists here today: the plan is compared with the lowest-average plan.")
        elif asked not in address.AGAINST:
            notices.add(
                "The kept plan of this link is no longer here, or it was made for other data. "
                f"The plan is compared with {offered[''].words}."
            )
        asked = ""
        address.put("against", asked)
    return offered[asked]


def select(place: cities.City) -> None:
    """The choice itself."""
    chosen(place)
    offered, kept = options(place), kept_plans.known(place)

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
