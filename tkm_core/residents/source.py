"""Where bytes come from: paths, uploads, archives; bounded in size, unpacked only in a private folder."""

import gzip
import io
import lzma
import mmap
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from tkm_core.residents.model import ResidentsError

LARGEST_UNPACKED = 4 << 30  # bytes an archive may unpack to at most
LARGEST_SHEET = 512 << 20  # bytes of XML in a workbook: cells become Python objects, so this bounds memory
ALWAYS_FINE = 256 << 20  # bytes that any archive may unpack to, however well it is packed
PACKING = 100  # times an archive may grow beyond that; text packs 5 to 20 times, bombs a thousand times
STEP = 1 << 20
SHAPEFILE_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".tab": "text",
    ".dat": "text",
    ".xls": "excel",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".geojson": "geojson",
    ".json": "geojson",
    ".gpkg": "geopackage",
    ".shp": "shapefile",
    ".kml": "kml",
    ".parquet": "parquet",
    ".geoparquet": "parquet",
}
READABLE = "You can upload CSV or other text, Excel, GeoJSON, GeoPackage, a zipped shapefile, KML or Parquet"
# What broken archives raise in Python's readers.
BROKEN = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError,
    NotImplementedError, IndexError, OverflowError, struct.error,
)  # fmt: skip

Buffer = bytes | mmap.mmap


class Readable(Protocol):
    """What bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`."""


@dataclass
class Source:
    """One readable thing: its name, its bytes, its kind, and the files that belong to it (shapefiles)."""

    name: str
    data: Buffer
    kind: str = ""
    parts: dict[str, Buffer] = field(default_factory=dict)
    folder: Path = Path()
    path: Path | None = None

    def write_to_folder(self, suffix: str) -> Path:
        """Put the bytes, under a harmless name, into the private folder, for readers that need a file."""
        target = self.folder / f"residents{suffix}"
        with target.open("wb") as out:
            for start in range(0, len(self.data), STEP):
                out.write(self.data[start : start + STEP])
        for part, data in self.parts.items():
            target.with_suffix(part).write_bytes(data)
        return target


@contextmanager
def open_source(file: Any, *, name: str | None = None, layer: str | None = None) -> Iterator[Source]:
    """Open a path, bytes, an upload or the parts of a shapefile; unpack archives; tell the kind.

    The private temporary folder goes away at the end, whatever happens.
    """
    folder = Path(tempfile.mkdtemp(prefix="residents-"))
    try:
        source = _open(file, name)
        source.folder = folder
        for _ in range(3):  # a gzip in a zip is fine, an endless nest is not
            source.kind = source.kind or tell_kind(source)
            if source.kind == "gzip":
                _gunzip(source)
            elif source.kind == "zip":
                _unzip(source, layer)
            else:
                break
        else:
            msg = f"“{source.name}” is an archive within an archive. Unpack it and choose the file inside."
            raise ResidentsError(msg)
        yield source
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open(file: Any, name: str | None) -> Source:
    if isinstance(file, (bytes, bytearray, memoryview)):
        return Source(name or "upload", bytes(file))
    if isinstance(file, (str, Path)):
        return _open_path(Path(file), name)
    if isinstance(file, Sequence):
        return _open_parts(file, name)
    if hasattr(file, "read"):
        if hasattr(file, "seek"):
            file.seek(0)
        data = file.read()
        if isinstance(data, str):
            data = data.encode()
        return Source(name or PurePosixPath(str(getattr(file, "name", "upload"))).name, bytes(data))
    msg = f"A path, bytes or an uploaded file is needed, not {type(file).__name__}."
    raise ResidentsError(msg)


def _open_path(path: Path, name: str | None) -> Source:
    try:
        if path.is_dir():
            shapes = sorted(found for found in path.iterdir() if found.suffix.lower() == ".shp")
            if len(shapes) != 1:
                msg = f"“{path.name}” is a folder with {len(shapes)} shapefiles. Choose one file."
                raise ResidentsError(msg)
            path = shapes[0]
        data = _map(path)
        source = Source(name or path.name, data, path=path)
        if path.suffix.lower() == ".shp":
            source.parts = {
                found.suffix.lower(): _map(found)
                for found in path.parent.iterdir()
                if found.stem == path.stem and found.suffix.lower() in SHAPEFILE_PARTS[1:]
            }
        return source
    except (OSError, ValueError) as error:
        if isinstance(error, ResidentsError):
            raise
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else "it cannot be opened"
        msg = f"“{path.name}”: {reason}."
        raise ResidentsError(msg) from error


def _map(path: Path) -> Buffer:
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _open_parts(files: Sequence[Any], name: str | None) -> Source:
    opened = [_open(file, None) for file in files]
    if len(opened) == 1:
        return opened[0]
    parts = {Path(source.name).suffix.lower(): source for source in opened}
    if ".shp" not in parts:
        msg = "Several files can only be the parts of a shapefile (.shp, .dbf, .shx, .prj). Choose one file."
        raise ResidentsError(msg)
    main = parts.pop(".shp")
    main.name = name or main.name
    main.parts |= {end: part.data for end, part in parts.items() if end in SHAPEFILE_PARTS}
    return main


def tell_kind(source: Source) -> str:
    """Tell a format by its first bytes; the name decides only what the bytes leave open."""
    head = bytes(source.data[:4096])
    suffix = Path(source.name).suffix.lower()
    if not head.strip():
        msg = f"“{source.name}” is empty."
        raise ResidentsError(msg)
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "excel" if suffix in (".xlsx", ".xlsm") else "zip"
    if head[:4] == b"\xd0\xcf\x11\xe0":
        return "excel"
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:16] == b"SQLite format 3\x00":
        return "geopackage"
    if head[:4] == b"\x00\x00\x27\x0a":
        return "shapefile"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return "geojson"
    if text[:1] == b"<":
        return _tell_markup(source.name, bytes(source.data[: 1 << 16]))
    claimed = FORMATS.get(suffix)
    if claimed in ("parquet", "geopackage", "shapefile", "kml") or suffix == ".xlsx":
        msg = f"“{source.name}” is not what its name says: its content is not {suffix[1:]}. Export it again."
        raise ResidentsError(msg)
    if claimed == "geojson":
        msg = f"“{source.name}” is not JSON: it does not begin with a bracket. Export it again."
        raise ResidentsError(msg)
    return "text"


def _tell_markup(name: str, head: bytes) -> str:
    # GDAL would take a virtual-layer description for a command to open other files.
    if b"<kml" in head and b"OGRVRTDataSource" not in head and b"<!ENTITY" not in head:
        return "kml"
    msg = f"“{name}” is a web page or another kind of XML, not a table or a map layer. {READABLE}."
    raise ResidentsError(msg)


def limit(packed: int) -> int:
    """How many bytes an archive of this size may unpack to."""
    return min(LARGEST_UNPACKED, max(ALWAYS_FINE, PACKING * packed))


def drain(stream: Readable, name: str, most: int) -> Iterator[bytes]:
    """Unpack a stream block by block and stop at the limit."""
    size = 0
    while True:
        try:
            block = stream.read(STEP)
        except BROKEN as error:
            raise _damaged(name, error) from error
        if not block:
            return
        size += len(block)
        if size > most:
            msg = f"“{name}” unpacks to more than {most >> 20:,} MB: that is no table of residents."
            raise ResidentsError(msg)
        yield block


def _unpack(stream: Readable, name: str, most: int, target: Path) -> None:
    """Unpack a stream into a file; that the disk is full is not the archive's fault, and passes as it is."""
    with target.open("wb") as out:
        for block in drain(stream, name, most):
            out.write(block)


def _damaged(name: str, error: Exception) -> ResidentsError:
    reason = "is protected by a password" if "password" in str(error) else "is damaged or incomplete"
    return ResidentsError(f"“{name}” {reason}. Unpack it yourself, or download it again.")


def _gunzip(source: Source) -> None:
    target = source.folder / "unpacked.gz.out"
    with gzip.GzipFile(fileobj=io.BytesIO(bytes(source.data))) as stream:
        _unpack(stream, source.name, limit(len(source.data)), target)
    source.data, source.kind, source.path = _map(target), "", target
    source.name = source.name[:-3] if source.name.lower().endswith(".gz") else source.name


@contextmanager
def archive(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive that is in memory."""
    try:
        packed = zipfile.ZipFile(io.BytesIO(bytes(source.data)))
    except BROKEN as error:
        msg = f"“{source.name}” is a damaged or incomplete archive. Download it again."
        raise ResidentsError(msg) from error
    with packed:
        yield packed


@contextmanager
def member(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Iterator[IO[bytes]]:
    """Open one file of an archive."""
    try:
        stream = packed.open(entry)
    except BROKEN as error:
        raise _damaged(name, error) from error
    with stream:
        yield stream


def _unzip(source: Source, layer: str | None) -> None:
    """Take the one readable member of an archive, or the one called `layer`; its path is never used."""
    with archive(source) as packed:
        entries = [entry for entry in packed.infolist() if entry.filename.strip("./\\ ")]
        entries = [entry for entry in entries if not entry.filename.endswith("/")]
        names = {PurePosixPath(entry.filename.replace("\\", "/")): entry for entry in entries}
        for path in names:
            if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
                msg = f"“{source.name}” holds a file that would be unpacked elsewhere ({path}): not opened."
                raise ResidentsError(msg)
        if any(path.name == "[Content_Types].xml" for path in names):
            source.kind = "excel"
            return
        data = {
            path: entry
            for path, entry in names.items()
            if not any(part.startswith((".", "__MACOSX")) for part in path.parts)
            and (path.suffix.lower() in FORMATS or path.suffix.lower() == ".gz")
        }
        chosen = _choose(source.name, list(data), layer)
        most = limit(len(source.data))
        wanted = {chosen: ""}
        if chosen.suffix.lower() == ".shp":
            siblings = [path for path in names if path.parent == chosen.parent and path.stem == chosen.stem]
            wanted |= {
                path: path.suffix.lower() for path in siblings if path.suffix.lower() in SHAPEFILE_PARTS[1:]
            }
        for number, (path, part) in enumerate(wanted.items()):
            target = source.folder / f"unpacked-{number}.out"
            with member(packed, names[path], source.name) as stream:
                _unpack(stream, source.name, most, target)
            most -= min(most, target.stat().st_size)
            if part:
                source.parts[part] = _map(target)
            else:
                main = _map(target)
    source.data, source.kind, source.name, source.path = main, "", chosen.name, None


def _choose(name: str, paths: list[PurePosixPath], layer: str | None) -> PurePosixPath:
    if not paths:
        msg = f"“{name}” holds no file that can be read. {READABLE}."
        raise ResidentsError(msg)
    shapes = [path for path in paths if path.suffix.lower() == ".shp"]
    paths = shapes or paths
    fitting = [path for path in paths if layer in (path.stem, path.name, str(path))]
    if len(fitting) == 1 or len(paths) == 1:
        return (fitting or paths)[0]
    listed = ", ".join(str(path) for path in paths[:8])
    msg = f"“{name}” holds {len(paths)} files: {listed}. Say which with layer=, or upload that one."
    raise ResidentsError(msg, needs="layer", suggestions=[(path.name, str(path)) for path in paths])
