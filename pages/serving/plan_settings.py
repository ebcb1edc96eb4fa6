"""Read and write the settings of a plan as text: those of a link, a saved scenario or a call of the HTTP API."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pages.serving.config import config
from tkm_core.figures import COLOURS, FAIRNESS, LAYERS, UTILITY
from tkm_core.planning import SETTINGS
from tkm_core.planning import settings as forms
from tkm_core.residents import find_sample
from tkm_core.units import LENGTHS, METRES

UPLOAD = forms.UPLOAD
LOWEST = "lowest"  # to compare with: the plan with the lowest average
MOST_FACILITIES = config().most_facilities
LARGEST_CITY = min(
    2_000_000, config().most_residents
)  # residents of a generated city that a link may ask for


class _City(forms.City):
    """The key of a sample that this server plans for, or the word for an upload."""

    def read(self, text: str) -> str:
        """The key."""
        sample = find_sample(super().read(text))
        if sample is None or sample.size <= LARGEST_CITY:
            return text
        msg = f"there is no data set “{text[:40]}”"
        raise ValueError(msg)


def _standard(text: str) -> tuple[float, str]:
    """A service standard and its unit: "3km"; a bare number is in the units of the same link."""
    found = re.fullmatch(r"(.*?)(km|mi|)", text, re.DOTALL)
    amount, unit = found.groups() if found else (text, "")
    return forms.Amount(0.01, 2000, "the service standard").read(amount), unit


def _layers(text: str) -> list[str]:
    names = [name for name in text.split(".") if name]
    if not set(names) <= set(LAYERS):
        msg = f"the map can show {', '.join(LAYERS)}, not “{text[:40]}”"
        raise ValueError(msg)
    return [name for name in LAYERS if name in names]


def write_value(value: Any) -> str:
    """Write a value as it stands in a link."""
    if isinstance(value, list):
        return (forms.Points() if value and isinstance(value[0], tuple) else forms.Numbers()).write(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Field:
    """One thing in the address: what it is by default and how its text is read."""

    default: Any
    read: Callable[[str], Any]


def _of_plan() -> dict[str, Field]:
    """The settings of a plan, within the limits of this server."""
    found = {name: Field(one.default, one.kind.read) for name, one in SETTINGS.items()}
    count = forms.Count(
        0, MOST_FACILITIES, "the number of facilities"
    )  # 0 only where facilities exist: the sidebar looks
    return found | {
        "dataset": Field(SETTINGS["dataset"].default, _City().read),
        "k": Field(min(SETTINGS["k"].default, MOST_FACILITIES), count.read),
        "pins": Field([], lambda text: forms.Points().read(text)[:MOST_FACILITIES]),
    }


# The names are the keys of the widgets, too. The standard is in metres, whatever the units; 0 is none:
# `screen.fit_standard` chooses one.
FIELDS: dict[str, Field] = {
    **_of_plan(),
    "project": Field("", forms.Data(()).read),
    "scenario": Field("", forms.Data(()).read),
    "minutes": Field(15.0, forms.Amount(0.5, 600, "the service standard").read),
    "units": Field("km", forms.Choice(LENGTHS, "the unit of length").read),
    "standard": Field(0.0, _standard),
    "budget": Field(10, forms.Amount(0, 50, "how much longer the average trip may get", whole=True).read),
    "colour": Field("facility", forms.Choice(COLOURS, "what the colour shows").read),
    "show": Field(list(LAYERS), _layers),
    "ground": Field("plain", forms.Choice(("plain", "streets"), "the ground of the map").read),
    "x": Field("mean_distance", forms.Choice(tuple(UTILITY), "the measure across the chart").read),
    "y": Field("largest_distance", forms.Choice(tuple(FAIRNESS), "the measure up the chart").read),
    "compare": Field("plans", forms.Choice(("plans", "methods"), "the comparison").read),
    "a": Field("", forms.Data(("", LOWEST)).read),
    "b": Field("", forms.Data(("", LOWEST)).read),
    "present": Field("", forms.Flag("the presentation").read),
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
