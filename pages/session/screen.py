"""What the visitor looks at: theme, phone or desk, and the settings that only change how things are drawn."""

import streamlit as st

from pages.serving.city import City
from pages.serving.config import config
from pages.session import address, state
from tkm_core.figures import Look
from tkm_core.planning import usual_standard
from tkm_core.units import KINDS, METRES


def look(place: City) -> Look:
    """How figures of a city are drawn for this visitor now."""
    return Look(
        theme=theme(),
        unit=unit(place),
        colour=address.get("colour"),
        layers=tuple(address.get("show")),
        streets=address.get("ground") == "streets" and not config().offline_maps,
        people=place.people,
        lengths=address.get("units"),
    )


def unit(place: City) -> str:
    """The unit of trips: the visitor's for distances, minutes for travel times."""
    chosen, possible = address.get("units"), KINDS[place.rules.unit].units
    return chosen if chosen in possible else possible[0]


def theme() -> str:
    """The visitor's theme: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def on_phone() -> bool:
    """Whether the visitor's browser says it is a phone: maps are then fitted to a narrow screen."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def presenting() -> bool:
    """Whether the Plan page is shown to a room: larger type, no sidebar."""
    return bool(address.get("present"))


def fit_standard(place: City) -> None:
    """Begin with a service standard that fits the city; one from the address or by hand stays."""
    visit, count = state.visit(), 0 if place.existing is None else len(place.existing)
    units = address.get("units")
    fits = usual_standard(place.residents, address.get("k") + count, units) * METRES[units]
    city, visit.usual_standard = (place.key, count), fits
    chosen = address.get("standard")
    untouched = visit.fitted is not None and visit.fitted[1] == chosen
    if not chosen or (untouched and visit.fitted is not None and visit.fitted[0] != city):
        address.put("standard", fits)
        visit.fitted = (city, fits)


def standard(place: City) -> float:
    """The service standard of a city, in metres or minutes."""
    if place.rules.unit == "min":
        return float(address.get("minutes"))
    return standard_metres()


def standard_metres() -> float:
    """The service standard for distances, in metres."""
    return float(address.get("standard"))
