"""Detect the encoding of a shapefile's texts and tell GDAL."""

import codecs
import struct
from contextlib import suppress

from tkm_core.residents.encodings import to_utf8
from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.layers import MapKind, reader
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import Source

LARGEST_PRJ = 1 << 16  # bytes; a normal one has a few hundred
LOOKED_AT = 64 << 20  # bytes of the table by which the encoding is judged
OTHER_NAMES = {
    "euc_jp": "EUC-JP",
    "koi8_r": "KOI8-R",
    "latin_1": "ISO-8859-1",
    "mac_roman": "MACINTOSH",
    "iso8859_2": "ISO-8859-2",
    "iso8859_15": "ISO-8859-15",
}


def prepare_shapefile(source: Source) -> list[str]:
    """Write the detected encoding into the .cpg part, and convert the .prj part to UTF-8.

    Returns
    -------
    list of str
        Warnings.
    """
    warnings = []
    prj = source.parts.pop(".prj", b"")
    with suppress(ResidentsError):  # not text: the warning follows below
        if 0 < len(prj) <= LARGEST_PRJ:
            source.parts[".prj"] = to_utf8(prj, source.name)[0]
    if len(prj) and ".prj" not in source.parts:
        warnings.append("The file states a reference system that cannot be understood; it is ignored.")
    texts, marked = _texts(bytes(source.parts.get(".dbf", b"")[:LOOKED_AT]))
    if texts.isascii() or (marked and ".cpg" not in source.parts):
        return warnings
    if not _fits(texts, bytes(source.parts.get(".cpg", b"")[:100])):
        encoding, more = to_utf8(texts, source.name)[1:]
        source.parts[".cpg"] = OTHER_NAMES.get(encoding, encoding.upper()).encode()
        warnings += more
    return warnings


def _fits(texts: bytes, stated: bytes) -> bool:
    """Whether texts are in the encoding that a .cpg file states."""
    name = stated.decode("ascii", "ignore").strip()
    try:
        texts.decode(codecs.lookup(f"cp{name}" if name.isdigit() else name).name)
    except (LookupError, ValueError):
        return False
    return True


def _texts(table: bytes) -> tuple[bytes, bool]:
    """The names and texts of a dBASE table, and whether it states their encoding."""
    try:
        rows, start, width = struct.unpack_from("<IHH", table, 4)
        marked = table[29] not in (0, 0x57)  # 0x57: "as on this computer"
        fields = [table[place : place + 32] for place in range(32, start - 31, 32)]
    except (struct.error, IndexError):
        return b"", False
    parts, place = [], 1
    body = table[start:]
    rows = min(rows, len(body) // max(1, width))
    for entry in fields:
        if len(entry) < 32 or entry[0] == 13:
            break
        parts.append(entry[:11].partition(b"\0")[0])
        if entry[11:12] == b"C":
            parts += [
                body[row * width + place : row * width + place + entry[16]].strip(b" \0")
                for row in range(rows)
            ]
        place += entry[16]
    return b"\n".join(parts).replace(b"\0", b" "), marked


FORMAT = FileFormat(
    kind="shapefile",
    name="shapefile",
    suffixes=(".shp",),
    read=reader(
        MapKind(title="Shapefile", suffix=".shp", drivers=("ESRI Shapefile",), prepare=prepare_shapefile)
    ),
    sign=lambda head: head.startswith(b"\x00\x00\x27\x0a"),
    is_map=True,
    upload="a zipped shapefile",
    only=(".shp",),
)
