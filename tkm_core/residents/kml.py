"""KML, as Google Earth saves it."""

import re

from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.layers import MapKind, check_names, reader
from tkm_core.residents.source import Source, text_begins

ATTRIBUTE = re.compile(rb"""\bname\s*=\s*["']([^"']*)""")
OWN_COLUMNS = (
    "id", "timestamp", "begin", "end", "altitudeMode", "tessellate", "extrude", "visibility", "drawOrder", "icon",
)  # fmt: skip


def prepare(source: Source) -> list[str]:
    """Refuse a file in which every place has its own property names."""
    check_names(source, ATTRIBUTE)
    return []


def sign(head: bytes) -> bool:
    """Whether it is plain KML: GDAL would obey a virtual-layer description (VRT) and open the files it names."""
    harmless = b"OGRVRTDataSource" not in head and b"<!ENTITY" not in head
    return text_begins(head, b"<") and b"<kml" in head and harmless


FORMAT = FileFormat(
    kind="kml",
    name="KML",
    suffixes=(".kml",),
    read=reader(
        MapKind(
            title="KML", suffix=".kml", drivers=("KML", "LIBKML"), prepare=prepare, own_columns=OWN_COLUMNS
        )
    ),
    sign=sign,
    is_map=True,
    only=(".kml",),
)
