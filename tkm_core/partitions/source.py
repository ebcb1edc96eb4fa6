"""Sources of rows: the interface, arrays in memory, and the choice between Parquet files and Dask data."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.extras import needs_extra
from tkm_core.partitions.block import ROWS, Block

Change = Callable[[Floats], Floats]
"""What is done to the coordinates of every block first, such as a projection; it must survive pickling."""


class Piece(Protocol):
    """A part of the data that one worker reads by itself, without the other parts."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if unknown."""

    def blocks(self) -> Iterator[Block]:
        """The rows, a block at a time."""

    def delayed(self) -> Any:
        """The piece itself, or a Dask object that becomes one on a worker, which computes a lazy partition."""


@dataclass(frozen=True)
class Rows:
    """Rows in pieces.

    Attributes
    ----------
    name : str
        Its name in messages.
    n_columns : int
        Number of coordinates of each row.
    pieces : tuple of Piece
    box : tuple of arrays (d,) or None
        The lowest and highest coordinates, if known without a pass.
    """

    name: str
    n_columns: int
    pieces: "tuple[Piece, ...]"
    box: tuple[Floats, Floats] | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if only a pass can tell."""
        sizes = [piece.n_rows for piece in self.pieces]
        return None if None in sizes else sum(size for size in sizes if size is not None)


@dataclass(frozen=True)
class ParquetRows:
    """Parquet files as rows, with the columns of coordinates and of people.

    Parameters
    ----------
    path : str or sequence of str
        A file, a folder (with or without partition folders), a glob such as ``homes/*.parquet``, or several of these;
        also on object storage ("s3://..."), if fsspec finds credentials.
    columns : sequence of str, optional
        Columns of coordinates. By default the points of GeoParquet, or else every numeric column except the weight.
    weight : str, optional
        The column with the population of each row.
    change : callable, optional
        Applied to the coordinates (n, d) of every block where it is read; it must be picklable.

    Examples
    --------
    >>> ParquetRows("homes/*.parquet", columns=("x", "y"), weight="people").weight
    'people'
    """

    path: str | Sequence[str]
    columns: Sequence[str] | None = None
    weight: str | None = None
    change: Change | None = None


@dataclass(frozen=True)
class ArrayPiece:
    """Some rows of an array in memory."""

    name: str
    X: Floats
    weights: Floats | None
    first: int

    @property
    def n_rows(self) -> int | None:
        """Number of rows."""
        return len(self.X)

    def blocks(self) -> Iterator[Block]:
        """The rows, a block at a time."""
        yield from Block.checked(self.X, self.weights, self.name, self.first).parts()

    def delayed(self) -> "ArrayPiece":
        """The piece itself."""
        return self


def array_rows(X: ArrayLike, sample_weight: ArrayLike | None = None, rows: int = ROWS) -> Rows:
    """An array as rows in pieces.

    >>> found = array_rows(np.zeros((5, 2)), rows=2)
    >>> len(found.pieces), found.n_rows
    (3, 5)
    """
    points = np.ascontiguousarray(X, dtype=np.float64)
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    cuts = [slice(at, at + rows) for at in range(0, len(points), rows)]
    pieces = [
        ArrayPiece("X", points[cut], None if weights is None else weights[cut], cut.start) for cut in cuts
    ]
    return Rows("X", points.shape[1], tuple(pieces))


def rows_of(X: Any, sample_weight: Any = None) -> Rows | None:
    """X as rows, if it is a path, `ParquetRows`, or a Dask array or table; None for data in memory.

    ``sample_weight`` names a column of the file or table, or is a Dask array with the partitions of X.

    >>> rows_of(np.zeros((5, 2))) is None
    True
    """
    if isinstance(X, Rows):
        return X
    try:
        if isinstance(X, str | os.PathLike):
            X = ParquetRows(os.fspath(X), weight=_column(sample_weight))
        elif isinstance(X, ParquetRows) and sample_weight is not None:
            X = ParquetRows(X.path, X.columns, _column(sample_weight), X.change)
        if isinstance(X, ParquetRows):
            from tkm_core.partitions.parquet import parquet_rows

            return parquet_rows(X)
        if type(X).__module__.partition(".")[0] == "dask":
            from tkm_core.partitions.lazy import lazy_rows

            return lazy_rows(X, sample_weight)
    except ModuleNotFoundError as missing:
        error = needs_extra("Data beyond memory", missing)
        raise error from missing
    return None


def parquet_head(path: str | Sequence[str], count: int) -> tuple[str, Any]:
    """The name of the first file, and its first rows as an Arrow table with all columns."""
    try:
        from tkm_core.partitions.parquet import head_of
    except ModuleNotFoundError as missing:
        error = needs_extra("Parquet", missing)
        raise error from missing
    return head_of(path, count)


def _column(weight: Any) -> str | None:
    """Check that the weight is the name of a column."""
    if weight is None or isinstance(weight, str):
        return weight
    msg = (
        f"sample_weight is a {type(weight).__name__}; for Parquet files it must be the name of the column that counts "
        "people."
    )
    raise ValueError(msg)
