"""What is in the address: read once per visit, written when something changes, and forgiving when it is broken."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from pages.serving.config import config
from tkm_core.figures import COLOURS, FAIRNESS, LAYERS, UTILITY
from tkm_core.planning import PLAN_T
from tkm_core.residents import SAMPLES, find_sample
from tkm_core.units import METRES

UPLOAD = "upload"
MOST_FACILITIES = config().most_facilities
LARGEST_CITY = min(
    2_000_000, config().most_residents
)  # residents of a generated city that a link may ask for
DIAL = tuple(float(t) for t in PLAN_T)


def _dataset(text: str) -> str:
    sample = find_sample(text)
    if text == UPLOAD or (sample is not None and sample.size <= LARGEST_CITY):
        return text
    msg = f"there is no data set “{text[:40]}”"
    raise ValueError(msg)


def _token(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]{22,64}", text):
        return text
    msg = "a part that names uploaded data is damaged"
    raise ValueError(msg)


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= MOST_FACILITIES:
        msg = (
            f"the number of facilities must be a whole number from 1 to {MOST_FACILITIES}, not “{text[:20]}”"
        )
        raise ValueError(msg)
    return int(text)


def nearest_on_dial(t: float) -> float:
    """The t on the dial that is nearest in proportion; the dial ends at 0 and 100."""
    if t < DIAL[1] / 2:
        return DIAL[0]
    return DIAL[1:][int(np.argmin(np.abs(np.log(DIAL[1:]) - math.log(t))))]


def _dial(text: str) -> float:
    try:
        t = float(text)
    except ValueError:
        t = math.nan
    if not (math.isfinite(t) and t >= 0):
        msg = f"t must be a number from 0 to {DIAL[-1]:g}, not “{text[:20]}”"
        raise ValueError(msg)
    return nearest_on_dial(t)


def _amount(low: float, high: float, what: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            msg = f"{what} must be a number from {low:g} to {high:g}, not “{text[:20]}”"
            raise ValueError(msg)
        return value

    return read


def _one_of(names: tuple[str, ...], what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            msg = f"{what} is one of {', '.join(names)}, not “{text[:20]}”"
            raise ValueError(msg)
        return text

    return read


def _layers(text: str) -> list[str]:
    names = [name for name in text.split(".") if name]
    if not set(names) <= set(LAYERS):
        msg = f"the map can show {', '.join(LAYERS)}, not “{text[:40]}”"
        raise ValueError(msg)
    return [name for name in LAYERS if name in names]


def _write(value: Any) -> str:
    if isinstance(value, list):
        return ".".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Field:
    """One thing in the address: what it is by default and how its text is read."""

    default: Any
    read: Callable[[str], Any]


# The names are the keys of the widgets, too.
FIELDS: dict[str, Field] = {
    "dataset": Field(next(iter(SAMPLES)), _dataset),
    "upload": Field("", _token),
    "existing": Field("", _token),
    "k": Field(min(6, MOST_FACILITIES), _count),
    "t": Field(0.25, _dial),
    "units": Field("km", _one_of(tuple(METRES), "units")),
    "standard": Field(10.0, _amount(0.1, 1000, "the service standard")),
    "budget": Field(10, lambda text: int(_amount(0, 50, "the budget")(text))),
    "colour": Field("facility", _one_of(COLOURS, "the colour")),
    "show": Field(list(LAYERS), _layers),
    "ground": Field("plain", _one_of(("plain", "streets"), "the ground")),
    "x": Field("mean_distance", _one_of(tuple(UTILITY), "the chart's x")),
    "y": Field("largest_distance", _one_of(tuple(FAIRNESS), "the chart's y")),
}
# Streamlit keeps the file uploader's own state under its key: the token of the data lives beside it.
HELD = {name: name if name != "upload" else "upload_token" for name in FIELDS}


def get(name: str) -> Any:
    """The current value of a field."""
    return st.session_state[HELD[name]]


def put(name: str, value: Any) -> None:
    """Set a field, before its widget is drawn or in a callback."""
    st.session_state[HELD[name]] = value


def read() -> list[str]:
    """Take over what the address says; returns a sentence for everything in it that cannot be.

    An address without parameters never resets work: moving to another page starts with one. When the address
    changes on the same page (back, forward), what it names is taken over and the rest goes back to its default.
    """
    told = st.query_params.to_dict()
    seen = st.session_state.get("address_seen")
    first = seen is None
    problems: list[str] = []
    if first or (told and told != seen):
        for name, field in FIELDS.items():
            value = field.default
            if name in told:
                try:
                    value = field.read(told[name])
                except ValueError as problem:
                    problems.append(str(problem))
            put(name, value)
    for name in FIELDS:
        if HELD[name] in st.session_state:
            put(name, st.session_state[HELD[name]])  # keeps it while its widget is not on the page
        else:
            put(name, FIELDS[name].default)
    st.session_state["address_seen"] = told
    return problems


def query() -> dict[str, str]:
    """What belongs in the address now: everything that is not at its default."""
    return {name: _write(get(name)) for name in FIELDS if _write(get(name)) != _write(FIELDS[name].default)}


def write() -> None:
    """Put the current state into the address, if the address does not say the same already.

    A part of the page that redraws quickly is told an address older than the one written last, which is on its way.
    """
    now, told = query(), st.query_params.to_dict()
    if settled() and (now == told or (not now and not _says_anything_else(told))):
        return
    st.query_params.from_dict(now)
    st.session_state["address_seen"] = now


def settled() -> bool:
    """Whether the browser's address is the one written last.

    A run of a part of the page may have been asked for before that. The whole page, begun from it with ``st.rerun``,
    would take its older address for a wish to go back.
    """
    return st.query_params.to_dict() == st.session_state.get("address_seen")


def _says_anything_else(told: dict[str, str]) -> bool:
    """Whether an address, read as a link, would give another state than the current one."""
    for name, field in FIELDS.items():
        try:
            value = field.read(told[name]) if name in told else field.default
        except ValueError:
            value = field.default
        if _write(value) != _write(get(name)):
            return True
    return False


def link() -> str:
    """The address of the landing page that shows exactly this plan."""
    from urllib.parse import urlencode, urlsplit

    parts = urlsplit(st.context.url or "")
    path = st.get_option("server.baseUrlPath").strip("/")  # where a proxy serves the app
    here = (f"{parts.scheme}://{parts.netloc}" if parts.netloc else "") + (f"/{path}/" if path else "/")
    return here + (f"?{urlencode(query())}" if query() else "")
