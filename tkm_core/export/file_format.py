"""Definition of an output format, and what the writers share."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import geopandas as gpd


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
        ``write(frame, file, name)`` writes a table under the name of its layer.
    other_suffixes : tuple of str
        Other suffixes of the same format.
    many_tables : bool
        Whether one file can hold several tables, written one after another.
    degrees_only : bool
        Whether it supports no other reference system than WGS84.
    """

    suffix: str
    name: str
    menu: str
    media_type: str
    write: Callable[[gpd.GeoDataFrame, Path, str], None]
    other_suffixes: tuple[str, ...] = ()
    many_tables: bool = False
    degrees_only: bool = False


def write_through_memory(frame: gpd.GeoDataFrame, file: Path, **options: Any) -> None:
    """Write a text format of GDAL via memory: on a full disk, its drivers silently leave a truncated file."""
    content = BytesIO()
    frame.to_file(content, engine="pyogrio", **options)
    file.write_bytes(content.getbuffer())
