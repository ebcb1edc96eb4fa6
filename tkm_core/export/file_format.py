"""Definition of an output format, and what the writers share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import geopandas as gpd
import pyarrow as pa

from tkm_core.export.pieces import Pieces


@dataclass(frozen=True)
class FileFormat:
    """One entry of `FORMATS`.

    Attributes
    ----------
    suffix : str
        Key of the format and suffix of its files, without the dot.
    name, menu : str
        Its name in a sentence, and in a menu.
    media_type : str
        MIME type for downloads.
    write : callable
        ``write(layers, target)`` writes tables by the names of their layers, each piece by piece.
    other_suffixes : tuple of str
        Other suffixes of the same format.
    many_tables : bool
        Whether one file can hold several tables.
    degrees_only : bool
        Whether it supports no other reference system than WGS84.
    by_path : bool
        Whether `target` is the path of the file, as databases need it, and not an open file.
    compressed : bool
        Whether its files are compressed already.
    """

    suffix: str
    name: str
    menu: str
    media_type: str
    write: Callable[[Mapping[str, Pieces], Any], None]
    other_suffixes: tuple[str, ...] = ()
    many_tables: bool = False
    degrees_only: bool = False
    by_path: bool = False
    compressed: bool = False


def through_memory(frame: gpd.GeoDataFrame, **options: Any) -> bytes:
    """A piece in a text format of GDAL: on a full disk, its drivers silently leave a truncated file."""
    content = BytesIO()
    frame.to_file(content, engine="pyogrio", **options)
    return content.getvalue()


def join(
    contents: Iterable[bytes], target: BinaryIO, *, opening: bytes, closing: bytes, between: bytes = b""
) -> None:
    """Write files of the same table as one: the rows of each stand between the first `opening` and the last `closing`.

    >>> whole = BytesIO()
    >>> join([b"<a>1</a>", b"<a>2</a>"], whole, opening=b"<a>", closing=b"</a>", between=b", ")
    >>> whole.getvalue()
    b'<a>1, 2</a>'
    """
    end = b""
    for number, content in enumerate(contents):
        first, last = content.index(opening) + len(opening), content.rindex(closing)
        target.write(content[:first] if number == 0 else between)
        target.write(memoryview(content)[first:last])
        end = content[last:]
    target.write(end)


def with_text(schema: pa.Schema) -> pa.Schema:
    """A schema in which columns without any value are text: a later piece may have some."""
    fields = [
        field.with_type(pa.large_string()) if pa.types.is_null(field.type) else field for field in schema
    ]
    return pa.schema(fields, schema.metadata)
