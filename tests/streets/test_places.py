"""Candidate junctions, their neighbours, and lines to draw."""

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tests.streets.cities import STEP, as_xml, grid
from tkm_core.streets import load_streets


@pytest.fixture(scope="module")
def town() -> tkm.Streets:
    nodes, ways = grid(21, 21)
    ways[0] = (ways[0][0], {"highway": "primary"})
    return load_streets(as_xml(nodes, ways), mode="walk")


def number(streets: tkm.Streets, column: int, row: int) -> int:
    return int(np.argmin(np.abs(streets.lonlat - np.array([column, row]) * STEP).sum(axis=1)))


def test_junctions_as_places_are_where_they_are(town: tkm.Streets) -> None:
    some = np.array([5, 100, 7, 300])
    by_number = town.travel_times(town.at_junctions(some), town.at_junctions())
    np.testing.assert_allclose(by_number, town.travel_times(town.lonlat[some], town.lonlat), atol=1e-4)
    assert by_number[1, 100] == 0


def test_candidates_are_near_people(town: tkm.Streets) -> None:
    home = [[5 * STEP, 5 * STEP]]
    chosen = town.candidates(home)
    apart = np.abs(town.lonlat - home) / STEP * [111.32, 110.57]
    expected = np.flatnonzero(np.hypot(*apart.T) <= 300)
    np.testing.assert_array_equal(chosen, expected)


def test_a_lone_resident_far_away_brings_the_ends_of_the_nearest_street(town: tkm.Streets) -> None:
    chosen = town.candidates([[-20 * STEP, 10.4 * STEP]])
    assert set(chosen) == {number(town, 0, 10), number(town, 0, 11)}


@pytest.mark.parametrize("at_most", [1, 10, 50, 150])
def test_candidates_are_thinned_out_evenly(town: tkm.Streets, at_most: int) -> None:
    people = np.random.default_rng(0).uniform(0, 20 * STEP, (2000, 2))
    chosen = town.candidates(people, at_most=at_most)
    assert at_most / 2 <= len(chosen) <= at_most
    assert len(set(chosen)) == len(chosen)
    # Nobody is farther from a candidate than the diagonal of a cell holding its share of the area.
    apart = np.sqrt(((people[:, None] - town.lonlat[chosen][None]) ** 2).sum(-1)).min(axis=1).max()
    assert apart <= 2 * np.sqrt(2) * 21 * STEP / np.sqrt(len(chosen))


def test_candidates_follow_where_most_people_live(town: tkm.Streets) -> None:
    homes = np.array([[2 * STEP, 2 * STEP], [3 * STEP, 2 * STEP]])
    assert town.candidates(homes, [1, 99], at_most=1).tolist() == [number(town, 3, 2)]
    assert town.candidates(homes, [99, 1], at_most=1).tolist() == [number(town, 2, 2)]
    assert town.candidates(homes, [1, 0], at_most=1).tolist() == [number(town, 2, 2)]


def test_candidates_need_people(town: tkm.Streets) -> None:
    with pytest.raises(tkm.StreetsError, match="at least one resident"):
        town.candidates([])
    with pytest.raises(tkm.StreetsError, match="weights must be 1 numbers"):
        town.candidates([[0, 0]], [1, 2])


def test_neighbours_are_one_street_away(town: tkm.Streets) -> None:
    found = town.neighbours([number(town, 5, 5), number(town, 6, 5)])
    expected = [(4, 5), (7, 5), (5, 4), (5, 6), (6, 4), (6, 6)]
    assert set(found) == {number(town, *place) for place in expected}
    assert len(town.neighbours([])) == 0
    with pytest.raises(tkm.StreetsError, match="whole numbers from 0 to"):
        town.neighbours([10**9])


def test_lines_to_draw_are_the_streets(town: tkm.Streets) -> None:
    lines = town.lines()
    points = lines.lonlat.astype(float) + lines.origin
    shapes = [shapely.LineString(points[a:b]) for a, b in zip(lines.starts, lines.starts[1:], strict=False)]
    total = sum(shape.length for shape in shapes)
    assert total == pytest.approx(42 * 20 * STEP, rel=1e-4)
    main = town.lines(classes=["primary"])
    assert len(main.starts) == 2
    assert main.class_names[main.classes[0]] == "primary"
    with pytest.raises(tkm.StreetsError, match="no streets of the class “river”"):
        town.lines(classes=["river"])
    with pytest.raises(tkm.StreetsError, match="0 or more"):
        town.lines(simplify=-1)


def test_simplified_lines_are_off_by_no_more_than_asked() -> None:
    bend = np.linspace(0, np.pi, 200)
    nodes = {
        i + 1: (float(x), float(y))
        for i, (x, y) in enumerate(np.column_stack([np.cos(bend), np.sin(bend)]) * 5 * STEP)
    }
    streets = load_streets(as_xml(nodes, [(list(nodes), {"highway": "path"})]))
    fine, coarse = streets.lines(), streets.lines(simplify=20.0)
    assert len(fine.lonlat) == 200
    assert 4 < len(coarse.lonlat) < 40
    line, whole = (shapely.LineString(lines.lonlat.astype(float) + lines.origin) for lines in (coarse, fine))
    assert shapely.hausdorff_distance(line, whole) * 111_320 <= 21
