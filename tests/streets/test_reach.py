"""Routes and catchments."""

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tests.streets.cities import STEP, as_xml, grid, random_city
from tkm_core.streets import load_streets
from tkm_core.streets.network import lengths

EAST, NORTH = 111.3195, 110.5743  # metres of a block


@pytest.fixture(scope="module")
def town() -> tkm.Streets:
    return load_streets(as_xml(*grid(21, 21)), mode="walk")


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("mode", ["car", "walk"])
def test_a_route_is_as_long_as_the_table_says(seed: int, mode: str) -> None:
    streets = load_streets(as_xml(*random_city(seed + 100)), mode=mode)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        a, b = rng.uniform([7.400, 46.900], [7.406, 46.904], (2, 2))
        route = streets.route(a, b)
        assert route.minutes == streets.travel_times([a], [b])[0, 0]
        np.testing.assert_allclose(route.lonlat[[0, -1]], [a, b])
        drawn = lengths(route.lonlat[:-1], route.lonlat[1:]).sum()
        assert drawn == pytest.approx(route.metres, rel=2e-3, abs=0.1)
        if mode == "walk":
            assert route.metres == pytest.approx(route.minutes * 80, rel=2e-3)


def test_a_route_runs_along_streets(town: tkm.Streets) -> None:
    route = town.route([0.5 * STEP, 0.0], [3 * STEP, 2.5 * STEP])
    on_grid = np.isclose(route.lonlat / STEP, np.round(route.lonlat / STEP), atol=1e-4).any(axis=1)
    assert on_grid.all()
    assert route.metres == pytest.approx(2.5 * EAST + 2.5 * NORTH, rel=1e-4)


def test_a_route_of_two_neighbours_is_a_straight_line(town: tkm.Streets) -> None:
    route = town.route([2.5 * STEP, 2.5 * STEP - 0.0001], [2.5 * STEP + 0.00005, 2.5 * STEP - 0.0001])
    assert len(route.lonlat) == 2
    assert route.metres == pytest.approx(0.05 * EAST, rel=1e-3)


def test_who_drives_out_follows_the_one_way_streets_the_other_way() -> None:
    corners = {1: (0.0, 0.0), 2: (STEP, 0.0), 3: (STEP, STEP), 4: (0.0, STEP)}
    ring = load_streets(
        as_xml(corners, [([1, 2, 3, 4, 1], {"highway": "residential", "oneway": "yes"})]), mode="car"
    )
    home, station = [0.0, 0.0], [STEP, 0.0]
    there, back = ring.route(home, station), ring.route(home, station, direction="back")
    assert there.metres == pytest.approx(EAST, rel=1e-3)
    assert back.metres == pytest.approx(EAST + 2 * NORTH, rel=1e-3)
    assert back.minutes == ring.travel_times([home], [station], direction="back")[0, 0]
    np.testing.assert_allclose(back.lonlat[[0, -1]], [station, home])
    with pytest.raises(tkm.StreetsError, match="direction must be “there” or “back”, not 'out'"):
        ring.route(home, station, direction="out")


def test_a_route_has_two_ends(town: tkm.Streets) -> None:
    with pytest.raises(tkm.StreetsError, match="from one place to one place"):
        town.route([[0, 0], [0, 1]], [0, 0])


def test_a_catchment_of_the_grid_is_a_diamond(town: tkm.Streets) -> None:
    centre = [10 * STEP, 10 * STEP]
    five, ten = town.catchments([centre], (5, 10))
    # Within r metres of a crossing lie 2 r²/block metres of street (the diamond's area, two blocks of street a cell).
    for catchment, r in ((five, 400.0), (ten, 800.0)):
        assert catchment.metres == pytest.approx(2 * (2 * r**2) / ((EAST + NORTH) / 2), rel=0.05)
        reached = shapely.prepared.prep(catchment.shape)
        for east, north in [(0.9, 0), (0, 0.9), (0.45, 0.45), (-0.9, 0)]:
            crossing = np.round(np.array([east * r / EAST, north * r / NORTH])) * STEP
            assert reached.contains(shapely.Point(crossing + centre))
        for east, north in [(0.8, 0.8), (1.3, 0), (0, -1.3)]:
            assert not reached.contains(
                shapely.Point(np.array([east * r / EAST, north * r / NORTH]) * STEP + centre)
            )
    assert ten.shape.contains(five.shape)
    assert set(five.edges) < set(ten.edges)


@pytest.mark.parametrize("direction", ["there", "back"])
@pytest.mark.parametrize("seed", range(10))
def test_what_a_catchment_reaches_is_what_the_times_say(seed: int, direction: str) -> None:
    streets = load_streets(as_xml(*random_city(seed + 50)), mode="car")
    rng = np.random.default_rng(seed)
    facilities = rng.uniform([7.400, 46.900], [7.406, 46.904], (2, 2))
    access = streets.join(facilities).metres
    limit = float(access.min() / 80 + 0.3)
    catchment = streets.catchments(facilities, [limit], direction=direction)[0]
    # Every street cut into fine pieces, each timed at its middle.
    network, reached, edges = streets.network, 0.0, set()
    for edge, (a, b) in enumerate(zip(network.shape_starts, network.shape_starts[1:], strict=False)):
        line = shapely.LineString(network.shape[a:b])
        middles = shapely.get_coordinates(line.interpolate((np.arange(400) + 0.5) / 400, normalized=True))
        where = streets.join(middles)
        own = type(where)(
            np.full(400, edge, np.int32),
            (np.arange(400) + 0.5) / 400 * network.metres[edge],
            0 * where.at,
            where.xy,
        )
        times = streets.travel_times(facilities, own, direction=direction).min(axis=0)
        reached += (times <= limit).mean() * network.metres[edge]
        edges |= {edge} if (times <= limit).any() else set()
    assert catchment.metres == pytest.approx(reached, rel=0.02, abs=2)
    assert edges <= set(catchment.edges.tolist())


def test_blocks_are_filled_but_what_a_ring_road_goes_round_is_a_hole(town: tkm.Streets) -> None:
    assert len(town.catchments([[10 * STEP, 10 * STEP]], [10], around=20)[0].polygons) == 1
    bend = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    corners = np.column_stack([np.cos(bend), np.sin(bend)]) * 5 * STEP
    nodes = {number + 1: (float(x), float(y)) for number, (x, y) in enumerate(corners)}
    ring = load_streets(as_xml(nodes, [([*nodes, 1], {"highway": "residential"})]))
    outline, hole = ring.catchments([corners[0]], [60])[0].polygons
    for line, around in ((outline, 1), (hole, -1)):
        np.testing.assert_array_equal(line[0], line[-1])
        area = np.sum(line[:-1, 0] * line[1:, 1] - line[1:, 0] * line[:-1, 1]) / 2
        assert area * around == pytest.approx(np.pi * (5 * STEP + around * 60 / 111_000) ** 2, rel=0.03)


@pytest.mark.parametrize(
    ("places", "minutes"), [([], [5]), ([[0, 0]], []), ([[0, 0]], [-5]), ([[0, 0]], [np.nan])]
)
def test_catchments_need_a_place_and_a_limit(
    town: tkm.Streets, places: list[list[float]], minutes: list[float]
) -> None:
    with pytest.raises(tkm.StreetsError, match="at least one place, and limits above 0"):
        town.catchments(places, minutes)
