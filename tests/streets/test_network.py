"""Junctions and edges: chains become one edge, rings keep a junction, shapes stay as they were."""

from itertools import pairwise

import numpy as np
import pytest
from pyproj import Geod

import tkm_core as tkm
from tests.streets import slowly
from tests.streets.cities import STEP, Way, as_xml, grid, random_city
from tkm_core.streets import load_rules, load_streets
from tkm_core.streets.network import lengths

STREET = {"highway": "residential"}


def edges_of(streets: tkm.Streets) -> list[np.ndarray]:
    starts = streets.network.shape_starts
    return [streets.network.shape[a:b] for a, b in pairwise(starts)]


def test_lengths_are_those_on_the_ellipsoid() -> None:
    rng = np.random.default_rng(0)
    first = np.column_stack([rng.uniform(-180, 180, 500), rng.uniform(-70, 70, 500)])
    second = first + rng.uniform(-0.02, 0.02, (500, 2))
    exact = Geod(ellps="WGS84").inv(*first.T, *second.T)[2]
    np.testing.assert_allclose(lengths(first, second), exact, rtol=1e-5)


def test_a_street_in_many_pieces_is_one_edge() -> None:
    # A street of four ways between two crossings, some of them drawn backwards.
    nodes = {i: (i * STEP, (i % 2) * STEP / 5) for i in range(1, 12)}
    ways: list[Way] = [([1, 2, 3], STREET), ([5, 4, 3], STREET), ([5, 6], STREET), ([8, 7, 6], STREET)]
    streets = load_streets(as_xml(nodes, ways))
    assert (len(streets.lonlat), len(edges_of(streets))) == (2, 1)
    shape = edges_of(streets)[0]
    expected = np.array([nodes[i] for i in range(1, 9)])
    np.testing.assert_allclose(shape if shape[0, 0] < shape[-1, 0] else shape[::-1], expected, atol=1e-9)


def test_speed_class_and_direction_divide_a_street() -> None:
    nodes = {i: (i * STEP, 0.0) for i in range(1, 6)}
    ways: list[Way] = [
        ([1, 2], STREET),
        ([2, 3], {**STREET, "maxspeed": "50"}),
        ([3, 4], {"highway": "primary", "maxspeed": "50"}),
        ([4, 5], {"highway": "primary", "maxspeed": "50"}),
    ]
    streets = load_streets(as_xml(nodes, ways), mode="car")
    assert len(edges_of(streets)) == 3
    assert sorted(streets.network.forward) == [30, 50, 50]


@pytest.mark.parametrize("oneway", ["no", "yes", "-1"])
def test_a_ring_without_any_junction_keeps_one(oneway: str) -> None:
    nodes = {i: (np.cos(i).item() * STEP, np.sin(i).item() * STEP) for i in range(1, 7)}
    halves: list[Way] = [
        ([1, 2, 3, 4], {**STREET, "oneway": oneway}),
        ([4, 5, 6, 1], {**STREET, "oneway": oneway}),
    ]
    streets = load_streets(as_xml(nodes, halves), mode="car")
    assert (len(streets.lonlat), len(edges_of(streets))) == (1, 1)
    assert len(edges_of(streets)[0]) == 7
    directed = [(refs, *load_rules("car").speeds(tags)) for refs, tags in halves]
    a, b = nodes[2], nodes[5]
    assert streets.travel_times([a], [b])[0, 0] == pytest.approx(
        slowly.travel(nodes, directed, a, b), rel=1e-3
    )
    assert streets.travel_times([b], [a])[0, 0] == pytest.approx(
        slowly.travel(nodes, directed, b, a), rel=1e-3
    )


@pytest.mark.parametrize("seed", range(20))
def test_every_piece_of_the_largest_part_is_drawn_once(seed: int) -> None:
    nodes, ways = random_city(seed)
    rules = load_rules("walk")
    pieces = slowly.largest_part(nodes, [(refs, *rules.speeds(tags)) for refs, tags in ways])
    streets = load_streets(as_xml(nodes, ways))
    names = {tuple(np.round(place, 7)): number for number, place in nodes.items()}
    drawn = []
    for shape in edges_of(streets):
        numbers = [names[tuple(np.round(point, 7))] for point in shape.tolist()]
        drawn += [tuple(sorted(pair)) for pair in pairwise(numbers)]
    assert sorted(drawn) == sorted(tuple(sorted((a, b))) for a, b, *_ in pieces)
    total = sum(slowly.metres(nodes[a], nodes[b]) for a, b, *_ in pieces)
    assert streets.network.metres.sum() == pytest.approx(total, rel=1e-5)


def test_a_street_drawn_twice_is_open_to_both_directions() -> None:
    nodes, ways = grid(3, 3)
    both: list[Way] = [(refs, {**STREET, "oneway": "yes"}) for refs, _ in ways]
    both += [(refs[::-1], {**STREET, "oneway": "yes"}) for refs, _ in ways]
    twice, once = load_streets(as_xml(nodes, both), mode="car"), load_streets(as_xml(nodes, ways), mode="car")
    places = np.random.default_rng(0).uniform(0, 2 * STEP, (10, 2))
    np.testing.assert_allclose(twice.travel_times(places, places), once.travel_times(places, places))
    assert len(edges_of(twice)) == len(edges_of(once))


def test_points_on_top_of_each_other_do_no_harm() -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.0), 3: (STEP, 0.0), 4: (STEP, STEP)}
    streets = load_streets(as_xml(nodes, [([1, 2, 2, 3], STREET), ([3, 4], STREET), ([4, 1], STREET)]))
    assert streets.distances([[0, 0]], [[STEP, 0]])[0, 0] == pytest.approx(111.32, rel=1e-3)
    lone = load_streets(as_xml(nodes, [([1, 2], STREET)]))
    assert lone.distances([[0, 0]], [[STEP, 0]])[0, 0] == pytest.approx(111.32, abs=0.1)
