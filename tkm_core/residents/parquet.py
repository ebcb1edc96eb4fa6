"""Read Parquet and GeoParquet files piece by piece."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import shapely

from tkm_core.arrays import Floats
from tkm_core.residents.areas import MOST_AREAS
from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.layers import describe_kinds, from_wkb, geoparquet_meta, read_crs, to_points
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.projection import WGS84
from tkm_core.residents.source import LARGEST_UNPACKED, Source
from tkm_core.residents.table import LOOK_AT, Table, check_width

PIECE = 1 << 16  # rows
MOST_ROWS = 50_000_000  # more than any country has buildings
MOST_CHUNKS = 1_000_000  # columns times row groups: all of them are inspected before anything is read


def read_parquet(source: Source) -> Table:
    """Open a Parquet file; columns are read when fetched."""
    try:
        file = pq.ParquetFile(source.path or pa.BufferReader(pa.py_buffer(source.data)))
        names = list(dict.fromkeys(file.schema_arrow.names))
        geo = geoparquet_meta((file.schema_arrow.metadata or {}).get(b"geo", b"{}"))
        geometry = geo.get("name") if geo.get("name") in names else None
        plain = [name for name in names if name != geometry]
        if len(names) != len(file.schema_arrow.names):
            msg = f"“{source.name}” has two columns of the same name. Export it again with distinct names."
            raise ResidentsError(msg)
        check_width(len(names))
        _check_size(file, source)
        pieces = file.iter_batches(batch_size=LOOK_AT, columns=plain)
        first = next(pieces, None)
        head = pa.Table.from_batches(
            [first] if first is not None else [], None if first is not None else _schema(file, plain)
        )
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        if isinstance(error, ResidentsError):
            raise
        raise _unreadable(source) from error

    def fetch(wanted: Sequence[str]) -> pa.Table:
        """Read whole columns."""
        return pa.Table.from_batches(list(_pieces(file, source, wanted)), _schema(file, wanted))

    table = Table("Parquet", plain, head, fetch)
    table.pieces, table.n_rows = partial(_pieces, file, source), file.metadata.num_rows
    if geometry:
        table.file_format = "GeoParquet"
        table.points = lambda: _points(file, source, geometry, table.notes)
        if table.n_rows <= MOST_AREAS and pa.types.is_binary(file.schema_arrow.field(geometry).type):
            table.shapes = lambda: _shapes(file, source, geometry)
        table.crs = WGS84 if "crs" not in geo else read_crs(geo["crs"], table)
    return table


def _check_size(file: pq.ParquetFile, source: Source) -> None:
    """Refuse a file whose metadata announce too much or contradict each other."""
    meta = file.metadata
    if meta.num_row_groups * meta.num_columns > MOST_CHUNKS:
        msg = f"“{source.name}” is cut into {meta.num_row_groups:,} groups of rows, too many to read. "
        msg += "Export it again with fewer."
        raise ResidentsError(msg)
    groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    # a column that is not a list has exactly one value or null for each row
    flat = [
        number for number in range(meta.num_columns) if not file.schema.column(number).max_repetition_level
    ]
    agreed = all(group.column(number).num_values == group.num_rows for group in groups for number in flat)
    if not agreed or meta.num_rows != sum(group.num_rows for group in groups):
        raise _unreadable(source)
    if meta.num_rows > MOST_ROWS or unpacked > LARGEST_UNPACKED:
        msg = f"“{source.name}” has {meta.num_rows:,} rows ({unpacked >> 20:,} MB). "
        msg += (
            f"Up to {MOST_ROWS:,} rows and {LARGEST_UNPACKED >> 20:,} MB can be read: cut it to one region."
        )
        raise ResidentsError(msg)


def _schema(file: pq.ParquetFile, names: Sequence[str]) -> pa.Schema:
    """The types of some columns."""
    return pa.schema([file.schema_arrow.field(name) for name in names])


def _unreadable(source: Source) -> ResidentsError:
    """The error for a damaged file."""
    return ResidentsError(
        f"“{source.name}” is not a readable Parquet file: damaged or incomplete. Export it again."
    )


def _pieces(file: pq.ParquetFile, source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read columns piece by piece; a file that holds more or fewer rows than it promises is refused."""
    left = file.metadata.num_rows if names else 0
    try:
        for piece in file.iter_batches(batch_size=PIECE, columns=list(names)):
            left -= len(piece) if names else 0
            if left < 0:
                break
            yield piece
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise _unreadable(source) from error
    if left:
        raise _unreadable(source)


def _points(file: pq.ParquetFile, source: Source, name: str, notes: list[str]) -> Floats:
    """One point for each row, read from the geometry column piece by piece."""
    points = np.full((file.metadata.num_rows, 2), np.nan)
    kinds: Counter[str] = Counter()
    start = 0
    for piece in _pieces(file, source, [name]):
        points[start : start + len(piece)], found = _piece_points(piece.column(0))
        kinds += found
        start += len(piece)
    notes.extend(describe_kinds(kinds))
    return points


def _shapes(file: pq.ParquetFile, source: Source, name: str) -> npt.NDArray[np.object_]:
    """The geometries of a file."""
    return np.concatenate([from_wkb(piece.column(0).to_pylist()) for piece in _pieces(file, source, [name])])


def _piece_points(column: Any) -> tuple[Floats, Counter[str]]:
    """Points of a piece: GeoArrow structures as they are, well-known binary decoded."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    if pa.types.is_struct(kind) and {"x", "y"} <= {
        kind.field(place).name for place in range(kind.num_fields)
    }:
        parts = [pc.cast(pc.struct_field(column, axis), pa.float64()) for axis in ("x", "y")]
        points = np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts])
        return points, Counter(points=len(points))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        try:
            return to_points(from_wkb(column.to_pylist()))
        except (shapely.errors.ShapelyError, TypeError) as error:
            msg = "The geometry column of the Parquet file cannot be understood."
            raise ResidentsError(msg) from error
    msg = "The geometry column of the Parquet file is neither points nor well-known binary."
    raise ResidentsError(msg)


FORMAT = FileFormat(
    kind="parquet",
    name="Parquet",
    suffixes=(".parquet", ".geoparquet"),
    read=lambda source, _asked: read_parquet(source),
    sign=lambda head: head.startswith(b"PAR1"),
    is_map=True,
    only=(".parquet", ".geoparquet"),
)
