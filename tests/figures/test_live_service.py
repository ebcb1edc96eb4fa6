"""Plans that a browser cannot work out: who serves whom, candidate sites, zones and streets, as they are sent."""

import json
import struct
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shapely

from tkm_core.figures import (
    Look,
    live_areas,
    live_ground,
    live_plan,
    live_residents,
    live_roads,
    live_service,
    street_ground,
)
from tkm_core.figures.live_service import arrangements
from tkm_core.planning import STRAIGHT, Plan, make_plan
from tkm_core.residents import Residents, Sites, find_sample, load_residents, load_sample
from tkm_core.streets import Areas, Lines, sample_streets

SQUARE = shapely.box(-121.5, 38.4, -121.4, 38.5)


def ruled(plan: Plan, **more: Any) -> Plan:
    """The plan as if it had rules."""
    free: dict[str, Any] = {"plain": False, "straight": True, "limited": False, "sites": None}
    free |= {"only_in": None, "not_in": None, "travel": STRAIGHT}
    object.__setattr__(plan, "rules", SimpleNamespace(**free | more))
    return plan


@pytest.fixture
def plan() -> Plan:
    return make_plan(load_sample("sacramento"), 4, t=[0, 1e-9, 1, 10])


def read(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Distances and labels, written out as the head says."""
    count, people, wide = struct.unpack_from("<III", content)
    (step,) = struct.unpack_from("<f", content, 12)
    far = np.frombuffer(content, "<u2", (count + 1) * people, 16).reshape(count + 1, people) * step
    who = np.frombuffer(content, "<u2" if wide else "u1", count * people, 16 + 2 * far.size)
    assert len(content) == 16 + 2 * far.size + who.nbytes
    return far, who.reshape(count, people)


def test_a_free_plan_needs_nothing_of_this(plan: Plan) -> None:
    assert live_service(plan, live_ground(plan.residents)) is None
    sent = json.loads(live_plan(plan, live_ground(plan.residents), Look()))
    assert [sent[name] for name in ("candidates", "zones", "arrangement", "grounds", "ways")] == [
        None,
        [],
        None,
        None,
        None,
    ]


def test_everyone_keeps_facility_and_distance_in_every_arrangement() -> None:
    plan = make_plan(load_sample("sacramento"), 4, capacity=300, t=[0, 1, 10])
    ground = live_ground(plan.residents)
    content = live_service(plan, ground)
    assert content is not None
    far, who = read(content)
    found = arrangements(plan)
    assert len(found.of) == 3
    for i, which in enumerate(found.of):
        evaluation = plan.evaluation(i)
        np.testing.assert_array_equal(who[which], evaluation.labels)
        np.testing.assert_allclose(far[which], evaluation.distance, atol=far.max() / 65_000)
    np.testing.assert_allclose(far[-1], plan.reference_evaluation().distance, atol=far.max() / 65_000)
    sent = json.loads(live_plan(plan, ground, Look()))
    assert sent["arrangement"] == found.of
    first = shapely.Polygon(sent["grounds"][0][0][0])
    assert first.symmetric_difference(plan.service_areas(0)[0]).area < 0.01 * first.area


def test_cells_have_the_facility_of_most_and_the_mean_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["tkm_core.figures.live_service"]
    monkeypatch.setattr(module, "served_by_nearest", lambda plan: False)
    plan = make_plan(load_sample("generated", n=50_001), 3, t=[0])
    ground = live_ground(plan.residents)
    assert ground.cells is not None
    content = live_service(plan, ground)
    assert content is not None
    far, who = read(content)
    filled = np.flatnonzero(ground.cells.weight > 0)
    for n in (0, len(filled) // 2, len(filled) - 1):
        members = ground.cells.index == filled[n]
        weights = plan.residents.weights[members]
        mean = np.average(plan.evaluation(0).distance[members], weights=weights)
        assert far[0, n] == pytest.approx(mean, abs=far.max() / 60_000)
        assert who[0, n] == np.bincount(plan.evaluation(0).labels[members], weights).argmax()


def test_candidate_sites_and_zones_are_shown_with_their_names(plan: Plan) -> None:
    sites = SimpleNamespace(lonlat=np.array([[-121.4, 38.6], [-121.3, 38.5]]), names=("<Hall>\n", "School"))
    zones = SimpleNamespace(shapes=(SQUARE,), names=("Park",))
    sent = json.loads(live_plan(ruled(plan, sites=sites, not_in=zones), live_ground(plan.residents), Look()))
    assert [site["name"] for site in sent["candidates"]] == ["<Hall>", "School"]
    xy = plan.residents.lonlat_to_xy(sites.lonlat) - plan.residents.origin
    np.testing.assert_allclose([site["xy"] for site in sent["candidates"]], xy, atol=0.01)
    assert sent["zones"] == [
        {"kind": "not_in", "name": "Park", "rings": [np.array(SQUARE.exterior.coords).tolist()]}
    ]
    assert sent["jumps"] == [False, False, True, True], "from site to site facilities jump"
    assert sent["arrangement"] is None, "the nearest in a straight line can be worked out"


def test_streets_water_and_parks_become_one_ground() -> None:
    lines = Lines(
        np.array([[0, 0], [0.1, 0], [0, 0], [0, 0.1], [0, 0.2]], np.float32),
        (1.0, 43.0),
        np.array([0, 2, 5]),
        np.array([1, 0], np.int16),
        ("residential", "motorway"),
    )
    areas = Areas(
        np.array([[0, 0], [1, 0], [1, 1], [0, 0]], np.float32),
        (2.0, 44.0),
        np.array([0, 4]),
        np.array([0]),
        np.array([1], np.int16),
        ("park", "water"),
    )
    content = live_roads(lines, areas=areas, credit="© Somebody")
    (size,) = struct.unpack_from("<I", content)
    head = json.loads(content[4 : 4 + size])
    assert (head["parts"], head["points"], head["credit"]) == (3, 9, "© Somebody")
    numbers = np.frombuffer(content, "<u4", 3 * 3 + 1, 4 + size)
    assert numbers[:4].tolist() == [0, 2, 5, 9]
    assert numbers[4:7].tolist() == [0, 2, len(head["ranks"]) + head["areas"].index("water")]
    points = np.frombuffer(content, "<f4", 18, 4 + size + 4 * len(numbers)).reshape(-1, 2) + head["origin"]
    np.testing.assert_allclose(points[[1, 4, 6]], [[1.1, 43.0], [1.0, 43.2], [3.0, 44.0]], atol=1e-6)


def test_areas_are_sent_ring_by_ring_and_their_dots_are_not_drawn() -> None:
    holed = shapely.box(1, 43, 1.2, 43.2).difference(shapely.box(1.05, 43.05, 1.1, 43.1))
    shapes = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"name": name}, "geometry": json.loads(shapely.to_geojson(shape))}
        for name, shape in (("West", holed), ("East", shapely.box(1.2, 43, 1.4, 43.2)))
    ]}  # fmt: skip
    town = load_residents(json.dumps(shapes).encode(), name="town.geojson", id="name")
    ground = live_ground(town)
    content = live_areas(town, ground)
    assert content is not None and ground.shaded
    rings, points = struct.unpack_from("<II", content)
    owner = np.frombuffer(content, "<u4", rings, 8)
    assert rings == 3 and owner.tolist() == [0, 0, 1] and len(content) == 12 + 8 * rings + 8 * points
    radius = np.frombuffer(live_residents(town, ground), "<f4").reshape(7, -1)[6]
    assert radius.tolist() == [0.0, 0.0]
    sent = json.loads(live_plan(make_plan(town, 1, t=[0]), ground, Look()))
    assert sent["names"] == ["West", "East"] and len(sent["city"]) == 2, "the hole is not part of the city"


@pytest.mark.parametrize(("ids", "shown"), [(["Mill", "Old town"], True), (["89a901", "89a9f2"], False)])
def test_codes_are_no_names(ids: list[str], shown: bool) -> None:
    town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], ids=ids)
    sent = json.loads(live_plan(make_plan(town, 1, t=[0]), live_ground(town), Look()))
    assert sent["names"] == (ids if shown else None)


def test_names_are_those_of_places_not_of_groups() -> None:
    where = [[1.4, 43.6], [1.5, 43.7], [1.6, 43.7]]
    named = Residents.from_lonlat(where, places=["Mill", "Old town", "Quay"])
    grouped = Residents.from_lonlat(where, groups=["North", "North", "South"])
    repeated = Residents.from_lonlat(where * 2, places=["Mill", "Mill", "Quay"] * 2)
    sent = [
        json.loads(live_plan(make_plan(town, 1, t=[0]), live_ground(town), Look()))["names"]
        for town in (named, grouped, repeated)
    ]
    assert sent == [["Mill", "Old town", "Quay"], None, None]


def test_a_real_plan_on_sites_along_streets_is_sent_in_minutes() -> None:
    sample, streets = find_sample("porto-alegre"), sample_streets("porto-alegre")
    assert sample is not None
    town = load_sample("porto-alegre")
    names, lonlat = sample.sites
    sites = Sites(lonlat[:30], tuple(names[:30]))
    plan = make_plan(town, 3, streets=streets, sites=sites, t=[0, 1])
    ground, look = live_ground(town), Look(unit="min")
    content = live_service(plan, ground)
    assert content is not None
    _, who = read(content)
    sent = json.loads(live_plan(plan, ground, look))
    for i, which in enumerate(sent["arrangement"]):
        np.testing.assert_array_equal(who[which], plan.evaluation(i).labels)
        home, by, words = sent["farthest"][i]
        assert words == f"farthest resident {plan.evaluation(i).largest_distance:.0f} min"
        way = np.array(sent["ways"][i])
        assert len(way) > 2, "along the streets"
        assert np.abs(way[0] - home).max() < 0.01 and np.abs(way[-1] - sent["lonlat"][i][by]).max() < 0.01
        assert sent["titled"][i][0] == plan.title(0, i)
    assert sent["unit"] == {"name": "min", "size": 1.0} and sent["length"]["name"] == "km"
    assert b"OpenStreetMap" in (street_ground(plan, ground) or b"")
