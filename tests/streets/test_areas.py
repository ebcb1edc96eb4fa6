"""Water and parks for the background of a map."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import osmium
import pytest

import tkm_core as tkm
from tests.streets.cities import STEP, Way, as_xml, grid
from tkm_core.streets import Areas, check_areas, load_areas


def square(first: int, low: float, high: float) -> tuple[dict[int, tuple[float, float]], list[int]]:
    corners = [(low, low), (high, low), (high, high), (low, high)]
    nodes = {first + i: (x * STEP, y * STEP) for i, (x, y) in enumerate(corners)}
    return nodes, [*nodes, first]


def rings(areas: Areas) -> list[np.ndarray]:
    points = areas.lonlat.astype(float) + areas.origin
    return [points[a:b] for a, b in zip(areas.starts, areas.starts[1:], strict=False)]


def size(ring: np.ndarray) -> float:
    return abs(float(np.sum(ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1]))) / 2 / STEP**2


def test_water_and_parks_are_told_apart_and_the_rest_left_out() -> None:
    nodes, ways = grid(3, 3)
    for first, low, high, tags in (
        (5001, 0.1, 0.4, {"natural": "water"}),
        (5101, 1.1, 1.9, {"leisure": "park", "name": "Green"}),
        (5201, 0.5, 0.9, {"landuse": "residential"}),
        (5301, 0.6, 0.7, {"building": "yes"}),
    ):
        corners, refs = square(first, low, high)
        nodes |= corners
        ways.append((refs, tags))
    areas = load_areas(as_xml(nodes, ways))
    assert [areas.kind_names[kind] for kind in areas.kinds] == ["water", "park"]
    assert [size(ring) for ring in rings(areas)] == pytest.approx([0.09, 0.64], rel=1e-4)
    assert tkm.load_streets(as_xml(nodes, ways)).report.ways_read == 6
    assert tkm.load_streets(as_xml(nodes, ways)).areas is None
    streets = tkm.load_streets(as_xml(nodes, ways), areas=True)
    assert [streets.areas.kind_names[kind] for kind in streets.areas.kinds] == ["water", "park"]
    assert [size(ring) for ring in rings(streets.areas)] == pytest.approx([0.09, 0.64], rel=1e-4)


def test_the_sample_has_the_water_of_its_city() -> None:
    areas = tkm.sample_streets("porto-alegre").areas
    check_areas(areas)
    assert "water" in {areas.kind_names[kind] for kind in areas.kinds}
    for part, damaged in (
        ("starts", areas.starts[:-1]),
        ("polygon", areas.polygon + 1_000),
        ("kinds", areas.kinds - 5),
        ("lonlat", areas.lonlat.astype(np.float64)),
        ("lonlat", np.full_like(areas.lonlat, np.nan)),
    ):
        with pytest.raises(ValueError, match="These areas are damaged"):
            check_areas(replace(areas, **{part: damaged}))


def test_an_island_is_a_hole_in_the_lake(tmp_path: Path) -> None:
    lake, outer = square(1, 0, 4)
    island, inner = square(101, 1, 2)
    path = tmp_path / "lake.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        for number, place in (lake | island).items():
            writer.add_node(osmium.osm.mutable.Node(id=number, version=1, location=place))
        for number, refs in ((1, outer), (2, inner)):
            writer.add_way(osmium.osm.mutable.Way(id=number, version=1, nodes=refs))
        members = [("w", 1, "outer"), ("w", 2, "inner")]
        tags = {"type": "multipolygon", "natural": "water"}
        writer.add_relation(osmium.osm.mutable.Relation(id=1, version=1, members=members, tags=tags))
    areas = load_areas(path)
    assert areas.polygon.tolist() == [0, 0]
    assert [size(ring) for ring in rings(areas)] == pytest.approx([16, 1], rel=1e-4)


def test_outlines_are_simplified() -> None:
    bend = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.column_stack([np.cos(bend), np.sin(bend)]) * 5 * STEP
    nodes = {i + 1: (float(x), float(y)) for i, (x, y) in enumerate(circle)}
    pond: list[Way] = [([*nodes, 1], {"natural": "water"})]
    assert len(load_areas(as_xml(nodes, pond)).lonlat) == 201
    coarse = load_areas(as_xml(nodes, pond), simplify=20)
    assert 6 < len(coarse.lonlat) < 60
    assert size(rings(coarse)[0]) == pytest.approx(np.pi * 25, rel=0.05)


def test_files_without_areas_have_none_and_broken_ones_get_a_sentence() -> None:
    assert len(load_areas(as_xml(*grid(2, 2))).kinds) == 0
    assert len(load_areas(b'{"type": "LineString", "coordinates": [[0, 0], [1, 1]]}').kinds) == 0
    with pytest.raises(tkm.StreetsError, match="damaged or incomplete"):
        load_areas(as_xml(*grid(3, 3))[:-40])
    with pytest.raises(tkm.StreetsError, match="is empty"):
        load_areas(b"")
