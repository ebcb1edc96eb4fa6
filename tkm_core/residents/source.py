"""Sources of bytes, limited in size: paths, uploads, the parts of a shapefile, members of an archive."""

import io
import lzma
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from tkm_core.residents.model import ResidentsError

LARGEST_UNPACKED = 4 << 30  # bytes an archive may unpack to at most
# Bytes of XML in a workbook; its cells become Python objects, so this limits memory.
LARGEST_SHEET = 512 << 20
ALWAYS_FINE = 256 << 20  # bytes that any archive may unpack to, whatever its compression ratio
PACKING = 100  # highest compression ratio beyond that; text reaches 5 to 20, zip bombs a thousand
STEP = 1 << 20
SHAPEFILE_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
# What Python raises when it reads a broken archive.
BROKEN = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError,
    NotImplementedError, IndexError, OverflowError, struct.error,
)  # fmt: skip

Buffer = bytes | mmap.mmap


class Readable(Protocol):
    """Anything with a `read` that returns bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`."""


@dataclass
class Source:
    """A file to be read: its name, bytes and format, and the files that belong to it (shapefiles)."""

    name: str
    data: Buffer
    kind: str = ""
    parts: dict[str, Buffer] = field(default_factory=dict)
    folder: Path = Path()
    path: Path | None = None

    def write_to_folder(self, suffix: str) -> Path:
        """Write the bytes under a harmless name to the private folder, for readers that need a file."""
        target = self.folder / f"residents{suffix}"
        with target.open("wb") as out:
            for start in range(0, len(self.data), STEP):
                out.write(self.data[start : start + STEP])
        for part, data in self.parts.items():
            target.with_suffix(part).write_bytes(data)
        return target


def take(file: Any, name: str | None) -> Source:
    """Make a source of a path, bytes, an upload or the parts of a shapefile, without looking into it."""
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
    """Open a file, or the one shapefile of a folder, with the parts beside it."""
    try:
        if path.is_dir():
            shapes = sorted(found for found in path.iterdir() if found.suffix.lower() == ".shp")
            if len(shapes) != 1:
                msg = f"“{path.name}” is a folder with {len(shapes)} shapefiles. Choose one file."
                raise ResidentsError(msg)
            path = shapes[0]
        data = map_file(path)
        source = Source(name or path.name, data, path=path)
        if path.suffix.lower() == ".shp":
            source.parts = {
                found.suffix.lower(): map_file(found)
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


def map_file(path: Path) -> Buffer:
    """The bytes of a file, memory-mapped."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _open_parts(files: Sequence[Any], name: str | None) -> Source:
    """Put the parts of a shapefile together."""
    opened = [take(file, None) for file in files]
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


def limit(packed: int) -> int:
    """How many bytes an archive of this size may unpack to."""
    return min(LARGEST_UNPACKED, max(ALWAYS_FINE, PACKING * packed))


def drain(stream: Readable, name: str, most: int) -> Iterator[bytes]:
    """Unpack a stream block by block; refuse it when it passes the limit."""
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
            msg = f"“{name}” unpacks to more than {most >> 20:,} MB, more than can be opened."
            raise ResidentsError(msg)
        yield block


def unpack(stream: Readable, name: str, most: int, target: Path) -> None:
    """Unpack a stream into a file; a full disk stays an `OSError`, since it is not the archive's fault."""
    with target.open("wb") as out:
        for block in drain(stream, name, most):
            out.write(block)


def _damaged(name: str, error: Exception) -> ResidentsError:
    """The error for an archive that cannot be unpacked."""
    reason = "is protected by a password" if "password" in str(error) else "is damaged or incomplete"
    return ResidentsError(f"“{name}” {reason}. Unpack it yourself, or download it again.")


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


def text_begins(head: bytes, *signs: bytes) -> bool:
    """Whether text begins with one of `signs`, after a byte order mark and blanks."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(signs)
