"""Parquet files whose footer promises other numbers of rows than they hold."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 7_919  # a number that stands nowhere else in a footer


def parquet_bytes(rows: int = ROWS, *, geometry: bool = False, **options: object) -> bytes:
    """A plain table, or one with points as GeoParquet has them."""
    rng = np.random.default_rng(0)
    lon, lat = rng.normal(2, 0.1, rows), rng.normal(48, 0.1, rows)
    columns: dict[str, object] = {"lon": lon, "lat": lat}
    metadata = None
    if geometry:
        columns = {"geometry": pa.StructArray.from_arrays([pa.array(lon), pa.array(lat)], ["x", "y"])}
        metadata = {"geo": '{"primary_column": "geometry", "columns": {"geometry": {"encoding": "point"}}}'}
    columns |= {"population": rng.integers(1, 9, rows), "district": rng.choice(["a", "b"], rows)}
    out = io.BytesIO()
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata(metadata), out, **options)
    return out.getvalue()


def claim(data: bytes, claimed: int, *, places: set[int] | None = None, rows: int = ROWS) -> bytes:
    """Write another number of rows into a footer: everywhere, or in the places of these numbers."""
    size = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - size], data[-8 - size : -8]
    first, *others = footer.split(b"\x16" + _number(rows))  # 0x16: the next field, 64 bits
    for place, other in enumerate(others):
        told = claimed if places is None or place in places else rows
        first += b"\x16" + _number(told) + other
    return body + first + len(first).to_bytes(4, "little") + b"PAR1"


def places_of(data: bytes, rows: int = ROWS) -> int:
    """How often a footer says how many rows there are."""
    size = int.from_bytes(data[-8:-4], "little")
    return data[-8 - size : -8].count(b"\x16" + _number(rows))


def _number(value: int) -> bytes:
    """A number as Thrift's compact protocol writes it."""
    value, out = value << 1, b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
