"""Speed of reading files against pyarrow and pandas, and memory against the size of the result."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from pyproj import Transformer

from tkm_core.residents import load_residents

CSV_ROWS = 1_000_000
PARQUET_ROWS = 5_000_000

# Runs in its own process, because the peak memory of a process never falls.
MEASURE_PEAK = """
import sys
from tkm_core.residents import load_residents

def memory(entry):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[entry].split()[0]) * 1024

load_residents(b"lat,lon,population\\n48.85,2.35,3\\n48.86,2.36,4\\n")  # what libraries take, not data
before = memory("VmRSS")
town = load_residents(sys.argv[1])
arrays = town.lonlat.nbytes + town.xy.nbytes + town.weights.nbytes
print(memory("VmHWM") - before, arrays)
"""


def city(rows: int) -> pd.DataFrame:
    """A table like a planner's: an id, coordinates, a population and a district."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "lat": rng.normal(43.6, 0.2, rows).round(6),
            "lon": rng.normal(1.44, 0.2, rows).round(6),
            "population": rng.integers(1, 500, rows),
            "district": rng.choice(["North", "South", "East", "West"], rows),
        }
    )


def read_and_project(path: Path) -> object:
    """What a script without this library would do to get coordinates in metres."""
    table = pd.read_csv(path)
    return Transformer.from_crs(4326, 32631, always_xy=True).transform(
        table["lon"].to_numpy(), table["lat"].to_numpy()
    )


def fastest(actions: dict[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Seconds of the fastest run of each action; they alternate, so that all are disturbed alike."""
    seconds = dict.fromkeys(actions, float("inf"))
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def run() -> list[dict[str, str | float]]:
    """Measure all cases.

    Returns
    -------
    list of dict
        With ``case``, ``measured`` (a ratio) and ``target`` (the most it may be).
    """
    rows: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.csv"
        city(CSV_ROWS).to_csv(path, index=False)
        seconds = fastest(
            {
                "loaded": lambda: load_residents(path),
                "projected": lambda: load_residents(path).xy,
                "pandas": lambda: pd.read_csv(path),
                "pyarrow": lambda: pacsv.read_csv(path),
                "pandas and pyproj": lambda: read_and_project(path),
            }
        )
        for ours, peer in (("loaded", "pandas"), ("loaded", "pyarrow"), ("projected", "pandas and pyproj")):
            case = f"{CSV_ROWS:,} rows of CSV, checked and {ours}, against {peer} alone"
            rows.append({"case": case, "measured": seconds[ours] / seconds[peer], "target": 2.0})
        parquet = Path(folder) / "city.parquet"
        table = city(PARQUET_ROWS)[["lat", "lon", "population"]]
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), parquet)
        del table
        command = [sys.executable, "-c", MEASURE_PEAK, str(parquet)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, arrays = (int(word) for word in done.stdout.split())
        case = f"{PARQUET_ROWS:,} rows of Parquet, peak memory against the arrays of the result"
        rows.append({"case": case, "measured": peak / arrays, "target": 3.0})
    return rows
