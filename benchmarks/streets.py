"""Streets: reading and building a network, travel times against other libraries, and half a million junctions."""

import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import osmium
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from tkm_core import SAMPLES, load_sample, make_plan
from tkm_core.arrays import Floats, Ints
from tkm_core.streets import Streets, load_streets, sample_streets

SOURCES, TARGETS = 1_000, 20_000
SIDE = 160  # blocks along the generated city: some 25,000 junctions
# Copies of Porto Alegre from west to east and from south to north: more than 500,000 junctions.
TILES = (6, 5)
KINDS = ("residential", "residential", "residential", "tertiary", "primary")
GIGABYTES = 4.0

# Runs in its own process, because the peak memory of a process never falls.
MEASURE_REGION = """
import sys, time
import numpy as np
from tkm_core.streets import load_streets

told = []
streets = load_streets(sys.argv[1], mode="walk", progress=lambda done, text: told.append(done))
places = streets.lonlat[np.random.default_rng(0).integers(0, len(streets.lonlat), 20_000)]
table = streets.travel_times(places[:50], places, dtype=np.float32, progress=lambda done, text: told.append(done))
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(streets.lonlat), np.isfinite(table).all(), len(told), peak / 2**20, time.process_time())
"""


def write_city(path: Path) -> None:
    """A city of crooked blocks with gaps, one-way streets and bends between crossings."""
    rng, side = np.random.default_rng(0), SIDE
    with osmium.SimpleWriter(str(path), overwrite=True) as writer:
        shift = rng.normal(0, 0.0001, (side, side, 2))
        for row in range(side):
            for column in range(side):
                lon, lat = column * 0.001 + shift[row, column, 0], 45 + row * 0.0007 + shift[row, column, 1]
                for bend in range(3):  # the crossing, and a bend to the east and to the north of it
                    east, north = (0.0005 if bend == 1 else 0.0), (0.00035 if bend == 2 else 0.0)
                    number = 3 * (row * side + column) + bend + 1
                    place = (lon + east, lat + north)
                    writer.add_node(osmium.osm.mutable.Node(id=number, version=1, location=place))
        number = 0
        for row in range(side):
            for column in range(side):
                here = 3 * (row * side + column) + 1
                for bend, there in ((1, here + 3), (2, here + 3 * side)):
                    inside = column + 1 < side if bend == 1 else row + 1 < side
                    if not inside or rng.random() < 0.1:
                        continue
                    number += 1
                    kind = KINDS[(row if bend == 1 else column) % len(KINDS)]
                    tags = {"highway": kind, "name": f"Street {number}"}
                    if rng.random() < 0.15:
                        tags["oneway"] = "yes"
                    way = osmium.osm.mutable.Way(
                        id=number, version=1, nodes=[here, here + bend, there], tags=tags
                    )
                    writer.add_way(way)


def write_region(path: Path) -> None:
    """Copies of Porto Alegre side by side, with a road from each to the next."""
    file = SAMPLES["porto-alegre"].streets_path
    streets = sample_streets("porto-alegre")
    joined = set(map(tuple, streets.lonlat.round(7).tolist()))
    nodes: list[tuple[int, float, float]] = []
    ways: list[tuple[list[int], dict[str, str]]] = []
    ends: list[tuple[int, float, float]] = []  # junctions of the connected part
    for one in osmium.FileProcessor(str(file)):
        if isinstance(one, osmium.osm.Node) and one.location.valid():
            nodes.append((one.id, one.lon, one.lat))
            if (round(one.lon, 7), round(one.lat, 7)) in joined:
                ends.append(nodes[-1])
        elif isinstance(one, osmium.osm.Way) and "highway" in one.tags:
            ways.append(([node.ref for node in one.nodes], dict(one.tags)))
    number, lon, lat = (np.array(column) for column in zip(*ends, strict=True))
    west, east, south, north = (
        int(number[at]) for at in (lon.argmin(), lon.argmax(), lat.argmin(), lat.argmax())
    )
    wide, high = np.ptp(lon) + 0.002, np.ptp(lat) + 0.002
    shift = max(node for node, _, _ in nodes) + 1
    across, up = TILES
    with osmium.SimpleWriter(str(path), overwrite=True) as writer:
        for tile in range(across * up):
            move = (tile % across) * wide, (tile // across) * high
            for node, x, y in nodes:
                place = (x + move[0], y + move[1])
                writer.add_node(osmium.osm.mutable.Node(id=node + tile * shift, version=1, location=place))
        count = 0
        for tile in range(across * up):
            roads = [([node + tile * shift for node in refs], tags) for refs, tags in ways]
            if (tile + 1) % across:
                roads.append(([east + tile * shift, west + (tile + 1) * shift], {"highway": "primary"}))
            if tile + across < across * up:
                roads.append(
                    ([north + tile * shift, south + (tile + across) * shift], {"highway": "primary"})
                )
            for refs, tags in roads:
                count += 1
                writer.add_way(osmium.osm.mutable.Way(id=count, version=1, nodes=refs, tags=tags))


def processor_seconds(action: Callable[[], object], runs: int = 2) -> float:
    """Processor seconds of all cores, which hardly depend on other work; the best of the runs."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def arcs(streets: Streets) -> tuple[Ints, Ints, Floats]:
    """Tails, heads and minutes of every open direction; the quickest if there are two."""
    network = streets.network
    two_way = network.backward > 0
    tails = np.concatenate([network.start, network.end[two_way]]).astype(np.int64)
    heads = np.concatenate([network.end, network.start[two_way]]).astype(np.int64)
    minutes = 0.06 * np.concatenate(
        [network.metres / network.forward, network.metres[two_way] / network.backward[two_way]]
    )
    order = np.lexsort((minutes, heads, tails))
    first = np.concatenate([[True], (np.diff(tails[order]) != 0) | (np.diff(heads[order]) != 0)])
    order = order[first]
    return tails[order], heads[order], minutes[order]


Table = Callable[[Ints, Ints], Floats]


def with_scipy(streets: Streets) -> Table:
    """Tables by scipy's Dijkstra."""
    tails, heads, minutes = arcs(streets)
    graph = csr_array((minutes, (tails, heads)), shape=(len(streets.lonlat),) * 2)
    return lambda sources, targets: dijkstra(graph, indices=sources)[:, targets]


def with_igraph(streets: Streets) -> Table:
    """Tables by igraph."""
    igraph = importlib.import_module("igraph")
    tails, heads, minutes = arcs(streets)
    graph = igraph.Graph(n=len(streets.lonlat), edges=np.column_stack([tails, heads]), directed=True)
    weights = minutes.tolist()

    def table(sources: Ints, targets: Ints) -> Floats:
        unique, back = np.unique(targets, return_inverse=True)
        return np.array(graph.distances(sources.tolist(), unique.tolist(), weights=weights))[:, back]

    return table


def with_pandana(streets: Streets) -> Table:
    """Tables by pandana, in thousandths of minutes because it rounds every edge to a thousandth."""
    pandas, pandana = (importlib.import_module(name) for name in ("pandas", "pandana"))
    tails, heads, minutes = arcs(streets)
    x, y = (pandas.Series(column) for column in streets.lonlat.T)
    cost = pandas.DataFrame({"cost": 1000 * minutes})
    network = pandana.Network(x, y, pandas.Series(tails), pandas.Series(heads), cost, twoway=False)

    def table(sources: Ints, targets: Ints) -> Floats:
        rows = [network.shortest_path_lengths(np.full(len(targets), source), targets) for source in sources]
        return np.array(rows) / 1000

    return table


PEERS = {"scipy": (with_scipy, SOURCES), "igraph": (with_igraph, SOURCES), "pandana": (with_pandana, 10)}


def travel_rows(streets: Streets) -> list[dict[str, Any]]:
    """1,000 x 20,000 travel times by us and by each installed library; slow ones use fewer sources."""
    rng = np.random.default_rng(0)
    sources = rng.choice(len(streets.lonlat), SOURCES, replace=False)
    targets = rng.integers(0, len(streets.lonlat), TARGETS)
    start, end = streets.at_junctions(sources), streets.at_junctions(targets)
    truth = streets.travel_times(start.take(slice(10)), end)  # compiles, and makes the graph
    ours = processor_seconds(lambda: streets.travel_times(start, end))
    what = f"{SOURCES:,} × {TARGETS:,} travel times on {len(streets.lonlat):,} junctions"
    rows: list[dict[str, Any]] = [{"case": f"{what}: processor seconds", "measured": ours, "unit": "s"}]
    for name, (make, few) in PEERS.items():
        case = f"{what}, against {name}{'' if few == SOURCES else f' (measured from {few} of the sources)'}"
        try:
            table = make(streets)
        except ModuleNotFoundError:
            rows.append({"case": f"{case}, which is not installed", "measured": None})
            continue
        worst = float(np.max(np.abs(table(sources[:10], targets) - truth)))
        assert worst < 0.001, f"{name} differs by {worst} minutes"
        seconds = processor_seconds(lambda: table(sources[:few], targets), runs=1) * SOURCES / few  # noqa: B023
        rows.append({"case": case, "measured": ours / seconds, "target": 1.0})
    return rows


def with_pyrosm(file: Path) -> object:
    """Junctions and streets by pyrosm, out of the .osm.pbf."""
    pyrosm = importlib.import_module("pyrosm")
    return pyrosm.OSM(str(file)).get_network(network_type="driving", nodes=True)


def with_osmnx(file: Path) -> object:
    """A graph by osmnx, which reads XML only."""
    osmnx = importlib.import_module("osmnx")
    return osmnx.graph_from_xml(file.with_suffix("").with_suffix(".osm"), simplify=True)


def reading_rows(folder: Path) -> list[dict[str, Any]]:
    """Reading Porto Alegre and building a network, per km of street, against libraries that read the same file."""
    city = folder / "porto-alegre.osm.pbf"
    shutil.copy(SAMPLES["porto-alegre"].streets_path or "", city)
    with osmium.SimpleWriter(str(folder / "porto-alegre.osm"), overwrite=True) as writer:
        for one in osmium.FileProcessor(str(city)):
            writer.add(one)
    streets = load_streets(city, mode="car")
    ours = processor_seconds(lambda: load_streets(city, mode="car"))
    what = f"reading {city.stat().st_size / 2**20:.1f} MB and building"
    case = f"{what}, processor seconds for 1,000 km of street"
    rows: list[dict[str, Any]] = [{"case": case, "measured": ours / streets.report.km * 1000, "unit": "s"}]
    for name, read in (("pyrosm", with_pyrosm), ("osmnx (XML)", with_osmnx)):
        try:
            importlib.import_module(name.split()[0])
        except ModuleNotFoundError:
            rows.append({"case": f"{what}, against {name}, which is not installed", "measured": None})
            continue
        theirs = processor_seconds(lambda: read(city), runs=1)  # noqa: B023
        rows.append(
            {"case": f"{what}, against {name} ({theirs:.1f} s)", "measured": ours / theirs, "target": 1.0}
        )
    return rows


def porto_alegre() -> dict[str, Any]:
    """From the sample's files to a plan at every setting of the dial, with facilities refined on junctions."""
    few = load_sample("porto-alegre")
    make_plan(few, 1, streets=sample_streets("porto-alegre"), t=[0.0, 1.0])  # compiles
    start = time.process_time()
    residents, streets = load_sample("porto-alegre"), sample_streets("porto-alegre")
    plan = make_plan(residents, 8, streets=streets)
    took = time.process_time() - start
    case = f"Porto Alegre on foot, from the files to a plan, k = 8, at every t ({len(plan)} differ): processor seconds"
    return {"case": case, "measured": took, "unit": "s", "target": 30.0}


def run() -> list[dict[str, Any]]:
    """Measure all cases.

    Returns
    -------
    list of dict
        With ``case``, ``measured``, and ``target`` (the most it may be) where there is one.
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        city = Path(folder) / "city.osm.pbf"
        write_city(city)
        streets = load_streets(city, mode="car")
        rows += reading_rows(Path(folder))
        rows += travel_rows(streets)
        rows.append(porto_alegre())
        region = Path(folder) / "region.osm.pbf"
        write_region(region)
        command = [sys.executable, "-c", MEASURE_REGION, str(region)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        junctions, finite, told, gigabytes, took = done.stdout.split()
        assert finite == "True"
        assert int(told) > 1
        case = f"{int(junctions):,} junctions read, built, 50 × 20,000 travel times: peak memory"
        rows.append({"case": case, "measured": float(gigabytes), "unit": "GB", "target": GIGABYTES})
        rows.append({"case": "the same: processor seconds", "measured": float(took), "unit": "s"})
    return rows
