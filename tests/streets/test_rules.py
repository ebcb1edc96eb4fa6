"""Who may use which street, in which direction, and how fast."""

from pathlib import Path

import pytest

import tkm_core as tkm
from tkm_core.streets import load_rules, modes
from tkm_core.streets.rules import FASTEST, TABLE

WALK, BIKE = 4.8, 16.0
SHUT = (0.0, 0.0)


@pytest.mark.parametrize(
    ("mode", "tags", "speeds"),
    [
        ("walk", {"highway": "residential"}, (WALK, WALK)),
        ("walk", {"highway": "residential", "oneway": "yes"}, (WALK, WALK)),
        ("walk", {"highway": "footway", "oneway:foot": "yes"}, (WALK, 0.0)),
        ("walk", {"highway": "steps"}, (2.4, 2.4)),
        ("walk", {"highway": "motorway"}, SHUT),
        ("walk", {"highway": "trunk"}, SHUT),
        ("walk", {"highway": "trunk", "foot": "yes"}, (WALK, WALK)),
        ("walk", {"highway": "primary", "motorroad": "yes"}, SHUT),
        ("walk", {"highway": "residential", "access": "private"}, SHUT),
        ("walk", {"highway": "residential", "access": "private", "foot": "yes"}, (WALK, WALK)),
        ("walk", {"highway": "residential", "access": "no", "foot": "unknown"}, SHUT),
        ("walk", {"highway": "residential", "access": "destination"}, (WALK, WALK)),
        ("walk", {"highway": "pedestrian", "area": "yes"}, (WALK, WALK)),
        ("walk", {"highway": "construction"}, SHUT),
        ("walk", {"highway": "bus_stop", "foot": "yes"}, SHUT),
        ("walk", {"highway": "residential", "maxspeed": "50"}, (WALK, WALK)),
        ("walk", {"railway": "rail"}, SHUT),
        ("bicycle", {"highway": "residential", "oneway": "yes"}, (BIKE, 0.0)),
        ("bicycle", {"highway": "residential", "oneway": "yes", "oneway:bicycle": "no"}, (BIKE, BIKE)),
        ("bicycle", {"highway": "residential", "oneway": "yes", "cycleway": "opposite_lane"}, (BIKE, BIKE)),
        ("bicycle", {"highway": "residential", "oneway": "-1", "cycleway:left": "opposite"}, (BIKE, BIKE)),
        ("bicycle", {"highway": "footway"}, SHUT),
        ("bicycle", {"highway": "footway", "bicycle": "designated"}, (BIKE, BIKE)),
        ("bicycle", {"highway": "primary", "bicycle": "use_sidepath"}, SHUT),
        ("bicycle", {"highway": "residential", "vehicle": "no", "bicycle": "yes"}, (BIKE, BIKE)),
        ("bicycle", {"highway": "motorway"}, SHUT),
        ("car", {"highway": "residential"}, (30.0, 30.0)),
        ("car", {"highway": "residential", "oneway": "true"}, (30.0, 0.0)),
        ("car", {"highway": "residential", "oneway": "-1"}, (0.0, 30.0)),
        ("car", {"highway": "residential", "oneway": "reversible"}, (30.0, 30.0)),
        ("car", {"highway": "tertiary", "junction": "roundabout"}, (40.0, 0.0)),
        ("car", {"highway": "tertiary", "junction": "roundabout", "oneway": "no"}, (40.0, 40.0)),
        ("car", {"highway": "motorway"}, (110.0, 0.0)),
        ("car", {"highway": "motorway", "oneway": "no"}, (110.0, 110.0)),
        ("car", {"highway": "residential", "motor_vehicle": "no"}, SHUT),
        ("car", {"highway": "residential", "access": "no", "motorcar": "yes"}, (30.0, 30.0)),
        ("car", {"highway": "residential", "vehicle": "no"}, SHUT),
        ("car", {"highway": "footway", "access": "yes"}, SHUT),
        ("car", {"highway": "track", "motor_vehicle": "yes"}, (30.0, 30.0)),
        ("car", {"highway": "pedestrian", "area": "yes", "motorcar": "yes"}, SHUT),
        ("car", {"highway": "residential", "maxspeed": "50"}, (50.0, 50.0)),
        ("car", {"highway": "residential", "maxspeed": "nonsense"}, (30.0, 30.0)),
        ("car", {"highway": "residential", "maxspeed": "50", "maxspeed:backward": "20"}, (50.0, 20.0)),
        ("car", {"highway": "residential", "oneway": "yes", "maxspeed:forward": "40"}, (40.0, 0.0)),
    ],
)
def test_tags_decide(mode: str, tags: dict[str, str], speeds: tuple[float, float]) -> None:
    assert load_rules(mode).speeds(tags) == speeds


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("50", 50.0),
        ("50 km/h", 50.0),
        ("50kmh", 50.0),
        ("30 mph", 30 * 1.609344),
        ("30mph", 30 * 1.609344),
        ("10 knots", 18.52),
        ("7,5", 7.5),
        ("walk", 7.0),
        ("none", 130.0),
        ("DE:urban", 50.0),
        ("DE:rural", 100.0),
        ("RO:rural", 90.0),
        ("BR:urban", 60.0),
        ("GB:nsl_single", 96.0),
        ("DE:zone:30", 30.0),
        ("FR:zone30", 30.0),
        ("zone:20", 20.0),
        ("50; 30", 30.0),
        ("signals", None),
        ("variable", None),
        ("0", None),
        ("-50", None),
        ("9999", None),
        ("50 furlongs", None),
        ("", None),
        ("1" * 400, None),
        (50.0, 50.0),
    ],
)
def test_speed_limits_with_units_zones_and_words(text: object, limit: float | None) -> None:
    assert load_rules("car").read_limit(text) == (pytest.approx(limit) if limit else None)


def test_limits_that_mean_nothing_are_counted() -> None:
    rules = load_rules("car")
    for _ in range(3):
        rules.speeds({"highway": "residential", "maxspeed": "slow"})
    assert rules.unknown_limits["slow"] == 6  # there and back


def test_every_class_has_a_sensible_speed_in_every_mode_that_may_use_it() -> None:
    for mode in modes():
        rules = load_rules(mode)
        open_to = [kind for kind in rules.table["classes"] if rules.speeds({"highway": kind}) != SHUT]
        assert len(open_to) >= 10
        for kind in open_to:
            assert 1 <= rules.speeds({"highway": kind})[0] <= FASTEST


def test_a_file_of_changes(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("[modes.walk]\nspeed = 3.6\n[classes]\nsteps = { walk = 1.2 }\nferry = { walk = 9 }\n")
    rules = load_rules("walk", own)
    assert rules.speeds({"highway": "residential"}) == (3.6, 3.6)
    assert rules.speeds({"highway": "steps"}) == (1.2, 1.2)
    assert rules.speeds({"highway": "ferry"}) == (9.0, 9.0)
    assert load_rules("walk").speeds({"highway": "steps"}) == (2.4, 2.4)


def test_a_class_is_closed_to_a_mode() -> None:
    rules = load_rules("bicycle", {"classes": {"trunk": {"bicycle": False}}})
    assert rules.speeds({"highway": "trunk"}) == SHUT
    assert rules.speeds({"highway": "trunk", "bicycle": "yes"}) == (BIKE, BIKE)


def test_the_whole_table_may_be_given_back() -> None:
    assert load_rules("car", TABLE).table == load_rules("car").table


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"modes": {"walk": {"speed": 0}}}, "not between 0.5 and 200"),
        ({"modes": {"walk": {"speed": "fast"}}}, "do not have the form"),
        ({"modes": {"walk": {"sped": 5}}}, "no part “modes.walk.sped”"),
        ({"modes": 5}, "“modes” must be a table"),
        ({"classes": {"steps": {"walk": 4000}}}, "not between"),
        ({"classes": {"new": 5}}, "do not have the form"),
        ("there-is-no-such-file.toml", "cannot be read as TOML"),
    ],
)
def test_rules_that_make_no_sense_get_a_sentence(rules: object, sentence: str) -> None:
    with pytest.raises(tkm.StreetsError, match=sentence):
        load_rules("walk", rules)  # type: ignore[arg-type]


def test_a_mode_that_is_none() -> None:
    with pytest.raises(tkm.StreetsError, match="Choose walk, bicycle or car") as caught:
        load_rules("fly")
    assert caught.value.suggestions == ("walk", "bicycle", "car")
