"""Data beyond memory: a plan for every t from Parquet on two workers, against a plain pass and the in-memory solver.

``python -m benchmarks.partitions --rows 20e6`` runs it at another size than the 100 million rows of the targets, and
``--only workers`` a part of it. Files are made in a temporary folder (1.8 GB for 100 million rows) and removed.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from sklearn.cluster import MiniBatchKMeans
from tqdm import tqdm

from benchmarks.__main__ import spelled
from tkm_core import TiltedKMeans, evaluate, tilted_path
from tkm_core.arrays import Floats

Row = dict[str, str | float | bool | None]
K = 8
ROWS, MEMORY_ROWS = 100_000_000, 5_000_000
GROUP = 1_000_000
PARTS = ("memory", "peers", "workers")


def country(n: int, seed: int) -> tuple[Floats, Floats]:
    """Homes in 200 towns and between them, with the number of people in each."""
    rng = np.random.default_rng(1)
    towns, sizes = rng.uniform(-400, 400, size=(200, 2)), rng.lognormal(sigma=1.0, size=200)
    rng = np.random.default_rng(seed)
    own = rng.choice(200, size=n, p=sizes / sizes.sum())
    X = towns[own] + rng.normal(size=(n, 2)) * (3 + 2 * np.sqrt(sizes[own]))[:, None]
    X[: n // 20] = rng.uniform(-450, 450, size=(n // 20, 2))
    return X, rng.integers(1, 7, size=n).astype(np.float64)


def write(folder: Path, n: int) -> str:
    """Write Parquet files of ten million rows each; return their glob."""
    folder.mkdir()
    for number, start in enumerate(tqdm(range(0, n, 10 * GROUP), desc=f"writing {n:,} rows", leave=False)):
        with pq.ParquetWriter(
            folder / f"{number:03}.parquet",
            pa.schema([(name, pa.float64()) for name in ("x", "y", "people")]),
        ) as file:
            for at in range(start, min(start + 10 * GROUP, n), GROUP):
                X, people = country(min(GROUP, n - at), at // GROUP)
                file.write_table(pa.table({"x": X[:, 0], "y": X[:, 1], "people": people}))
    return str(folder / "*.parquet")


def plain_pass(where: str) -> float:
    """Seconds to read every row group and add up its columns, with all of pyarrow's threads."""
    start = time.perf_counter()
    for path in sorted(Path(where).parent.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(GROUP):
                for column in batch.columns:
                    column.to_numpy().sum()
    return time.perf_counter() - start


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds taken, and the result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def planned(where: str) -> Any:
    """The plan for every t."""
    return tilted_path(where, K, criterion="city", sample_weight="people", scale="auto", random_state=0)


def processor() -> float:
    """Processor seconds of all threads of this process."""
    return time.process_time()


def peak() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run() -> list[Row]:
    """All cases at the size of the targets."""
    return list(cases(ROWS, MEMORY_ROWS, PARTS))


def cases(rows: int, few: int, parts: Sequence[str]) -> Iterator[Row]:
    """The cases of some parts, each as soon as it is measured."""
    few = min(few, rows)
    with TemporaryDirectory() as folder:
        less = write(Path(folder) / "few", few)
        if "memory" in parts or "peers" in parts:
            X, people = _in_memory(less)
            for part, work in (("memory", in_memory), ("peers", peers)):
                if part in parts:
                    yield from work(less, X, people)
            del X, people
        if "workers" not in parts:
            return
        many = write(Path(folder) / "many", rows) if few < rows else less
        spent = processor()
        plain_pass(many)
        spent = processor() - spent
        plain = min(plain_pass(many) for _ in range(2))
        seconds: dict[str, float] = {}
        memory, busy = 0, 0.0
        for workers in (2, 1):
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                planned(less)  # loads the compiled code
                if workers == 2:
                    seconds["few"] = timed(lambda: planned(less))[0]
                before = processor() + sum(client.run(processor).values())
                seconds[str(workers)] = timed(lambda: planned(many))[0]
                if workers == 2:
                    busy = processor() + sum(client.run(processor).values()) - before
                    memory = max(client.run(peak).values())
        plain = min(plain, plain_pass(many))
        at = f"{rows / 1e6:,.0f} M rows x 2 with weights, k = {K}, 61 t"
        passes, gain = seconds["2"] / plain, seconds["1"] / seconds["2"]
        found: list[Row] = [
            {
                "case": f"{at}: plan on two workers, in plain pyarrow passes",
                "measured": passes,
                "target": 6.0,
            },
            {"case": f"{at}: one plain pyarrow pass", "measured": plain, "unit": "s"},
            {"case": f"{at}: one plain pyarrow pass, processor time", "measured": spent, "unit": "s"},
            {"case": f"{at}: plan on two workers", "measured": seconds["2"], "unit": "s"},
            {"case": f"{at}: plan on two workers, processor time", "measured": busy, "unit": "s"},
            {"case": f"{at}: most memory of a worker", "measured": memory / 1e9, "unit": "GB", "target": 1.5},
            {"case": f"{at}: one worker against two", "measured": gain, "target": 1.6, "least": True},
        ]
        yield from found
        if few < rows:
            growth = seconds["2"] / seconds["few"] / (rows / few)
            case = f"growth from {few / 1e6:,.0f} M to {rows / 1e6:,.0f} M rows, in rows"
            yield {"case": case, "measured": growth, "target": 1.0}


def _in_memory(where: str) -> tuple[Floats, Floats]:
    """All rows and weights as arrays."""
    table = pa.concat_tables(pq.read_table(path) for path in sorted(Path(where).parent.glob("*.parquet")))
    return np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()]), table["people"].to_numpy()


def in_memory(where: str, X: Floats, people: Floats) -> list[Row]:
    """Costs and seconds against the in-memory solver, both in this process."""
    planned(where)
    streamed, path = timed(lambda: planned(where))
    seconds, known = timed(
        lambda: tilted_path(X, K, criterion="city", sample_weight=people, scale="auto", random_state=0)
    )
    worse = path.city_cost / known.city_cost - 1
    at = f"{len(X) / 1e6:,.0f} M rows"
    above = f"{at}: city-wide cost above that in memory"
    return [
        {"case": f"{above}, worst t", "measured": 100 * worse.max(), "unit": "%", "target": 0.1},
        {"case": f"{above}, median t", "measured": 100 * float(np.median(worse)), "unit": "%"},
        {"case": f"{at}: streamed in one process against in memory", "measured": streamed / seconds},
    ]


def peers(where: str, X: Floats, people: Floats) -> list[Row]:
    """K-means of other libraries on the same rows at t = 0: seconds and cost as multiples of ours."""
    ours, model = timed(
        lambda: TiltedKMeans(K, t=0.0, scale=1.0, random_state=0).fit(where, sample_weight="people")
    )
    cost = evaluate(X, model.cluster_centers_, sample_weight=people).sse
    at = f"{len(X) / 1e6:,.0f} M rows, t = 0"
    seconds, mini = timed(
        lambda: MiniBatchKMeans(K, random_state=0, n_init=3, batch_size=65_536).fit(X, sample_weight=people)
    )
    theirs = evaluate(X, mini.cluster_centers_, sample_weight=people).sse
    found: list[Row] = [
        {
            "case": f"{at}: MiniBatchKMeans in memory, seconds over ours from files",
            "measured": seconds / ours,
        },
        {"case": f"{at}: MiniBatchKMeans, cost over ours", "measured": theirs / cost},
    ]
    try:
        peer_of = import_module("dask_ml.cluster").KMeans
    except ImportError:
        return [*found, {"case": f"{at}: dask-ml's KMeans (not installed)", "measured": None}]
    lazy = da.from_array(X, chunks=(GROUP, 2)).persist()
    seconds, peer = timed(lambda: peer_of(K, random_state=0).fit(lazy))  # it takes no weights
    even = TiltedKMeans(K, t=0.0, scale=1.0, random_state=0).fit(lazy)
    costs = [evaluate(X, each.cluster_centers_).sse for each in (peer, even)]
    return [
        *found,
        {
            "case": f"{at}: dask-ml's KMeans in memory, seconds over ours from files",
            "measured": seconds / ours,
        },
        {"case": f"{at}: dask-ml's KMeans without weights, cost over ours", "measured": costs[0] / costs[1]},
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partitions", description=__doc__)
    parser.add_argument("--rows", type=float, default=ROWS, help="of the large table")
    parser.add_argument(
        "--few", type=float, default=MEMORY_ROWS, help="of the one that is also planned in memory"
    )
    parser.add_argument("--only", choices=PARTS, help="one part instead of all")
    chosen = parser.parse_args()
    for row in cases(int(chosen.rows), int(chosen.few), [chosen.only] if chosen.only else PARTS):
        figure, target, met = spelled(dict(row))
        print(f"{figure:>22}  {target:>9}  {met:<6}  {row['case']}", flush=True)
