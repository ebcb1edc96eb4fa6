"""KML, for Google Earth."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import BinaryIO

import geopandas as gpd

from tkm_core.export.file_format import FileFormat, join, through_memory
from tkm_core.export.pieces import Pieces

NUMBERED = re.compile(rb'(<Placemark id="[^"]*\.)(\d+)(?=">)')


def write(layers: Mapping[str, Pieces], target: BinaryIO) -> None:
    """Write KML, in which every place has the name that Google Earth shows."""
    ((name, pieces),) = layers.items()
    join(_contents(name, pieces), target, opening=b"</name>\n", closing=b"</Folder>")


def _contents(name: str, pieces: Pieces) -> Iterator[bytes]:
    """Each piece as KML; its places are numbered on from the last."""
    before = 0
    for piece in pieces:
        # GDAL's other KML driver writes some text without escaping it.
        content = through_memory(_named(piece), driver="KML", layer=name)
        yield NUMBERED.sub(partial(_numbered_on, before), content) if before else content
        before += len(piece)


def _numbered_on(before: int, found: re.Match[bytes]) -> bytes:
    """The opening of a place with its number in the whole file."""
    return b"%s%d" % (found[1], int(found[2]) + before)


def _named(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """The table with the name of every place in front."""
    named = frame.copy()
    prefix, column = ("", "resident") if "resident" in named else ("Facility ", "facility")
    titles = prefix + named[column].astype(str)
    if "name" in named:
        titles = named.pop("name").fillna(titles)
    named.insert(0, "Name", titles)
    return named


FORMAT = FileFormat(
    suffix="kml",
    name="KML",
    menu="KML (Google Earth)",
    media_type="application/vnd.google-earth.kml+xml",
    write=write,
    degrees_only=True,
)
