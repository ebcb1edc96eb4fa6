"""Facilities anywhere in the plane: the proven bound, the gap and the seconds, on the sample cities.

The plan is the best of `TiltedKMeans` with its default search. The target is a gap of 0.1 %, of 1 % for Porto Alegre's
hexagons and the 10,000 generated homes.
"""

import math
import time

from tqdm import tqdm

from benchmarks.solver import Row
from tkm_core import TiltedKMeans, load_sample, prove

CITIES = (
    ("sacramento", 6, 0.1),
    ("sacramento", 10, 0.1),
    ("san-francisco", 5, 0.1),
    ("toulouse", 8, 0.1),
    ("porto-alegre", 8, 1.0),
    ("generated", 6, 1.0),
)
SETTINGS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, math.inf)
SECONDS = 20.0


def run() -> list[Row]:
    """The gap proven within twenty seconds, by city, number of facilities and t."""
    rows: list[Row] = []
    for (name, k, target), t in tqdm([(city, t) for city in CITIES for t in SETTINGS], desc="plane"):
        residents = load_sample(name)
        X, people = residents.xy, residents.weights
        model = TiltedKMeans(k, t=t, criterion="city", scale="auto", random_state=0).fit(
            X, sample_weight=people
        )
        start = time.perf_counter()
        found = prove(
            X,
            model.cluster_centers_,
            t=t,
            sample_weight=people,
            scale="auto",
            seconds=SECONDS,
            random_state=0,
        )
        seconds = time.perf_counter() - start
        costs = f"cost {found.cost / found.scale**2:.6f}, bound {found.bound / found.scale**2:.6f}"
        case = f"{name}, {len(residents):,} places, k = {k}, t = {t:g}: {costs}, {seconds:.1f} s"
        rows.append({"case": case, "measured": 100 * found.gap, "unit": "%", "target": target})
    return rows
