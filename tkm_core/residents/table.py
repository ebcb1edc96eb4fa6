"""The `Table` that every reader returns: column names, the first rows, and whole columns on demand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyproj import CRS

from tkm_core.arrays import Floats
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.numbers import to_numbers

LOOK_AT = 20_000  # rows by which the columns are recognised
MOST_COLUMNS = 2_000  # every column is inspected, so this limits the work
Fetch = Callable[[Sequence[str]], pa.Table]


@dataclass
class Table:
    """A table as read from a file.

    Attributes
    ----------
    file_format : str
        Its usual name: "CSV", "Excel" ...
    names : list of str
        The columns, unique.
    head : Table of pyarrow
        Enough of the first rows to recognise the columns.
    fetch : callable
        Reads whole columns by name.
    points : callable or None
        For map formats: reads one point for each row, shape (n, 2).
    shapes : callable or None
        For map formats: reads the geometries themselves, shape (n,).
    crs : CRS or None
        The reference system the file states.
    pieces : callable or None
        Reads columns by name piece by piece, for files that may be too large to read at once.
    plain_numbers : set of str
        Columns whose first rows are bare numbers, to be parsed directly as such.
    n_rows : int
        Number of rows, if there are pieces.
    first_row : int
        Number of the first data row in the file as people count, including the header.
    people : str
        The column that counts people, where the format leaves no doubt.
    clipped : bool
        Whether the reader has cut out the area that was asked for.
    """

    file_format: str
    names: list[str]
    head: pa.Table
    fetch: Fetch
    points: Callable[[], Floats] | None = None
    shapes: Callable[[], npt.NDArray[np.object_]] | None = None
    crs: CRS | None = None
    first_row: int = 1
    header: bool = True
    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    sheets: list[str] = field(default_factory=list)
    layer: str | None = None
    layers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    pieces: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    n_rows: int = 0
    plain_numbers: set[str] = field(default_factory=set)
    people: str = ""
    clipped: bool = False

    def __post_init__(self) -> None:
        check_width(len(self.names))

    def numbers(self, names: Sequence[str], columns: pa.Table, decimals: Mapping[str, str]) -> Floats:
        """Some columns as numbers, shape (n, columns): taken from `columns`, or read piece by piece."""
        if self.pieces is None:
            return np.column_stack([to_numbers(columns[name], decimals.get(name, ".")) for name in names])
        out, start = np.full((self.n_rows, len(names)), np.nan), 0
        for piece in self.pieces(names):
            for place, name in enumerate(names):
                out[start : start + len(piece), place] = to_numbers(
                    piece.column(name), decimals.get(name, ".")
                )
            start += len(piece)
        return out


def check_width(columns: int) -> None:
    """Refuse a table with too many columns."""
    if columns > MOST_COLUMNS:
        msg = f"The table has {columns:,} columns; up to {MOST_COLUMNS:,} can be read. "
        msg += "Keep the coordinates, the population and a few others, and export it again."
        raise ResidentsError(msg)


def unique_names(cells: Sequence[str]) -> list[str]:
    """Header cells as distinct names: empty ones are numbered, repeated ones counted.

    Examples
    --------
    >>> unique_names(["id", "", "id"])
    ['id', 'Column 2', 'id (2)']
    """
    names: dict[str, None] = {}
    repeats: dict[str, int] = {}  # the last number tried for each name
    for number, cell in enumerate(cells, start=1):
        base = name = " ".join(cell.split()) or f"Column {number}"
        while name in names:
            repeats[base] = repeats.get(base, 1) + 1
            name = f"{base} ({repeats[base]})"
        names[name] = None
    return list(names)


def as_text(values: pa.ChunkedArray | pa.Array) -> list[str]:
    """Values as text for display; "" for missing ones."""
    return ["" if value is None else str(value) for value in values.to_pylist()]


def whole(table: pa.Table) -> Fetch:
    """A `fetch` for a table that is already in memory."""
    return lambda names: table.select(list(names))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds strings."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Whether a column holds single values that can be compared, not lists, structures or binary data."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    odd = pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return not (odd or pa.types.is_fixed_size_binary(kind) or isinstance(kind, pa.BaseExtensionType))


def plain_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column's values as strings, whether codes, dates or numbers; missing values stay missing."""
    if is_text(values.type):
        return pc.cast(values, pa.string())
    if pa.types.is_floating(values.type):
        whole_numbers = pc.all(pc.equal(pc.round(values), values), skip_nulls=True).as_py()
        finite = pc.all(pc.is_finite(values), skip_nulls=True).as_py()
        largest = pc.max(pc.abs(values)).as_py()
        if whole_numbers and finite and largest is not None and largest < 2**53:
            values = pc.cast(values, pa.int64())
    try:
        return pc.cast(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.chunked_array(
            [pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())]
        )
