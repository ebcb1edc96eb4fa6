"""The successors and rivals of tilted k-means against it and k-means++, in cost, reach and fairness."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.methods import towns
from benchmarks.solver import paper_like
from tkm_core import evaluate
from tkm_core.arrays import Floats
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods import run_method

K, TILT, SEEDS = 4, 0.1, 3
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "TKM": ("tkm", {"t": TILT}),
    "k-means++": ("kmeans++", {}),
    "MV": ("mv", {}),
    "FastTKM": ("fasttkm", {"t": TILT}),
    "FastTKM with the published slip": ("fasttkm", {"t": TILT, "squared": False}),
    "LSPP": ("lspp", {}),
    "CDCS": ("cdcs", {}),
    "minimax": ("minimax", {}),
}
TOWN_K, TOWN_SIZES = 6, (1_000, 300_000)
Row = dict[str, str | float | None]


def measured(X: Floats) -> dict[str, Floats]:
    """Tilted SSE, SSE, largest distance and fairness ratio of each rival, median of the seeds."""
    radius = neighbourhood_radius(X, K)
    found = {}
    for label, (name, options) in RIVALS.items():
        runs = []
        for seed in range(SEEDS):
            centers = run_method(name, X, K, random_state=seed, **options).centers
            e = evaluate(X, centers, t=TILT, neighbourhood=radius)
            runs.append([e.tilted_sse, e.sse, e.largest_distance, e.fairness_ratio])
        found[label] = np.median(np.array(runs, dtype=np.float64), axis=0)
    return found


def on_tables() -> Iterator[Row]:
    """Every rival on the tables of the quality benchmark, against TKM's tilted SSE and against k-means++."""
    tables = [measured(X) for X in tqdm(paper_like().values(), desc="rivals", leave=False)]
    for label in RIVALS:
        cost = np.array([100 * (each[label][0] / each["TKM"][0] - 1) for each in tables])
        plain = np.array([100 * (each[label] / each["k-means++"] - 1) for each in tables])
        radii = max(float(each[label][3]) for each in tables)
        for what, value, unit in (
            (f"tilted SSE above TKM's, median (worst {cost.max():.1f} %)", float(np.median(cost)), "%"),
            ("SSE above k-means++'s, median", float(np.median(plain[:, 1])), "%"),
            ("farthest resident against k-means++, median", float(np.median(plain[:, 2])), "%"),
            ("neighbourhood radii of the worst-off, at most", radii, "radii"),
        ):
            yield {"case": f"{label}, {len(tables)} tables, k = {K}: {what}", "measured": value, "unit": unit}


def on_towns() -> Iterator[Row]:
    """Fair-Lloyd's worst group and minimax' farthest resident against k-means++ on towns."""
    for n in TOWN_SIZES:
        X = towns(n)
        groups = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
        costs: dict[str, tuple[float, float, float]] = {}
        for name in ("kmeans++", "fair-lloyd", "minimax"):
            centers = run_method(name, X, TOWN_K, groups=groups, random_state=0).centers
            f = np.min([((X - c) ** 2).sum(axis=1) for c in centers], axis=0)
            worst = max(float(f[groups == g].mean()) for g in range(4))
            costs[name] = worst, float(f.mean()), float(np.sqrt(f.max()))
        plain, fair, far = (costs[name] for name in ("kmeans++", "fair-lloyd", "minimax"))
        at = f"towns, n = {n:,}, k = {TOWN_K}"
        yield {
            "case": f"Fair-Lloyd, {at}: worst group's mean squared distance ({plain[0]:.2f} by k-means++; SSE "
            f"{100 * (fair[1] / plain[1] - 1):+.0f} %)",
            "measured": fair[0],
            "unit": "",
            "target": plain[0],
        }
        yield {
            "case": f"minimax, {at}: farthest resident ({plain[2]:.2f} by k-means++; its SSE "
            f"{far[1] / plain[1]:.1f} times)",
            "measured": far[2],
            "unit": "",
            "target": plain[2],
        }


def run() -> list[Row]:
    """All rows of this benchmark."""
    return [*on_tables(), *on_towns()]
