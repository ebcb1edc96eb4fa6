"""OpenStreetMap files: the same network whatever the format, the order and the numbers."""

import builtins
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tkm_core as tkm
from tests.streets.cities import STEP, as_pbf, as_xml, grid, random_city
from tkm_core.streets import osm

PLACES = np.array([[0.0, 0.0], [2.3 * STEP, STEP], [STEP, 2.6 * STEP]])


def test_pbf_xml_and_gzip_are_the_same_city(tmp_path: Path) -> None:
    nodes, ways = random_city(3)
    xml, pbf = as_xml(nodes, ways), as_pbf(nodes, ways, tmp_path / "city.osm.pbf")
    (tmp_path / "city.osm").write_bytes(xml)
    (tmp_path / "city.osm.gz").write_bytes(gzip.compress(xml))
    places = np.array(list(nodes.values()))
    expected = tkm.load_streets(xml, mode="car").travel_times(places, places)
    for file in (pbf, io.BytesIO(xml), *sorted(tmp_path.iterdir())):
        streets = tkm.load_streets(file, mode="car")
        np.testing.assert_allclose(streets.travel_times(places, places), expected, rtol=1e-9)


def test_the_report_says_what_was_read_and_cut_off() -> None:
    nodes, ways = grid(3, 3)
    ways.append(([1, 2], {"highway": "motorway"}))
    nodes |= {9001: (5 * STEP, 0.0), 9002: (6 * STEP, 0.0)}
    ways.append(([9001, 9002], {"highway": "footway"}))
    report = tkm.load_streets(as_xml(nodes, ways), name="town.osm").report
    assert (report.ways_read, report.ways_used) == (8, 7)
    assert (report.junctions, report.edges) == (5, 8)  # at a corner of the grid nothing branches off
    assert report.km == pytest.approx(6 * 0.11132 + 6 * 0.11057, rel=1e-3)
    text = str(report)
    assert "8 streets read, 7 open to the mode “walk”" in text
    assert "Left out: 1 part with 0.1 km" in text


def test_limits_that_mean_nothing_are_told() -> None:
    streets = tkm.load_streets(as_xml(*grid(3, 3, maxspeed="quick")), mode="car")
    assert "12 speed limits could not be understood (“quick”)" in str(streets.report)


def test_most_streets_hanging_loose_is_a_warning() -> None:
    nodes = {i: (i * STEP, 0.0) for i in range(1, 9)}
    ways = [([i, i + 1], {"highway": "residential"}) for i in (1, 3, 5, 7)]
    report = tkm.load_streets(as_xml(nodes, ways)).report
    assert report.parts_cut_off == 3
    assert "share a point" in report.warnings[0]


def test_ways_may_come_before_nodes_and_nodes_in_any_order() -> None:
    nodes, ways = grid(4, 4)
    shuffled = dict(
        np.random.default_rng(0).permutation(np.array(list(nodes.items()), dtype=object)).tolist()
    )
    expected = tkm.load_streets(as_xml(nodes, ways)).travel_times(PLACES, PLACES)
    for ways_first in (False, True):
        streets = tkm.load_streets(as_xml(shuffled, ways, ways_first=ways_first))
        np.testing.assert_allclose(streets.travel_times(PLACES, PLACES), expected)


def test_new_nodes_of_an_editor_have_numbers_below_zero() -> None:
    nodes, ways = grid(4, 4)
    expected = tkm.load_streets(as_xml(nodes, ways)).travel_times(PLACES, PLACES)
    flipped = as_xml(
        {-i: place for i, place in nodes.items()}, [([-i for i in refs], tags) for refs, tags in ways]
    )
    np.testing.assert_allclose(tkm.load_streets(flipped).travel_times(PLACES, PLACES), expected)


def test_a_large_file_keeps_its_nodes_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tkm.load_streets(as_xml(*grid(4, 4))).travel_times(PLACES, PLACES)
    monkeypatch.setattr(osm, "IN_MEMORY", 0)
    np.testing.assert_allclose(tkm.load_streets(as_xml(*grid(4, 4))).travel_times(PLACES, PLACES), expected)


def test_a_street_ends_where_its_points_are_missing() -> None:
    nodes, ways = grid(3, 5)
    ways = [ways[1], ways[0], ways[3], ways[4]]  # two rows of five, joined by columns 0 and 1
    del nodes[1004]  # the fourth of the middle row
    streets = tkm.load_streets(as_xml(nodes, ways))
    assert "1 point of streets is missing" in str(streets.report)
    assert streets.report.km_cut_off == 0
    assert streets.distances([[2 * STEP, STEP]], [[4 * STEP, 0]])[0, 0] == pytest.approx(
        3 * 111.32 + 110.57 + 111.32, rel=1e-3
    )


def test_reading_tells_how_far_it_is() -> None:
    told: list[float] = []
    tkm.load_streets(as_xml(*grid(3, 3)), progress=lambda fraction, _: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, InterruptedError])
@pytest.mark.parametrize("when", ["Opening", "Reading the points", "Reading streets", "Building"])
def test_reading_is_cancelled_by_whatever_the_listener_raises(
    error: type[BaseException], when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(osm, "OFTEN", 2)

    def stop(_fraction: float, text: str) -> None:
        if text.startswith(when):
            msg = "enough"
            raise error(msg)

    with pytest.raises(error, match=r"^enough$"):
        tkm.load_streets(as_xml(*grid(3, 3)), progress=stop)


def test_without_osmium_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "osmium":
            raise ModuleNotFoundError(name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'evenreach\[streets\]'"):
        tkm.load_streets(as_xml(*grid(2, 2)))


def test_residents_are_not_looked_for_in_a_street_file(tmp_path: Path) -> None:
    for file in (as_xml(*grid(2, 2)), as_pbf(*grid(2, 2), tmp_path / "a.osm.pbf")):
        with pytest.raises(tkm.ResidentsError, match="an OpenStreetMap file: it has streets"):
            tkm.load_residents(file)
