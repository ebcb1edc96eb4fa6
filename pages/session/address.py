"""Read the address once per visit, write it when a setting changes, and forgive what is not valid in it."""

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.serving.jobs.tasks import USUAL_T
from pages.serving.plan_settings import AGAINST, FIELDS, read_settings, valid_settings, write_value
from pages.session import state
from tkm_core.units import LENGTHS, METRES

PRIVATE = (
    "project",
    "scenario",
)  # a project is shared on the Scenarios page, by a link that can be withdrawn
# Streamlit keeps the file uploader's own state under its key: the token of the data lives beside it. The widget of the
# standard has a number in the units that are shown, those of the limits are empty where there is none.
HELD = {name: name for name in FIELDS} | {
    "upload": "upload_token",
    "standard": "standard_metres",
    "most": "most_people",
    "least": "least_people",
}


def get(name: str) -> Any:
    """The current value of a field."""
    return state.widget(HELD[name])


def put(name: str, value: Any) -> None:
    """Set a field, before its widget is drawn or in a callback."""
    state.set_widget(HELD[name], value)


def read() -> list[str]:
    """Take over what the address says; returns a sentence for everything in it that is not valid.

    An address without parameters never resets work: moving to another page starts with one. When the address
    changes on the same page (back, forward), what it names is taken over and the rest goes back to its default.

    Call it before ``st.navigation``: the browser then hears of the parameters before it moves, and moving to another
    page is one step of its history. Otherwise it may be two, and whoever goes back has to do so twice.
    """
    told = st.query_params.to_dict()
    seen = state.visit().address
    first = seen is None
    problems: list[str] = []
    if first or (told and told != seen):
        state.visit().fitted, state.visit().city = None, ""
        state.visit().untouched_t = math.nan if "t" in told else USUAL_T
        values, problems = read_settings(told)
        for name, value in values.items():
            put(name, value)
    for name, field in FIELDS.items():
        put(name, state.widget(HELD[name], field.default))  # keeps it while its widget is not on the page
    state.visit().address = told
    if seen and not told:
        write()
    return problems


def query() -> dict[str, str]:
    """What belongs in the address now: everything that is not at its default."""
    return {name: _text(name) for name in FIELDS if write_value(get(name)) != write_value(_default(name))}


def _text(name: str) -> str:
    """A field as it stands in the address."""
    value = get(name)
    if name != "standard" or not value:
        return write_value(value)
    lengths = sorted(LENGTHS, key=lambda unit: unit != get("units"))
    for unit in lengths:  # a round number in one of them: units never change the standard
        amount = f"{value / METRES[unit]:g}"
        if math.isclose(float(amount) * METRES[unit], value, rel_tol=1e-9):
            return amount if unit == get("units") else f"{amount}{unit}"
    return f"{value / METRES[lengths[0]]:.12g}"


def _default(name: str) -> Any:
    """What a field is where the address does not say; the service standard is the one that fits the city.

    Where something exists, the dial then stands at the suggested plan, so that the address always says where it is.
    """
    if name == "t" and get("existing"):
        return math.nan
    return state.visit().usual_standard if name == "standard" else FIELDS[name].default


def write() -> None:
    """Put the current state into the address, if the address does not say the same already.

    A part of the page that redraws quickly is told an address older than the one written last, which is on its way.
    """
    now, told = query(), st.query_params.to_dict()
    if settled() and (now == told or (not now and not _says_anything_else(told))):
        return
    st.query_params.from_dict(now)
    state.visit().address = now


def settled() -> bool:
    """Whether the browser's address is the one written last.

    A run of a part of the page may have been asked for before that. The whole page, begun from it with ``st.rerun``,
    would take its older address for a wish to go back.
    """
    return st.query_params.to_dict() == state.visit().address


def hold() -> None:
    """Before the whole page is begun again from a part of it: the address it was told is no wish to go back."""
    state.visit().address = st.query_params.to_dict()


def _says_anything_else(told: dict[str, str]) -> bool:
    """Whether an address, read as a link, would give another state than the current one."""
    values, _ = read_settings(told)
    return any(
        write_value(value if name in told else _default(name)) != write_value(get(name))
        for name, value in values.items()
    )


def everything() -> dict[str, str]:
    """All settings of the plan, those at their defaults included: a later version may have other defaults."""
    told = {name: _text(name) for name in FIELDS if name not in (*PRIVATE, "compare", "a", "b", "present")}
    if told["against"] not in AGAINST:
        told["against"] = ""  # a plan that was kept for this visit only
    return {name: text for name, text in told.items() if text}


def take(told: Mapping[str, str]) -> None:
    """Set every field to what a saved address says; what it does not say goes to its default."""
    state.visit().fitted, state.visit().city = None, ""  # what was saved is somebody's choice
    state.visit().untouched_t = math.nan
    for name, value in valid_settings(told).items():
        if name != "project":
            put(name, value)


def link(page: str = "", **more: str) -> str:
    """The address of the landing page that shows exactly this plan; or of another page with its own settings."""
    from urllib.parse import urlencode, urlsplit

    parts = urlsplit(st.context.url or "")
    path = st.get_option("server.baseUrlPath").strip("/")  # where a proxy serves the app
    here = (f"{parts.scheme}://{parts.netloc}" if parts.netloc else "") + (f"/{path}/" if path else "/")
    told = more if page else {name: text for name, text in query().items() if name not in PRIVATE}
    return here + page + (f"?{urlencode(told)}" if told else "")
