"""Read and write the settings of a plan as text: those of a link, a saved scenario or a call of the HTTP API."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pages.serving.config import config
from pages.serving.jobs.tasks import USUAL_T
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


def write_value(value: Any) -> str:
    """Write a value as it stands in a link."""
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


def read_settings(settings: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Read settings: the value of every field, its default if not valid or not named, and what is not valid."""
    values, problems = {name: field.default for name, field in FIELDS.items()}, []
    for name, text in settings.items():
        if name in FIELDS:
            try:
                values[name] = FIELDS[name].read(text)
            except ValueError as problem:
                problems.append(str(problem))
    if values["standard"]:
        amount, unit = values["standard"]
        values["standard"] = amount * METRES[unit or values["units"]]
    return values, problems


def valid_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Read saved settings as values; one that is missing or not valid is at its default."""
    return read_settings({name: text for name, text in settings.items() if text})[0]
