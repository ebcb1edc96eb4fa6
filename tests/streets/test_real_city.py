"""Travel times in a real city against every point of every street, read by osmium and searched by scipy."""

from collections import Counter
from itertools import pairwise

import numpy as np
import osmium
import pytest
from pyproj import Geod
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

import tkm_core as tkm
from tkm_core.streets import load_rules

FASTEST = {
    "walk": 4.8,
    "bicycle": 16.0,
    "car": 110.0,
}  # km/h, the most that the table and the city's signs allow


def every_point(mode: str) -> tuple[csr_array, dict[tuple[float, float], int]]:
    """Minutes between neighbouring points of all streets, and the number of each place that stands there once."""
    rules = load_rules(mode)
    places: dict[int, tuple[float, float]] = {}
    pieces: list[tuple[int, int, float]] = []
    for way in osmium.FileProcessor(str(tkm.SAMPLES["porto-alegre"].streets_path)).with_locations():
        if not isinstance(way, osmium.osm.Way):
            continue
        ahead, back = rules.speeds({tag.k: tag.v for tag in way.tags})
        if ahead <= 0 and back <= 0:
            continue
        points = [node.ref for node in way.nodes if node.location.valid()]
        places |= {node.ref: (node.lon, node.lat) for node in way.nodes if node.location.valid()}
        for a, b in pairwise(points):
            pieces += [(a, b, ahead)] * (ahead > 0) + [(b, a, back)] * (back > 0)
    number = {ref: place for place, ref in enumerate(places)}
    tails, heads = (np.array([number[int(piece[end])] for piece in pieces], np.int32) for end in (0, 1))
    lonlat = np.array(list(places.values()))
    metres = Geod(ellps="WGS84").inv(*lonlat[tails].T, *lonlat[heads].T)[2]
    minutes = np.maximum(0.06 * metres / np.array([piece[2] for piece in pieces]), 1e-12)
    order = np.lexsort((minutes, heads, tails))  # of a street drawn twice, the quicker
    first = np.concatenate([[True], (np.diff(tails[order]) != 0) | (np.diff(heads[order]) != 0)])
    kept = order[first]
    graph = csr_array((minutes[kept], (tails[kept], heads[kept])), shape=(len(places),) * 2)
    seen = Counter(places.values())
    return graph, {place: number[ref] for ref, place in places.items() if seen[place] == 1}


@pytest.mark.parametrize("mode", ["walk", "bicycle", "car"])
def test_times_in_porto_alegre_are_those_along_every_point_of_its_streets(mode: str) -> None:
    streets = tkm.sample_streets("porto-alegre", mode=mode)
    graph, number = every_point(mode)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(streets.lonlat), 250, replace=False)
    known = [junction for junction in drawn if tuple(streets.lonlat[junction].tolist()) in number]
    assert len(known) > 200
    nodes = np.array([number[tuple(streets.lonlat[junction].tolist())] for junction in known])
    ours = streets.travel_times(streets.at_junctions(known[:40]), streets.at_junctions(known))
    truth = dijkstra(graph, indices=nodes[:40])[:, nodes]
    np.testing.assert_allclose(ours, truth, atol=1e-5)
    back = streets.travel_times(
        streets.at_junctions(known), streets.at_junctions(known[:40]), direction="back"
    )
    np.testing.assert_allclose(back, truth.T, atol=1e-5)
    lonlat = streets.lonlat[known]
    apart = Geod(ellps="WGS84").inv(
        *(np.repeat(lonlat[:40, axis], len(known)) for axis in (0, 1)), *np.tile(lonlat.T, (1, 40))
    )[2]
    assert (ours.ravel() >= 0.06 * apart / FASTEST[mode] - 1e-6).all()


@pytest.mark.parametrize("mode", ["walk", "car"])
def test_the_largest_part_of_porto_alegre_is_what_scipy_finds(mode: str) -> None:
    streets = tkm.sample_streets("porto-alegre", mode=mode)
    graph, number = every_point(mode)
    _, part = connected_components(graph, directed=True, connection="strong")
    largest = np.bincount(part).argmax()
    inside = [number[place] for place in map(tuple, streets.lonlat.tolist()) if place in number]
    assert (part[inside] == largest).all()
    assert streets.report.km_cut_off < 0.05 * streets.report.km


def test_almost_everyone_in_porto_alegre_lives_by_a_street() -> None:
    residents, streets = tkm.load_sample("porto-alegre"), tkm.sample_streets("porto-alegre")
    assert residents.weights[streets.far(residents.lonlat)].sum() < 0.01 * residents.weights.sum()
    assert streets.attribution == "© OpenStreetMap contributors"
    line = b'{"type": "LineString", "coordinates": [[0, 0], [0.004, 0], [0.00898, 0]]}'
    assert tkm.load_streets(line).attribution == ""
    with pytest.raises(tkm.StreetsError, match="There is no sample called 'atlantis'"):
        tkm.sample_streets("atlantis")
