"""Rows from Parquet and GeoParquet files, a few row groups at a time."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from tkm_core.arrays import Floats
from tkm_core.partitions.block import ROWS, Block, PartitionError
from tkm_core.partitions.source import Change, ParquetRows, Rows

SUFFIXES = (".parquet", ".geoparquet", ".parq", ".pq")
WKB_POINT = 21  # bytes: byte order, type, x, y
FAILURES = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError)


def _failures(path: str) -> tuple[type[Exception], ...]:
    """What reading a file may raise: the clients of object storage have errors of their own."""
    return (Exception,) if "://" in path else FAILURES


def _reason(error: Exception) -> str:
    """The first line of what an error says, or its kind if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")


@dataclass(frozen=True)
class ParquetPiece:
    """Some row groups of one file."""

    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    weight: str | None
    geometry: str | None
    change: Change | None
    n_rows: int | None
    first: int
    signature: tuple[int, int]  # rows and groups of the file when it was listed

    @property
    def name(self) -> str:
        """The file and the first row."""
        return f"“{self.path}” (rows from {self.first:,})"

    def blocks(self) -> Iterator[Block]:
        """The rows, block by block; an error names a file that cannot be read or has changed."""
        at = self.first
        wanted = [self.geometry] if self.geometry else list(self.columns)
        try:
            with _open(self.path) as file:
                self._check_same(file.metadata)
                columns = [*wanted, *([self.weight] if self.weight else [])]
                for batch in file.iter_batches(ROWS, row_groups=list(self.groups), columns=columns):
                    names = batch.schema.names
                    if self.geometry:
                        points = _coordinates(batch.column(names.index(self.geometry)), self.path)
                    else:
                        points = np.column_stack([_numbers(batch.column(names.index(c))) for c in wanted])
                    weights = _numbers(batch.column(names.index(self.weight))) if self.weight else None
                    block = Block.checked(points, weights, f"“{self.path}”", at)
                    if self.change is not None:
                        block = Block.checked(self.change(block.X), block.weights, f"“{self.path}”", at)
                    yield block
                    at += len(batch)
        except PartitionError:
            raise
        except _failures(self.path) as error:
            msg = (
                f"“{self.path}” cannot be read from row {at:,} on: {_reason(error)}. "
                "Repair or remove it; nothing is planned without it."
            )
            raise PartitionError(msg) from error

    def _check_same(self, meta: Any) -> None:
        """Refuse a file that has changed since it was listed."""
        if (meta.num_rows, meta.num_row_groups) != self.signature:
            msg = f"“{self.path}” has changed while it was being read. Start again when nobody writes to it."
            raise PartitionError(msg)

    def delayed(self) -> "ParquetPiece":
        """The piece itself: workers read the file on their own machine."""
        return self


def parquet_rows(asked: ParquetRows) -> Rows:
    """List the files, choose the columns, and cut into pieces by row group."""
    paths = [found for path in _several(asked.path) for found in _files(path)]
    pieces: list[ParquetPiece] = []
    lows, highs = [], []
    chosen: tuple[tuple[str, ...], str | None] | None = None
    for path in paths:
        try:
            with _open(path) as file:
                meta, schema = file.metadata, file.schema_arrow
        except _failures(path) as error:
            msg = f"“{path}” is not a readable Parquet file: {_reason(error)}."
            raise PartitionError(msg) from error
        if chosen is None:
            chosen = _choose(asked, schema, path)
        columns, geometry = chosen
        missing = {*(columns or [geometry]), *filter(None, [asked.weight])} - set(schema.names)
        if missing:
            msg = f"“{path}” has no column “{sorted(map(str, missing))[0]}”; it has {', '.join(schema.names[:12])}."
            raise PartitionError(msg)
        signature = (meta.num_rows, meta.num_row_groups)
        at = 0
        for group in range(meta.num_row_groups):
            rows = meta.row_group(group).num_rows
            pieces.append(
                ParquetPiece(
                    path, (group,), columns, asked.weight, geometry, asked.change, rows, at, signature
                )
            )
            at += rows
            low, high = _range(meta.row_group(group), columns)
            lows.append(low)
            highs.append(high)
    name = f"“{asked.path if isinstance(asked.path, str) else paths[0]}”"
    if not pieces or chosen is None:
        msg = f"{name} has no rows."
        raise PartitionError(msg)
    columns, geometry = chosen
    box = np.min(lows, axis=0), np.max(highs, axis=0)
    known = bool(columns) and asked.change is None and bool(np.isfinite(box).all())
    return Rows(name, len(columns) or 2, tuple(pieces), box if known else None)


def head_of(path: str | Sequence[str], count: int) -> tuple[str, pa.Table]:
    """The name of the first file of a path, and its first rows."""
    first = _files(_several(path)[0])[0]
    try:
        with _open(first) as file:
            batch = next(file.iter_batches(count), None)
            table = file.schema_arrow.empty_table() if batch is None else pa.Table.from_batches([batch])
            return first, table.replace_schema_metadata(file.schema_arrow.metadata)
    except _failures(first) as error:
        msg = f"“{first}” is not a readable Parquet file: {_reason(error)}."
        raise PartitionError(msg) from error


def _several(path: str | Sequence[str]) -> list[str]:
    """One or several paths as a list."""
    return [path] if isinstance(path, str) else [os.fspath(one) for one in path]


def _files(path: str) -> list[str]:
    """The files of a path, a folder or a glob, in order."""
    if "://" in path:
        try:
            files = _stored(path)
        except Exception as error:
            msg = (
                f"“{path}” cannot be listed: {_reason(error)}. Check the address, the "
                "credentials, and that the package for this storage is installed (s3fs for s3://)."
            )
            raise PartitionError(msg) from error
    else:
        found = sorted(glob(path, recursive=True)) if has_magic(path) else [path]  # noqa: PTH207  absolute too
        inside = []
        for one in found:
            inside += (
                [str(file) for file in Path(one).rglob("*") if file.is_file()]
                if Path(one).is_dir()
                else [one]
            )
        files = inside
    hidden = ("_", ".")  # Spark and Dask leave such files beside the data
    files = sorted(one for one in files if not one.rpartition("/")[2].startswith(hidden))
    if len(files) > 1:
        files = [one for one in files if one.lower().endswith(SUFFIXES)]
    if not files or ("://" not in path and not Path(files[0]).is_file()):
        msg = (
            f"No Parquet file is called “{path}”. Give a file, a folder, or a glob such as 'homes/*.parquet'."
        )
        raise PartitionError(msg)
    return files


def _stored(path: str) -> list[str]:
    """The files of an address on object storage: a file, a folder or a glob."""
    import fsspec

    system, root = fsspec.core.url_to_fs(path)
    found = system.glob(root) if has_magic(root) else [root]
    inside = [one for root in found for one in (system.find(root) if system.isdir(root) else [root])]
    return [system.unstrip_protocol(one) for one in inside]


@lru_cache(maxsize=8)
def _system(protocol: str) -> Any:
    """The file system of a protocol."""
    import fsspec

    return fsspec.filesystem(protocol)


def _open(path: str) -> pq.ParquetFile:
    """Open a local or remote file, without reading ahead."""
    if "://" in path:
        return pq.ParquetFile(_system(path.partition("://")[0]).open(path), pre_buffer=True)
    return pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=1 << 20)


def _choose(asked: ParquetRows, schema: pa.Schema, path: str) -> tuple[tuple[str, ...], str | None]:
    """The columns of coordinates, or the column of points."""
    if asked.columns is not None:
        return tuple(asked.columns), None
    geo = json.loads((schema.metadata or {}).get(b"geo", b"{}"))
    geometry = geo.get("primary_column")
    if geometry in schema.names:
        crs = geo.get("columns", {}).get(geometry, {}).get("crs", {})
        if asked.change is None and (not crs or crs.get("type") == "GeographicCRS"):
            msg = (
                f"“{path}” is in degrees, which are not distances. Project it to metres first, or use "
                "`evenreach plan`, which does so by itself."
            )
            raise PartitionError(msg)
        return (), str(geometry)
    numeric = [
        field.name
        for field in schema
        if field.name != asked.weight
        and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
        and not field.name.startswith("__index_level_")
    ]
    if not numeric:
        msg = f"“{path}” has no columns of numbers; it has {', '.join(schema.names[:12])}."
        raise PartitionError(msg)
    return tuple(numeric), None


def _range(group: Any, columns: Sequence[str]) -> tuple[Floats, Floats]:
    """The lowest and highest values of a row group according to its statistics; NaN if there are none."""
    noted = {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema in columns:
            found = column.statistics
            noted[column.path_in_schema] = (
                (float(found.min), float(found.max))
                if found is not None and found.has_min_max
                else (np.nan, np.nan)
            )
    values = np.array([noted.get(name, (np.nan, np.nan)) for name in columns]).reshape(-1, 2)
    return values[:, 0], values[:, 1]


def _numbers(column: Any) -> Floats:
    """A column as numbers; missing values are NaN."""
    if not pa.types.is_float64(column.type):
        column = pc.cast(column, pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _coordinates(column: Any, path: str) -> Floats:
    """Points of a geometry column, stored as x and y or as well-known binary."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    if pa.types.is_struct(kind) and {"x", "y"} <= {kind.field(i).name for i in range(kind.num_fields)}:
        return np.column_stack([_numbers(pc.struct_field(column, axis)) for axis in ("x", "y")])
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        lengths = pc.binary_length(column)
        whole = (
            column.null_count == 0
            and len(column)
            and pc.min_max(lengths).as_py()
            == {
                "min": WKB_POINT,
                "max": WKB_POINT,
            }
        )
        if whole:
            offset = np.frombuffer(
                column.buffers()[1], np.int64 if pa.types.is_large_binary(kind) else np.int32
            )
            start = int(offset[column.offset])
            data = np.frombuffer(column.buffers()[2], np.uint8, WKB_POINT * len(column), start)
            table = data.reshape(-1, WKB_POINT)
            if (table[:, :5] == np.array([1, 1, 0, 0, 0], np.uint8)).all():  # little-endian points
                return np.ascontiguousarray(table[:, 5:]).view("<f8").astype(np.float64)
    msg = f"The geometry of “{path}” is not a column of points. Take a point of each shape first."
    raise PartitionError(msg)
