"""Rows of a made-up country, in memory and as Parquet files."""

from pathlib import Path

import numpy as np
import pandas as pd

from tkm_core.partitions import Rows, rows_of


def country(n=60_000, seed=0):
    """Coordinates and weights: a dozen towns of different size, farms between them, and some empty homes."""
    rng = np.random.default_rng(seed)
    towns = rng.uniform(-5, 5, size=(12, 2))
    X = towns[rng.integers(12, size=n)] + rng.normal(size=(n, 2)) * rng.uniform(0.05, 0.5, size=(n, 1))
    X[: n // 20] = rng.uniform(-7, 7, size=(n // 20, 2))
    return X, rng.integers(0, 6, size=n).astype(float)


def write(folder: Path, X, weights, files=3, group=7_000, **extra) -> str:
    """The same as Parquet files with small row groups; returns the glob that names them."""
    for number, rows in enumerate(np.array_split(np.arange(len(X)), files)):
        table = pd.DataFrame({"x": X[rows, 0], "y": X[rows, 1], "people": weights[rows]})
        table.to_parquet(folder / f"part-{number}.parquet", row_group_size=group, **extra)
    return str(folder / "part-*.parquet")


def in_many_runs(X, weights=None) -> Rows:
    """The same as partitions of unknown length: each is a run of its own."""
    import dask.dataframe as dd

    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1]} | ({} if weights is None else {"people": weights}))
    rows = rows_of(dd.from_pandas(table, npartitions=24), None if weights is None else "people")
    assert rows is not None
    return rows
