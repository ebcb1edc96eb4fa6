"""What is in the address: read once per visit, written when something changes, and forgiving when it is broken."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.serving.config import config
from pages.serving.jobs.tasks import USUAL_T
from pages.shared import state
from tkm_core.figures import COLOURS, FAIRNESS, LAYERS, UTILITY
from tkm_core.residents import SAMPLES, find_sample
from tkm_core.units import LENGTHS, METRES

UPLOAD = "upload"
LOWEST = "lowest"  # to compare with: the plan with the lowest average
AGAINST = ("", "today", "average", "straight")  # what a plan is compared with, kept plans apart
MOST_FACILITIES = config().most_facilities
LARGEST_CITY = min(
    2_000_000, config().most_residents
)  # residents of a generated city that a link may ask for


def _dataset(text: str) -> str:
    sample = find_sample(text)
    if text == UPLOAD or (sample is not None and sample.size <= LARGEST_CITY):
        return text
    msg = f"there is no data set “{text[:40]}”"
    raise ValueError(msg)


def _token(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]{22,64}", text):
        return text
    msg = "a part that names uploaded data or a kept plan is damaged"
    raise ValueError(msg)


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MOST_FACILITIES:
        msg = (
            f"the number of facilities must be a whole number from 0 to {MOST_FACILITIES}, not “{text[:20]}”"
        )
        raise ValueError(msg)
    return int(text)  # 0 only where facilities exist: the sidebar looks


def _dial(text: str) -> float:
    try:
        t = float(text)
    except ValueError:
        t = math.nan
    if not t >= 0:
        msg = f"t must be a number from 0 upwards, or inf, not “{text[:20]}”"
        raise ValueError(msg)
    return t  # dial.py finds the setting that is nearest to it


def _from_sample(text: str) -> str:
    """The token of something kept, or the word for what came with the sample."""
    return text if text == "sample" else _kept(text)


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


def _standard(text: str) -> tuple[float, str]:
    """A service standard and its unit: "3km"; a bare number is in the units of the same link."""
    found = re.fullmatch(r"(.*?)(km|mi|)", text, re.DOTALL)
    amount, unit = found.groups() if found else (text, "")
    return _amount(0.01, 2000, "the service standard")(amount), unit


def _one_of(names: tuple[str, ...], what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            can = f"must be one of {', '.join(names)}" if len(names) > 1 else f"can only be {names[0]}"
            msg = f"{what} {can}, not “{text[:20]}”"
            raise ValueError(msg)
        return text

    return read


def _layers(text: str) -> list[str]:
    names = [name for name in text.split(".") if name]
    if not set(names) <= set(LAYERS):
        msg = f"the map can show {', '.join(LAYERS)}, not “{text[:40]}”"
        raise ValueError(msg)
    return [name for name in LAYERS if name in names]


def _pins(text: str) -> list[tuple[float, float]]:
    """Facilities pinned by hand, as longitude and latitude: "-121.3,38.5_-121.4,38.6"."""
    pins = []
    for part in text.split("_"):
        try:
            lon, lat = (float(number) for number in part.split(","))
        except ValueError:
            lon = lat = math.nan
        if not (-180 <= lon <= 180 and -85 <= lat <= 85):
            msg = f"a pinned facility needs longitude and latitude, not “{part[:30]}”"
            raise ValueError(msg)
        pins.append((round(lon, 5), round(lat, 5)))
    return pins[:MOST_FACILITIES]


def _closed(text: str) -> list[int]:
    """Existing facilities that the plan closes, by the numbers on the map: "2.17"."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}(\.[1-9][0-9]{0,5})*", text):
        msg = f"closed facilities are given by their numbers, such as 2.17, not “{text[:30]}”"
        raise ValueError(msg)
    return sorted({int(number) for number in text.split(".")})


def _against(text: str) -> str:
    if text in AGAINST:
        return text
    return _kept(text)


def _kept(text: str) -> str:
    """The token of a plan that was kept to compare, or "" for the plan of the Plan page."""
    return _token(text) if text else ""


def _compared(text: str) -> str:
    """The token of a kept plan, the word for the plan at the lower end of the dial, or "" for that of the Plan page."""
    return text if text == LOWEST else _kept(text)


def _write(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return "_".join(f"{lon:.5f},{lat:.5f}" for lon, lat in value)
    if isinstance(value, list):
        return ".".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Field:
    """One thing in the address: what it is by default and how its text is read."""

    default: Any
    read: Callable[[str], Any]


# The names are the keys of the widgets, too. The standard is in metres, whatever the units; 0 is none:
# `screen.fit_standard` chooses one.
FIELDS: dict[str, Field] = {
    "dataset": Field(next(iter(SAMPLES)), _dataset),
    "upload": Field("", _token),
    "existing": Field("", _token),
    "project": Field("", _token),
    "scenario": Field("", _token),
    "k": Field(min(6, MOST_FACILITIES), _count),
    "t": Field(USUAL_T, _dial),
    "pins": Field([], _pins),
    "closed": Field([], _closed),
    "against": Field("", _against),
    "places": Field("", _from_sample),
    "roads": Field("", _kept),
    "table": Field("", _from_sample),
    "by": Field("straight", _one_of(("straight", "walk", "bicycle", "car", "table"), "the way of measuring")),
    "measure": Field("minutes", _one_of(("minutes", "metres"), "the measure along streets")),
    "direction": Field("there", _one_of(("there", "back"), "the direction of travel")),
    "most": Field(0, lambda text: int(_amount(0, 1e9, "the most people a facility can serve")(text))),
    "least": Field(0, lambda text: int(_amount(0, 1e9, "the fewest people a facility can serve")(text))),
    "equal": Field("", _one_of(("1",), "equal groups")),
    "minutes": Field(15.0, _amount(0.5, 600, "the service standard")),
    "units": Field("km", _one_of(LENGTHS, "the unit of length")),
    "standard": Field(0.0, _standard),
    "budget": Field(10, lambda text: int(_amount(0, 50, "how much longer the average trip may get")(text))),
    "colour": Field("facility", _one_of(COLOURS, "what the colour shows")),
    "show": Field(list(LAYERS), _layers),
    "ground": Field("plain", _one_of(("plain", "streets"), "the ground of the map")),
    "x": Field("mean_distance", _one_of(tuple(UTILITY), "the measure across the chart")),
    "y": Field("largest_distance", _one_of(tuple(FAIRNESS), "the measure up the chart")),
    "compare": Field("plans", _one_of(("plans", "methods"), "the comparison")),
    "a": Field("", _compared),
    "b": Field("", _compared),
    "present": Field("", _one_of(("1",), "the presentation")),
}
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
        values, problems = _values(told)
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
    return {name: _text(name) for name in FIELDS if _write(get(name)) != _write(_default(name))}


def _values(told: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Read an address: the value of every field, and what is wrong; what it does not say is at its default."""
    values, problems = {name: field.default for name, field in FIELDS.items()}, []
    for name, text in told.items():
        if name in FIELDS:
            try:
                values[name] = FIELDS[name].read(text)
            except ValueError as problem:
                problems.append(str(problem))
    if values["standard"]:
        amount, unit = values["standard"]
        values["standard"] = amount * METRES[unit or values["units"]]
    return values, problems


def _text(name: str) -> str:
    """A field as it stands in the address."""
    value = get(name)
    if name != "standard" or not value:
        return _write(value)
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
    values, _ = _values(told)
    return any(
        _write(value if name in told else _default(name)) != _write(get(name))
        for name, value in values.items()
    )


def everything() -> dict[str, str]:
    """All settings of the plan, those at their defaults included: a later version may have other defaults."""
    told = {name: _text(name) for name in FIELDS if name not in (*PRIVATE, "compare", "a", "b", "present")}
    if told["against"] not in AGAINST:
        told["against"] = ""  # a plan that was kept for this visit only
    return {name: text for name, text in told.items() if text}


def understood(told: Mapping[str, str]) -> dict[str, Any]:
    """What a saved address says, as values; what it does not say, or what is not valid, is at its default."""
    return _values({name: text for name, text in told.items() if text})[0]


def take(told: Mapping[str, str]) -> None:
    """Set every field to what a saved address says; what it does not say goes to its default."""
    state.visit().fitted, state.visit().city = None, ""  # what was saved is somebody's choice
    state.visit().untouched_t = math.nan
    for name, value in understood(told).items():
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
