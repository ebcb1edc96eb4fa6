"""What a format of files out is, and what its writers share."""

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
        Names the format and ends its files, without the dot.
    name, menu : str
        How it is called in a sentence, and in a list to choose from.
    media_type : str
        For downloads.
    write : callable
        ``write(frame, file, name)`` writes a table under the name of its layer.
    other_suffixes : tuple of str
        Which name the same format.
    many_tables : bool
        Whether one file holds several tables, each written in turn.
    degrees_only : bool
        Whether it knows no other reference system than WGS84.
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
    """Write a text format of GDAL: on a full disk its drivers leave a part of the file, and say nothing."""
    content = BytesIO()
    frame.to_file(content, engine="pyogrio", **options)
    file.write_bytes(content.getbuffer())
