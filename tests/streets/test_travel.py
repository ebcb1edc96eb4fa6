"""Travel times and distances: a grid city in closed form, and the plain definition on random cities."""

import pickle
import threading

import numpy as np
import pytest

import tkm_core as tkm
from tests.listening import reports_and_stops
from tests.streets import slowly
from tests.streets.cities import STEP, Nodes, as_xml, grid, random_city
from tkm_core.streets import load_rules, load_streets
from tkm_core.streets import travel as travel_module

EAST, NORTH = 111_319.49 * STEP, 110_574.3 * STEP  # metres of a block at the equator
SPEED = {"walk": 4.8, "bicycle": 16.0, "car": 30.0}


@pytest.fixture(scope="module")
def town() -> tkm.Streets:
    return load_streets(as_xml(*grid(6, 8)), mode="walk")


@pytest.mark.parametrize("mode", SPEED)
def test_a_grid_city_has_the_times_of_the_closed_form(mode: str) -> None:
    streets = load_streets(as_xml(*grid(6, 8)), mode=mode)
    corners = np.array([[c * STEP, r * STEP] for r in range(6) for c in range(8)])
    blocks = np.abs(corners[:, None] - corners[None]) / STEP
    metres = blocks[..., 0] * EAST + blocks[..., 1] * NORTH
    np.testing.assert_allclose(streets.distances(corners, corners), metres, rtol=1e-6, atol=1e-6)
    minutes = metres / (SPEED[mode] / 0.06)
    np.testing.assert_allclose(streets.travel_times(corners, corners), minutes, rtol=1e-6, atol=1e-6)


def test_places_within_a_block_join_its_street_and_not_its_corners(town: tkm.Streets) -> None:
    # A third along the block in row 2 and 22 m to its north; half along the block in column 5.
    home, school = [2 * STEP + STEP / 3, 2 * STEP + 0.0002], [5 * STEP, 4 * STEP + STEP / 2]
    along = EAST * (2 / 3 + 2) + NORTH * 2.5
    straight = 0.2 * NORTH
    assert town.distances([home], [school])[0, 0] == pytest.approx(along + straight, rel=1e-4)
    assert town.travel_times([home], [school])[0, 0] == pytest.approx((along + straight) / 80, rel=1e-4)


def test_two_places_on_the_same_street_need_not_go_round_a_corner(town: tkm.Streets) -> None:
    a, b = [0.2 * STEP, 0], [0.7 * STEP, 0]
    np.testing.assert_allclose(
        town.distances([a, b], [a, b]), [[0, EAST / 2], [EAST / 2, 0]], rtol=1e-6, atol=1e-6
    )


def test_neighbours_far_from_the_street_do_not_go_there_and_back(town: tkm.Streets) -> None:
    yard = [2.5 * STEP, 2.5 * STEP - 0.0001]
    next_door = [2.5 * STEP + 0.00005, 2.5 * STEP - 0.0001]
    assert town.distances([yard], [yard])[0, 0] == 0
    assert town.distances([yard], [next_door])[0, 0] == pytest.approx(0.05 * EAST, rel=1e-3)


def by_the_street(
    nodes: Nodes, ways: list[slowly.Directed], rng: np.random.Generator, count: int
) -> np.ndarray:
    """Places a few metres from streets, some of them just at a corner."""
    places = []
    for a, b, *_ in rng.permutation(np.array(slowly.largest_part(nodes, ways)))[:count]:
        share = rng.choice([0.0, 1.0, *rng.random(4)])
        places.append(np.array(nodes[int(a)]) * (1 - share) + np.array(nodes[int(b)]) * share)
    return np.array(places) + (rng.random((len(places), 2)) - 0.5) * rng.choice([0, 1e-4], (len(places), 1))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("mode", ["car", "walk"])
def test_random_cities_agree_with_the_plain_definition(seed: int, mode: str) -> None:
    nodes, ways = random_city(seed)
    rules = load_rules(mode)
    directed = [(refs, *rules.speeds(tags)) for refs, tags in ways]
    if not slowly.largest_part(nodes, directed):
        with pytest.raises(tkm.StreetsError, match="no connected part in which"):
            load_streets(as_xml(nodes, ways), mode=mode)
        return
    streets = load_streets(as_xml(nodes, ways), mode=mode)
    rng = np.random.default_rng(seed)
    homes, schools = by_the_street(nodes, directed, rng, 6), by_the_street(nodes, directed, rng, 4)
    minutes, metres = streets.travel_times(homes, schools), streets.distances(homes, schools)
    back = streets.travel_times(homes, schools, direction="back")
    for i, home in enumerate(homes.tolist()):
        for j, school in enumerate(schools.tolist()):
            there = slowly.travel(nodes, directed, tuple(home), tuple(school))
            assert minutes[i, j] == pytest.approx(there, rel=1e-3)
            assert back[i, j] == pytest.approx(
                slowly.travel(nodes, directed, tuple(school), tuple(home)), rel=1e-3
            )
            shortest = slowly.travel(nodes, directed, tuple(home), tuple(school), by_length=True)
            assert metres[i, j] == pytest.approx(shortest, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_either_side_may_be_the_larger_one(seed: int) -> None:
    streets = load_streets(as_xml(*random_city(3)), mode="car")
    rng = np.random.default_rng(seed)
    many, few = (
        rng.uniform([7.400, 46.900], [7.406, 46.904], size=(30, 2)),
        rng.uniform([7.400, 46.900], [7.406, 46.904], (3, 2)),
    )
    np.testing.assert_allclose(
        streets.travel_times(many, few), streets.travel_times(few, many, direction="back").T, rtol=1e-12
    )


def test_times_are_symmetric_without_one_way_streets_and_never_beat_the_straight_line() -> None:
    streets = load_streets(as_xml(*grid(5, 5)), mode="car")
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.5 * STEP, 4.5 * STEP, size=(40, 2))
    minutes = streets.travel_times(places, places)
    np.testing.assert_allclose(minutes, minutes.T, rtol=1e-9, atol=1e-12)
    metres = streets.distances(places, places)
    straight = np.array([[slowly.metres(tuple(a), tuple(b)) for b in places] for a in places])
    assert np.all(metres >= straight * (1 - 1e-3))
    assert np.all(minutes >= straight / 500 * (1 - 1e-3))  # nobody is faster than 30 km/h


def test_a_one_way_loop_is_gone_round_in_its_direction() -> None:
    nodes = {1: (0.0, 0.0), 2: (STEP, 0.0), 3: (STEP, STEP), 4: (0.0, STEP)}
    loop = [([1, 2, 3, 4, 1], {"highway": "residential", "oneway": "yes"})]
    drive = load_streets(as_xml(nodes, loop), mode="car")
    near_start, near_end = [0.25 * STEP, 0], [0.75 * STEP, 0]
    around = 2 * EAST + 2 * NORTH
    ahead, back = (
        drive.distances([near_start], [near_end])[0, 0],
        drive.distances([near_end], [near_start])[0, 0],
    )
    assert ahead == pytest.approx(EAST / 2, rel=1e-5)
    assert back == pytest.approx(around - EAST / 2, rel=1e-5)
    walk = load_streets(as_xml(nodes, loop), mode="walk")
    assert walk.distances([near_end], [near_start])[0, 0] == pytest.approx(EAST / 2, rel=1e-5)


def test_a_resident_on_the_other_bank_goes_round_by_the_bridge() -> None:
    # Two banks 111 m apart; the only bridge is 10 blocks to the east.
    nodes = {c + 1: (c * STEP, 0.0) for c in range(11)} | {c + 101: (c * STEP, STEP) for c in range(11)}
    street = {"highway": "residential"}
    ways = [(list(range(1, 12)), street), (list(range(101, 112)), street), ([11, 111], street)]
    streets = load_streets(as_xml(nodes, ways), mode="walk")
    assert streets.distances([[0, 0]], [[0, STEP]])[0, 0] == pytest.approx(20 * EAST + NORTH, rel=1e-6)


def test_nobody_is_joined_to_an_island() -> None:
    nodes, ways = grid(4, 4)
    nodes |= {9001: (10 * STEP, 0.0), 9002: (11 * STEP, 0.0)}
    ways.append(([9001, 9002], {"highway": "residential"}))
    streets = load_streets(as_xml(nodes, ways), mode="walk")
    assert (streets.report.parts_cut_off, streets.report.junctions_cut_off) == (1, 2)
    assert streets.report.km_cut_off == pytest.approx(EAST / 1000, rel=1e-6)
    joined = streets.join([[10.5 * STEP, 0.0], [0.0, 0.0]])
    assert joined.metres[0] == pytest.approx(7.5 * EAST, rel=1e-3)
    assert streets.far([[10.5 * STEP, 0.0], [0.0, 0.0]]).tolist() == [0]


def test_a_limit_leaves_out_what_is_farther_and_changes_nothing_else(town: tkm.Streets) -> None:
    places = np.random.default_rng(1).uniform(0, 5 * STEP, size=(50, 2))
    full = town.travel_times(places, places)
    limited = town.travel_times(places, places, limit=4.0)
    near = full <= 4.0
    assert 0 < near.sum() < near.size
    np.testing.assert_array_equal(limited[near], full[near])
    assert np.all(np.isinf(limited[~near]))


def test_a_table_of_half_the_size(town: tkm.Streets) -> None:
    places = np.random.default_rng(1).uniform(0, 5 * STEP, size=(20, 2))
    small = town.travel_times(places, places[:3], dtype=np.float32)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, town.travel_times(places, places[:3]), rtol=1e-6)


def test_progress_never_falls_and_ends_at_one_or_earlier(
    town: tkm.Streets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travel_module, "BLOCK", 1)
    reports_and_stops(lambda progress: town.travel_times(town.lonlat, town.lonlat, progress=progress))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("streets")]


def test_places_that_are_none_get_a_sentence(town: tkm.Streets) -> None:
    with pytest.raises(tkm.StreetsError, match="row 2 has nan and 0"):
        town.travel_times([[0, 0], [np.nan, 0]], [[0, 0]])
    with pytest.raises(tkm.StreetsError, match="two columns"):
        town.travel_times([[0, 0, 0]], [[0, 0]])
    with pytest.raises(tkm.StreetsError, match="must be numbers"):
        town.travel_times([["a", "b"]], [[0, 0]])
    with pytest.raises(tkm.StreetsError, match="direction must be"):
        town.travel_times([[0, 0]], [[0, 0]], direction="up")
    with pytest.raises(tkm.StreetsError, match="limit must be above 0"):
        town.travel_times([[0, 0]], [[0, 0]], limit=-1)
    with pytest.raises(tkm.StreetsError, match="float64 or float32"):
        town.travel_times([[0, 0]], [[0, 0]], dtype=np.int32)


def test_a_table_beyond_memory_is_refused_before_it_is_made(
    town: tkm.Streets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travel_module, "LARGEST_TABLE", 1000)
    with pytest.raises(tkm.StreetsError, match="Use dtype=float32, or fewer places"):
        town.travel_times(town.lonlat, town.lonlat)


def test_no_places_are_an_empty_table(town: tkm.Streets) -> None:
    assert town.travel_times([], [[0, 0]]).shape == (0, 1)


def test_streets_are_the_same_after_pickling(town: tkm.Streets) -> None:
    town.travel_times([[0, 0]], [[STEP, STEP]])
    again = pickle.loads(pickle.dumps(town))
    places = town.lonlat[:5]
    np.testing.assert_array_equal(again.travel_times(places, places), town.travel_times(places, places))
