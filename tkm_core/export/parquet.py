"""GeoParquet, for data scientists."""

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tkm_core.export.file_format import FileFormat, with_text
from tkm_core.export.pieces import Pieces

PACKED = "zstd"


def write(layers: Mapping[str, Pieces], target: BinaryIO) -> None:
    """Write the table as GeoParquet, each piece as a group of rows."""
    ((_, pieces),) = layers.items()
    if not pieces.several:
        pieces.whole().to_parquet(target, index=False, compression=PACKED)
        return
    tables = _tables(pieces)
    first = next(tables)
    geo = json.loads(first.schema.metadata[b"geo"])
    plain = with_text(first.schema.remove_metadata())
    with pq.ParquetWriter(target, plain, compression=PACKED) as writer:
        for table in chain([first], tables):
            _extend(geo, json.loads(table.schema.metadata[b"geo"]))
            writer.write_table(table.replace_schema_metadata().cast(plain))
        writer.add_key_value_metadata({"geo": json.dumps(geo)})


def _tables(pieces: Pieces) -> Iterator[pa.Table]:
    """Each piece as geopandas stores it, with what it says about the geometry."""
    for piece in pieces:
        stored = BytesIO()
        piece.to_parquet(stored, index=False, compression=None)
        yield pq.read_table(stored)


def _extend(geo: dict[str, Any], other: dict[str, Any]) -> None:
    """Add the extent and the kinds of shapes of another piece."""
    for name, found in other["columns"].items():
        column = geo["columns"][name]
        column["geometry_types"] = sorted({*column["geometry_types"], *found["geometry_types"]})
        (west, south, east, north), (w, s, e, n) = column["bbox"], found["bbox"]
        column["bbox"] = [min(west, w), min(south, s), max(east, e), max(north, n)]


FORMAT = FileFormat(
    suffix="parquet",
    name="Parquet",
    menu="Parquet",
    media_type="application/vnd.apache.parquet",
    write=write,
    other_suffixes=("geoparquet",),
    compressed=True,
)
