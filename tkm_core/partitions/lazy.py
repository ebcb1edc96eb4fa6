"""Rows from Dask arrays and tables, with one piece for each partition."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tkm_core.partitions.block import Block, PartitionError
from tkm_core.partitions.source import Rows


@dataclass(frozen=True)
class LazyPiece:
    """One partition and its weights, computed where it is used."""

    name: str
    part: Any
    weights: Any
    weight: str | None
    n_rows: int | None

    def blocks(self) -> Iterator[Block]:
        """The rows, block by block."""
        found, people = (_computed(each) for each in (self.part, self.weights))
        if self.weight is not None:
            people = found[self.weight]
            found = found.drop(columns=self.weight)
        points = np.asarray(found, dtype=np.float64)
        weights = None if people is None else np.asarray(people, dtype=np.float64).reshape(-1)
        if weights is not None and len(weights) != len(points):
            msg = f"{self.name} has {len(points):,} rows, but there are {len(weights):,} weights for it."
            raise PartitionError(msg)
        yield from Block.checked(points, weights, self.name).parts()

    def delayed(self) -> Any:
        """The piece as a task that starts when a worker has computed its partition."""
        from dask.delayed import delayed

        parts = {"part": self.part, "weights": self.weights}
        return delayed(replace, pure=False)(replace(self, part=None, weights=None), **parts)


def _computed(lazy: Any) -> Any:
    """A partition, computed here if necessary."""
    return lazy.compute(scheduler="synchronous") if hasattr(lazy, "compute") else lazy


def lazy_rows(X: Any, sample_weight: Any) -> Rows:
    """Cut a Dask array or table into its partitions."""
    table = hasattr(X, "npartitions") and hasattr(X, "dtypes")
    if not table and X.ndim != 2:
        msg = f"X has {X.ndim} dimension(s); it must be a table with one row per point (n, d)."
        raise ValueError(msg)
    if not table and X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    column = sample_weight if isinstance(sample_weight, str) else None
    if column is not None and (not table or column not in X.columns):
        msg = f"X has no column “{column}” that could count people."
        raise ValueError(msg)
    parts = X.to_delayed() if table else X.to_delayed().ravel()
    sizes = [None] * len(parts) if table else [None if np.isnan(size) else int(size) for size in X.chunks[0]]
    weights = [None] * len(parts)
    if sample_weight is not None and column is None:
        weights = _partitions_of(sample_weight, X, table=table)
    pieces = tuple(
        LazyPiece(f"Partition {number} of X", part, people, column, size)
        for number, (part, people, size) in enumerate(zip(parts, weights, sizes, strict=True))
    )
    width = len(X.columns) - (column is not None) if table else X.shape[1]
    return Rows("X", int(width), pieces)


def _partitions_of(weights: Any, X: Any, *, table: bool) -> list[Any]:
    """Weights split like the partitions of X."""
    if not hasattr(weights, "to_delayed"):
        if table or np.isnan(X.shape[0]):
            msg = "sample_weight must be a Dask array or column with the partitions of X, or the name of a column."
            raise ValueError(msg)
        values = np.asarray(weights, dtype=np.float64)
        if values.shape != (X.shape[0],):
            msg = f"sample_weight has shape {values.shape}; it needs one weight for each of the {X.shape[0]} rows of X."
            raise ValueError(msg)
        return np.split(values, np.cumsum(X.chunks[0])[:-1])
    if not table and hasattr(weights, "rechunk"):
        weights = weights.rechunk((X.chunks[0],))
    parts = list(np.ravel(weights.to_delayed()))
    count = X.npartitions if table else X.numblocks[0]
    if len(parts) != count:
        msg = f"sample_weight has {len(parts)} partitions, X has {count}: they must be the same."
        raise ValueError(msg)
    return parts
