"""The solver against the paper's SGD, many restarts and scikit-learn's KMeans, all in one run."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from tkm_core import TiltedKMeans, load_sample, tilted_path
from tkm_core.arrays import Floats
from tkm_core.clustering import FARTHEST, KMEANS_PP, RESIDENTS, Problem, descend_all, seeds

TILTS = (0.01, 0.1, 1.0, 10.0, 100.0)
PAPER: dict[str, Any] = {"solver": "sgd", "max_iter": 500, "n_epochs": 5, "learning_rate": 0.05}
RESTARTS, SEEDS = 1_000, 10
Row = dict[str, str | float | None]

# Runs in its own process: seconds of a fit, peak bytes beyond the input, bytes of the input.
LARGEST = """
import resource, time, numpy as np
from tkm_core import TiltedKMeans
rng = np.random.default_rng(0)
X = rng.normal(size=(5_000_000, 8))
X[:1_000_000] += 3
TiltedKMeans(4, t=0.1, random_state=0).fit(X[:70_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
TiltedKMeans(4, t=0.1, random_state=0).fit(X)
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, X.nbytes)
"""


def city(n: int, d: int = 2, seed: int = 0) -> Floats:
    """Residents of a dense middle, suburbs and a few strays, of unit spread."""
    rng = np.random.default_rng(seed)
    far = n // 50
    near = (n - far) * 7 // 10
    X = np.vstack(
        [
            rng.normal(size=(near, d)) * 0.3,
            rng.normal(size=(n - far - near, d)) * 1.2,
            rng.uniform(-4, 4, size=(far, d)),
        ]
    )
    return rng.permutation(X / np.sqrt((X**2).mean()))


def paper_like() -> dict[str, Floats]:
    """Standardised tables of about a thousand rows, as the paper samples them: round, lumpy, heavy-tailed."""
    rng = np.random.default_rng(0)
    tables = {
        "wine (13 columns)": load_wine().data,
        "blobs (2)": make_blobs(1000, centers=12, random_state=3, cluster_std=1.5)[0],
        "log-normal (3)": rng.lognormal(sigma=1.0, size=(1000, 3)),
        "Gaussian (6)": rng.normal(size=(1000, 6)),
        "Sacramento homes (2)": load_sample("sacramento").scaled,
        "city with strays (2)": city(1000),
    }
    return {name: np.ascontiguousarray(StandardScaler().fit_transform(X)) for name, X in tables.items()}


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of several runs, which is the least disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def best_of_restarts(X: Floats, k: int, t: float, count: int = RESTARTS) -> float:
    """Lowest tilted SSE of many descents from k-means++ seeds, random residents and farthest-first."""
    w = np.ones(len(X))
    problem = Problem.of(X, w, k)
    starts = np.empty((count, k, X.shape[1]))
    for i in range(count):
        seeds(X, w, starts[i], k, (KMEANS_PP, RESIDENTS, FARTHEST)[i % 3], i)
    return float(descend_all(problem, starts, t)[1][:, 1].min())


def quality() -> Iterator[Row]:
    """Tilted SSE of the worst seed against the best of five SGD runs and of a thousand restarts, for each cell."""
    over_sgd, over_restarts, better, missed = [], [], 0, 0
    cells = [(name, X, k, t) for name, X in paper_like().items() for k in (4, 8) for t in TILTS]
    for _, X, k, t in tqdm(cells, desc="quality", leave=False):
        found = [TiltedKMeans(k, t=t, random_state=seed).fit(X).tilted_sse_ for seed in range(SEEDS)]
        ours = max(found)
        sgd = min(TiltedKMeans(k, t=t, random_state=s, **PAPER).fit(X).tilted_sse_ for s in range(5))
        restarts = best_of_restarts(X, k, t)
        over_sgd.append(ours / sgd - 1)
        over_restarts.append(ours / restarts - 1)
        better += ours < restarts * (1 - 1e-3)
        missed += sum(each > restarts * (1 + 1e-3) for each in found)
    yield {
        "case": f"tilted SSE above the best of 5 SGD runs, worst of {SEEDS} seeds, worst of {len(cells)} cells "
        "(6 tables, k 4 and 8, t 0.01 to 100)",
        "measured": 100 * max(over_sgd),
        "unit": "%",
        "target": 0.0,
    }
    yield {
        "case": f"tilted SSE above the best of {RESTARTS:,} restarts, worst of {SEEDS} seeds in the worst of "
        f"{len(cells)} cells (median {100 * float(np.median(over_restarts)):.2f} %, lower by over 0.1 % in {better}; "
        f"{missed} of {SEEDS * len(cells)} fits above by over 0.1 %)",
        "measured": 100 * max(over_restarts),
        "unit": "%",
        "target": 0.1,
    }


def against_sgd() -> Iterator[Row]:
    """Time of SGD at the paper's settings divided by ours, including our search."""
    for n, goal in ((1_000, 100), (10_000, 100), (100_000, 300)):
        X = city(n, 3)
        ours = seconds(partial(TiltedKMeans(4, t=0.1, random_state=0).fit, X), 5)
        paper = TiltedKMeans(4, t=0.1, batch_size=max(100, n // 50), random_state=0, **PAPER)
        sgd = seconds(partial(paper.fit, X), 1)
        yield {
            "case": f"times faster than the SGD (500 iterations, 5 epochs), n = {n:,}, d = 3, k = 4, t = 0.1",
            "measured": sgd / ours,
            "unit": "× faster",
            "target": float(goal),
            "least": 1.0,
        }


def against_kmeans() -> Iterator[Row]:
    """One fit and whole paths against one KMeans fit of a million residents."""
    million = city(1_000_000)
    kmeans = seconds(lambda: KMeans(10, n_init=1, random_state=0).fit(million))
    fit = seconds(lambda: TiltedKMeans(10, t=0.1, random_state=0).fit(million))
    yield {
        "case": f"one fit, n = 1,000,000, d = 2, k = 10, t = 0.1, against KMeans(n_init=1) ({kmeans:.2f} s)",
        "measured": fit / kmeans,
        "unit": "×",
        "target": 1.5,
    }
    for n in (10_000, 100_000, 1_000_000):
        X = million[:n]
        path = seconds(partial(tilted_path, X, 10, random_state=0), 1)
        yield {
            "case": f"path of 61 t, n = {n:,}, k = 10, against that KMeans fit of 1,000,000",
            "measured": path / kmeans,
            "unit": "×",
            "target": 3.0,
        }


def largest() -> Iterator[Row]:
    """The paper's largest case, which took it 1,902 s on 24 cores."""
    done = subprocess.run([sys.executable, "-c", LARGEST], capture_output=True, text=True, check=True)
    took, beyond, size = (float(word) for word in done.stdout.split())
    yield {
        "case": "n = 5,000,000, d = 8, k = 4 (the paper: 1,902 s)",
        "measured": took,
        "unit": "s",
        "target": 30.0,
    }
    yield {
        "case": "its memory beyond the input, over the input's",
        "measured": beyond / size,
        "unit": "×",
        "target": 1.0,
    }


def growth() -> Iterator[Row]:
    """The exponent of time against n from 10,000 to 5,000,000."""
    sizes = (10_000, 50_000, 200_000, 1_000_000, 5_000_000)
    X = city(sizes[-1])
    model = TiltedKMeans(4, t=0.1, random_state=0)
    times = [seconds(partial(model.fit, X[:n])) for n in tqdm(sizes, "growth", leave=False)]
    spelled = ", ".join(f"{n:,}: {s:.2f} s" for n, s in zip(sizes, times, strict=True))
    yield {
        "case": f"exponent of time against n, d = 2, k = 4 ({spelled})",
        "measured": float(np.polyfit(np.log(sizes), np.log(times), 1)[0]),
        "unit": "",
        "target": 1.0,
    }


def run() -> list[Row]:
    """All rows of this benchmark."""
    # Compiles and loads everything before measuring.
    tilted_path(city(500), 3, random_state=0)
    parts = (against_sgd, against_kmeans, growth, largest, quality)
    return [row for part in tqdm(parts, desc="solver", leave=False) for row in part()]
