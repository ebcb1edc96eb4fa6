"""The description of a plan: every setting reads its own text again, and all who spell settings agree with it."""

import math

import numpy as np
import pytest

from pages.serving.api.messages import PlanWish
from pages.serving.plan_settings import FIELDS, read_settings, write_value
from tkm_core.cli import arguments
from tkm_core.planning import NAMING_DATA, PLANNED, SETTINGS, USUAL_T, PlanSpec, content_key
from tkm_core.residents import Existing, Report, Residents

TOKEN = "aB3_-" * 6
OTHER = {
    "dataset": "upload",
    "upload": TOKEN,
    "existing": TOKEN,
    "k": 9,
    "t": math.inf,
    "pins": ((-121.3, 38.5), (-121.45678, 38.6)),
    "closed": (2, 17),
    "against": "today",
    "places": "sample",
    "roads": TOKEN,
    "table": "sample",
    "by": "bicycle",
    "measure": "metres",
    "direction": "back",
    "most": 60_000,
    "least": 10,
    "equal": "1",
}


def test_every_setting_has_a_case():
    assert list(OTHER) == list(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_reads_its_own_text_and_so_does_the_address(name):
    asked = PlanSpec(**{name: OTHER[name]})
    text = asked.to_text()
    assert list(text) == [name]
    assert PlanSpec.from_text(text) == asked != PlanSpec()
    values, problems = read_settings(text)
    assert not problems
    value = values[name]
    assert (tuple(value) if isinstance(value, list) else value) == OTHER[name]
    assert write_value(value) == text[name]
    assert asked.same_facilities(PlanSpec()) == (name not in PLANNED)
    (line,) = PlanSpec().differences(asked)
    assert line.startswith(f"{SETTINGS[name].words}: ") and TOKEN not in line


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_are_the_same_in_an_address_and_over_http(name):
    one = SETTINGS[name]
    assert FIELDS[name].default == one.default
    if name in ("upload", "against"):  # over HTTP a token is the data set; each plan is compared as usual
        return
    field = PlanWish.model_fields[one.alias or name]
    assert field.is_required() or (field.default or one.default) == one.default
    assert not field.is_required() or name in ("dataset", "k")


@pytest.mark.parametrize(("name", "option"), [("measure", "measure"), ("direction", "direction"), ("t", "t")])
def test_defaults_are_the_same_on_the_command_line(name, option):
    read = arguments.parser(lambda _: 0, lambda _: 0).parse_args(["compare", "x"])
    assert getattr(read, option) == SETTINGS[name].default
    assert arguments.USUAL_T == USUAL_T == PlanWish.model_fields["t"].default


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("k", -1, "whole number from 0"),
        ("k", "many", "whole number from 0"),
        ("t", -0.1, "t must be a number from 0 upwards"),
        ("t", math.nan, "t must be a number from 0 upwards"),
        ("dataset", "atlantis", "there is no data set “atlantis”"),
        ("upload", "short", "damaged"),
        ("pins", ((0.0, 89.0),), "longitude and latitude"),
        ("closed", (0,), "by their numbers"),
        ("by", "balloon", "must be one of straight, walk"),
        ("most", -5, "must be a number from 0"),
        ("equal", "yes", "can only be 1"),
    ],
)
def test_what_cannot_be_is_said(name, value, said):
    with pytest.raises(ValueError, match=said):
        PlanSpec(**{name: value})


def test_tokens_are_found():
    assert NAMING_DATA == ("upload", "existing", "places", "roads", "table")


def test_the_content_key_changes_with_each_part():
    city = Residents.from_lonlat([[2.1, 48.8], [2.2, 48.9], [2.3, 48.7]])
    more = Residents.from_lonlat([[2.1, 48.8], [2.2, 48.9], [2.3, 48.71]])
    there = Existing(np.array([[2.15, 48.85], [2.2, 48.8]]), (), Report())
    keys = {
        content_key(city),
        content_key(more),
        content_key(city, closed=[0]),
        content_key(city, closed=[1]),
    }
    assert len(keys) == 4
    assert content_key(city, there) not in keys
    assert content_key(city, closed=[1, 0]) == content_key(city, closed=[0, 1])
