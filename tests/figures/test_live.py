"""What the live map is sent: places, words and colours of every setting, and how metres are tied to the map."""

import json
import struct

import numpy as np
import pytest

from tkm_core.figures import (
    Look,
    colour_scheme,
    live_ground,
    live_legend,
    live_plan,
    live_residents,
    live_stories,
    map_legend,
    palette,
    to_hex,
)
from tkm_core.figures.live import TOLD_AT_MOST
from tkm_core.figures.live_place import POINTS_AT_MOST
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import Residents, load_sample

LOOK = Look(people="homes")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(
        load_sample("sacramento"), 4, t=[0, 0.1, 1, 10], fixed_lonlat=[[-121.3, 38.6]], fixed_names=["<Hall>"]
    )


@pytest.fixture(scope="module")
def sent(plan: Plan) -> dict:
    return json.loads(live_plan(plan, live_ground(plan.residents), LOOK))


def columns(content: bytes) -> np.ndarray:
    values = struct.unpack(f"<{len(content) // 4}f", content)
    return np.array(values).reshape(7, -1)


def mercator(lonlat: np.ndarray) -> np.ndarray:
    """Written out: widths of the world, y to the south."""
    lon, lat = lonlat[:, 0], np.radians(lonlat[:, 1])
    return np.column_stack([lon / 360, -np.log((1 + np.sin(lat)) / (1 - np.sin(lat))) / (4 * np.pi)])


def carried(ties: dict, points: np.ndarray) -> np.ndarray:
    """The polynomials, written out."""
    x, y = (points / ties["scale"]).T
    terms = [1 + 0 * x, x, y, x**2, x * y, y**2, x**3, x**2 * y, x * y**2, y**3]
    return np.column_stack(
        [sum(c * term for c, term in zip(ties[axis], terms, strict=True)) for axis in "xy"]
    )


def test_residents_lie_where_they_live(plan: Plan, sent: dict) -> None:
    home = plan.residents
    x, y, map_x, map_y, people, strength, radius = columns(live_residents(home, live_ground(home)))
    np.testing.assert_allclose(np.column_stack([x, y]), home.xy - home.origin, atol=0.01)
    np.testing.assert_allclose(
        np.column_stack([map_x, map_y]) + sent["middle"], mercator(home.lonlat), atol=1e-8
    )
    np.testing.assert_array_equal(people, home.weights)
    assert set(strength) == {190} and set(radius.round(3)) == {3.0}


def test_metres_and_the_map_are_tied_to_a_fraction_of_a_pixel(plan: Plan, sent: dict) -> None:
    home = plan.residents
    xy, on_map = home.xy - home.origin, mercator(home.lonlat) - sent["middle"]
    pixels = 512 * 2 ** sent["view"]["zoom"]
    assert np.abs(carried(sent["to_map"], xy) - on_map).max() * pixels < 0.1
    assert np.abs(carried(sent["to_xy"], on_map) - xy).max() < 5.0


def test_every_setting_has_its_places_and_its_words(plan: Plan, sent: dict) -> None:
    assert [float(t) for t in sent["values"]] == plan.t.tolist()
    assert sent["titles"][0] == "New facility 2" and sent["titles"][4] == "Existing facility 1, <Hall>"
    assert sent["kinds"] == ["new"] * 4 + ["existing"]
    for i in range(len(plan)):
        found = plan.evaluation(i)
        np.testing.assert_allclose(sent["lonlat"][i], plan.centers_lonlat(i), atol=1e-6)
        np.testing.assert_allclose(sent["xy"][i], plan.centers_xy(i) - plan.residents.origin, atol=1e-3)
        assert [int(text.replace(",", "")) for text in sent["served"][i]] == found.population.tolist()
        far = np.argmax(found.distance)
        assert sent["farthest"][i][0] == pytest.approx(plan.residents.lonlat[far], abs=1e-6)
        assert sent["farthest"][i][2] == f"farthest home {found.distance[far] / 1000:.1f} km"
        assert sent["jumps"][i] == (i > 0 and plan.path.arrangement[i] != plan.path.arrangement[i - 1])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("mode", ["facility", "distance", "change"])
def test_colours_are_those_of_the_other_maps(plan: Plan, sent: dict, theme: str, mode: str) -> None:
    look = Look(theme=theme, colour=mode, people="homes")
    scheme = colour_scheme(plan, look)
    shown = sent["themes"][theme]
    assert shown["modes"][mode] == [list(color) for color in scheme.colors]
    assert shown["sites"] == [to_hex(palette(theme).facility(j)) for j in plan.colours]
    if mode != "facility":
        assert sent["tops"][mode] == scheme.top
    written = map_legend(scheme, live_ground(plan.residents), look, plan=plan)
    assert all(text in written for _, text in live_legend(plan, live_ground(plan.residents), look))


def test_very_many_are_gathered_and_nobody_is_lost() -> None:
    home = load_sample("generated", n=POINTS_AT_MOST + 1)
    x, y, *_, people, strength, _ = columns(live_residents(home, live_ground(home)))
    assert len(x) < len(home) / 2
    assert people.sum() == pytest.approx(home.weights.sum())
    middle = np.array([x @ people, y @ people]) / people.sum()
    np.testing.assert_allclose(middle, 0, atol=5.0)  # the residents' own middle is the origin
    assert strength.min() >= 70 and strength.max() <= 235


def test_a_large_city_is_told_in_short_with_exact_distances() -> None:
    plan = make_plan(load_sample("generated", n=TOLD_AT_MOST + 1), 2, t=[0, 1])
    sent = json.loads(live_plan(plan, live_ground(plan.residents), LOOK))
    assert sent["served"] is None and sent["farthest"][1][:2] == [None, None]
    far, mean = (getattr(plan.evaluation(1), name) / 1000 for name in ("largest_distance", "mean_distance"))
    told = live_stories(plan, LOOK, None)[1].headline_text
    assert told == f"The farthest home is {far:.1f} km away; the average trip is {mean:.1f} km."


def test_one_resident_in_one_place_can_be_drawn() -> None:
    plan = make_plan(Residents.from_lonlat([[1.4, 43.6]]), 1)
    ground = live_ground(plan.residents)
    assert len(live_residents(plan.residents, ground)) == 28
    assert json.loads(live_plan(plan, ground, LOOK))["k"] == 1


def test_dots_grow_with_the_people_who_live_there() -> None:
    home = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.6], [1.6, 43.6]], weights=[100, 400, 100])
    *_, radius = columns(live_residents(home, live_ground(home)))
    np.testing.assert_allclose(radius, [3.0, 6.0, 3.0])
