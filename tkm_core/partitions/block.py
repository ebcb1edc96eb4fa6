"""A checked block of rows in memory, with the name of its source."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats

ROWS = 1 << 18  # of one block: 6 MB for two coordinates and a weight


class PartitionError(ValueError):
    """A part of the data or a worker that cannot be used; the message names it."""


@dataclass(frozen=True)
class Block:
    """Rows of one piece: coordinates (n, d), weights (n,), the piece's name, and the number of the first row."""

    X: Floats
    weights: Floats
    name: str
    first: int

    @classmethod
    def checked(cls, X: Floats, weights: Floats | None, name: str, first: int = 0) -> "Block":
        """Make a block; a missing or infinite value, or a negative weight, is an error that names it.

        >>> Block.checked(np.array([[0.0, np.nan]]), None, "homes.parquet", 7)
        Traceback (most recent call last):
        tkm_core.partitions.block.PartitionError: homes.parquet has no finite value in row 7, column 1; ...
        """
        points = np.ascontiguousarray(X, dtype=np.float64)
        people = np.ones(len(points)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        # a sum is finite only if every entry is: a cheap check before any search
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(points.sum()) or bool(np.isfinite(points).all())
            fine = bool(np.isfinite(people.sum())) and (len(people) == 0 or people.min() >= 0)
        if not finite:
            row, column = np.argwhere(~np.isfinite(points))[0]
            msg = f"{name} has no finite value in row {first + row}, column {column}; remove or repair that row."
            raise PartitionError(msg)
        if not fine:
            row = int(np.argmax(~(np.isfinite(people) & (people >= 0))))
            msg = (
                f"{name} has the weight {people[row]} in row {first + row}; "
                "weights are populations: finite, and not negative."
            )
            raise PartitionError(msg)
        return cls(points, people, name, first)

    def parts(self, rows: int = ROWS) -> Iterator["Block"]:
        """The same rows in blocks of at most `rows`."""
        for at in range(0, len(self.X), rows):
            some = slice(at, at + rows)
            yield Block(self.X[some], self.weights[some], self.name, self.first + at)
