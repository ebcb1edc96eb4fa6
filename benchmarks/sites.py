"""Sites and capacities: speed, proven gaps and memory, with spopt, kmedoids and k-means-constrained as peers.

Seconds are processor seconds, which hardly depend on other work on the machine. The other libraries are optional:
``pip install --group bench`` installs them; without one, its row says so.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import cdist
from tqdm import tqdm

from benchmarks.solver import Row, city
from tkm_core import capacity_path, distance_scale, site_path, tilted_path
from tkm_core.arrays import Floats, Ints

STOPS = np.append(0.0, np.geomspace(0.01, 100.0, 56))

# Runs in its own process: processor seconds and peak memory in bytes.
LARGE = """
import resource, time, numpy as np
from benchmarks.sites import STOPS, road_table
from tkm_core import distance_scale, site_path
site_path(road_table(50, 20)[0], 3, t=[0, 1])
distances, people = road_table(20_000, 1_000)
distances = distances.astype(np.float32)
dial = STOPS / distance_scale(distances, people) ** 2
start = time.process_time()
site_path(distances, 8, t=dial, sample_weight=people, random_state=0)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def road_table(n: int, m: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Minutes on foot along the streets of a made-up city, and the people of each place.

    Crooked blocks of 90 m with gaps, and a river with a bridge every kilometre or so: like Porto Alegre, where a trip
    is a third longer than the straight line, and much longer for some.
    """
    rng = np.random.default_rng(seed)
    side = max(133, math.ceil(1.1 * math.sqrt(n)))
    row, column = np.divmod(np.arange(side * side), side)
    places = np.column_stack([column, row]) * 90.0 + rng.normal(0, 15, (side * side, 2))
    river = column == side // 3
    bridge = row % 12 == 0
    east, north = np.flatnonzero(column < side - 1), np.flatnonzero(row < side - 1)
    east = east[(rng.random(len(east)) < 0.88) & (~river[east] | bridge[east])]
    north = north[rng.random(len(north)) < 0.88]
    tails, heads = np.concatenate([east, north]), np.concatenate([east + 1, north + side])
    metres = np.linalg.norm(places[tails] - places[heads], axis=1)
    streets = csr_array((metres / 80, (tails, heads)), shape=(side * side,) * 2)
    part = connected_components(streets, directed=False)[1]
    joined = np.flatnonzero(part == np.bincount(part).argmax())
    homes, sites = (np.sort(rng.choice(joined, size, replace=False)) for size in (n, m))
    away = np.linalg.norm(places[homes] - places.mean(axis=0), axis=1)
    people = np.round(rng.lognormal(6.5, 0.8, n) * np.exp(-away / 5_000))
    return np.concatenate(list(_rows(streets, sites, homes))).T, people


def _rows(streets: csr_array, sites: Ints, homes: Ints) -> Iterator[Floats]:
    """Minutes from sites to homes, a hundred sites at a time."""
    for start in range(0, len(sites), 100):
        yield dijkstra(streets, directed=False, indices=sites[start : start + 100])[:, homes]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def missing(peer: str, what: str) -> Row:
    """The row for a library that is not installed."""
    return {"case": f"{what}: {peer} is not installed (pip install {peer})", "measured": None}


def path() -> Iterator[Row]:
    """A table of Porto Alegre's size: the path, and the gaps proven within half a minute."""
    distances, people = road_table(1_227, 1_115)
    dial = STOPS / distance_scale(distances, people) ** 2
    took, found = timed(lambda: site_path(distances, 8, t=dial, sample_weight=people, random_state=0))
    yield {
        "case": "path of 57 t with first bounds, 1,227 residents × 1,115 sites, k = 8",
        "measured": took,
        "unit": "s",
        "target": 10.0,
    }
    with patch("tkm_core.sites.solver.monotonic", time.process_time):
        better = found.improve(30.0)
    gaps = ", ".join(f"{stop:.2g}: {100 * gap:.2g} %" for stop, gap in zip(STOPS, better.gap, strict=True))
    yield {
        "case": f"its median gap after 30 s of proving ({int(better.proved.sum())} of 57 proven best; by t: {gaps})",
        "measured": 100 * float(np.median(better.gap)),
        "unit": "%",
        "target": 0.5,
    }


def large() -> Iterator[Row]:
    """20,000 residents and 1,000 sites."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    took, memory = (float(word) for word in done.stdout.split())
    case = "path of 57 t, 20,000 residents × 1,000 sites, k = 8"
    yield {"case": case, "measured": took, "unit": "s", "target": 60.0}
    yield {"case": f"memory of the {case}", "measured": memory / 2**30, "unit": "GB", "target": 2.0}


def against_spopt() -> Iterator[Row]:
    """Both ends of the dial with proof, p-median and p-center, against spopt's models in HiGHS."""
    distances, people = road_table(300, 60)
    live = people > 0
    took, found = timed(
        lambda: site_path(distances, 6, t=[0.0, np.inf], sample_weight=people, random_state=0).improve(60.0)
    )
    try:
        locate, pulp = import_module("spopt.locate"), import_module("pulp")
    except ModuleNotFoundError:
        yield missing("spopt", "p-median and p-center, 300 × 60, k = 6")
        return
    solver = pulp.HiGHS(msg=False)
    median = locate.PMedian.from_cost_matrix(distances**2, people, p_facilities=6)
    center = locate.PCenter.from_cost_matrix(distances[live], p_facilities=6)
    theirs = timed(lambda: median.solve(solver))[0] + timed(lambda: center.solve(solver))[0]
    values = median.problem.objective.value() / people.sum(), center.problem.objective.value() ** 2
    above = float((found.city_cost / values - 1).max())
    yield {
        "case": f"p-median and p-center proven, 300 × 60, k = 6, against spopt with HiGHS ({theirs:.1f} s)",
        "measured": theirs / took,
        "unit": "× faster",
        "target": 10.0,
        "least": 1.0,
    }
    yield {
        "case": "cost above spopt's there, the worse of the two",
        "measured": 100 * above,
        "unit": "%",
        "target": 1e-4,
    }


def against_medoids() -> Iterator[Row]:
    """The end t = 0, with every resident as a site, against FasterPAM."""
    homes = city(2_000)
    squared = cdist(homes, homes, "sqeuclidean")
    took, found = timed(lambda: site_path(np.sqrt(squared), 10, t=[0.0], random_state=0))
    try:
        kmedoids = import_module("kmedoids")
    except ModuleNotFoundError:
        yield missing("kmedoids", "t = 0, 2,000 residents on their own sites, k = 10")
        return
    theirs, best = timed(
        lambda: min(kmedoids.fasterpam(squared, 10, random_state=seed).loss for seed in range(10))
    )
    yield {
        "case": f"cost at t = 0 above the best of ten FasterPAM, n = 2,000, k = 10 ({took:.2f} s against {theirs:.2f})",
        "measured": 100 * (float(found.city_cost[0]) * len(homes) / best - 1),
        "unit": "%",
        "target": 0.1,
    }


def capacities() -> Iterator[Row]:
    """Limited room in the plane, against the path without limits and k-means-constrained."""
    homes = city(10_000)
    most = int(1.1 * len(homes) / 8)
    capacity_path(homes[:300], 3, 110, t=[0.0, 1.0], random_state=0)
    free, _ = timed(lambda: tilted_path(homes, 8, criterion="city", random_state=0))
    took, _ = timed(lambda: capacity_path(homes, 8, most, random_state=0))
    yield {
        "case": f"path of 61 t with room for 1.1 times the average, n = 10,000, k = 8, over the free ({free:.1f} s)",
        "measured": took / free,
        "unit": "×",
        "target": 10.0,
    }
    took, limited = timed(lambda: capacity_path(homes, 8, most, t=[0.0], random_state=0))
    try:
        constrained = import_module("k_means_constrained")
    except ImportError:  # also if the HiGHS in its OR-Tools cannot be loaded together with ours
        yield missing("k-means-constrained", "t = 0 with limited room")
        return
    model = constrained.KMeansConstrained(8, size_max=most, n_init=1, random_state=0)
    theirs, fitted = timed(lambda: model.fit(homes))
    yield {
        "case": f"cost at t = 0 above k-means-constrained ({took:.1f} s against {theirs:.1f})",
        "measured": 100 * (float(limited.city_cost[0]) * len(homes) / fitted.inertia_ - 1),
        "unit": "%",
        "target": 0.5,
    }


def run() -> list[Row]:
    """All rows of this benchmark."""
    distances, people = road_table(60, 20)
    # Loads everything before measuring.
    site_path(distances, 3, sample_weight=people).improve(1.0)
    parts = (path, large, against_spopt, against_medoids, capacities)
    return [row for part in tqdm(parts, desc="sites", leave=False) for row in part()]
