"""Open a file: unpack archives into a private folder, and recognise the format."""

import gzip
import io
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from tkm_core.residents import text
from tkm_core.residents.formats import FORMATS, SUFFIXES, readable
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import (
    SHAPEFILE_PARTS,
    Source,
    archive,
    limit,
    map_file,
    member,
    take,
    text_begins,
    unpack,
)

STREETS = ("pbf", "osm")  # OpenStreetMap's two formats: no residents in them; tkm_core.streets reads them
HEAD = 1 << 16  # bytes by which a format is recognised


@contextmanager
def open_source(file: Any, *, name: str | None = None, layer: str | None = None) -> Iterator[Source]:
    """Open a path, bytes, an upload or the parts of a shapefile; unpack archives; recognise the format.

    The private temporary folder is removed at the end, whatever happens.
    """
    folder = Path(tempfile.mkdtemp(prefix="residents-"))
    try:
        source = take(file, name)
        source.folder = folder
        for _ in range(3):  # a gzip in a zip is fine; endless nesting is not
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


def tell_kind(source: Source) -> str:
    """Recognise a format by its first bytes; the file name decides only where they leave it open."""
    head = bytes(source.data[:HEAD])
    suffix = Path(source.name).suffix.lower()
    if not head[:4096].strip():
        msg = f"“{source.name}” is empty."
        raise ResidentsError(msg)
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return next((kind for kind, one in FORMATS.items() if suffix in one.zip_suffixes), "zip")
    for kind, one in FORMATS.items():
        if one.sign(head):
            return kind
    if b"OSMHeader" in head[:32]:
        return "pbf"
    if text_begins(head, b"<") and re.search(rb"<osm[\s>]", head):
        return "osm"
    if head.startswith(b"%PDF"):
        msg = f"“{source.name}” is a PDF document, not a table or a map layer. {readable()}."
        raise ResidentsError(msg)
    if text_begins(head, b"<"):
        msg = (
            f"“{source.name}” is a web page or another kind of XML, not a table or a map layer. {readable()}."
        )
        raise ResidentsError(msg)
    claimed = SUFFIXES.get(suffix)
    if claimed is not None and suffix in claimed.only:
        what = claimed.mismatch or f"is not what its name says: its content is not {suffix[1:]}"
        msg = f"“{source.name}” {what}. Export it again."
        raise ResidentsError(msg)
    return text.FORMAT.kind


def _gunzip(source: Source) -> None:
    """Unpack a gzip file into the private folder."""
    target = source.folder / "unpacked.gz.out"
    with gzip.GzipFile(fileobj=io.BytesIO(bytes(source.data))) as stream:
        unpack(stream, source.name, limit(len(source.data)), target)
    source.data, source.kind, source.path = map_file(target), "", target
    source.name = source.name[:-3] if source.name.lower().endswith(".gz") else source.name


def _unzip(source: Source, layer: str | None) -> None:
    """Unpack the one readable member of an archive, or the one called `layer`; its path is never used."""
    with archive(source) as packed:
        entries = [entry for entry in packed.infolist() if entry.filename.strip("./\\ ")]
        entries = [entry for entry in entries if not entry.filename.endswith("/")]
        names = {PurePosixPath(entry.filename.replace("\\", "/")): entry for entry in entries}
        for path in names:
            if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
                msg = f"“{source.name}” holds a file that would be unpacked outside its folder ({path}): not opened."
                raise ResidentsError(msg)
        for kind, one in FORMATS.items():
            if one.zip_member and any(path.name == one.zip_member for path in names):
                source.kind = kind
                return
        data = {
            path: entry
            for path, entry in names.items()
            if not any(part.startswith((".", "__MACOSX")) for part in path.parts)
            and (path.suffix.lower() in SUFFIXES or path.suffix.lower() == ".gz")
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
                unpack(stream, source.name, most, target)
            most -= min(most, target.stat().st_size)
            if part:
                source.parts[part] = map_file(target)
            else:
                main = map_file(target)
    source.data, source.kind, source.name, source.path = main, "", chosen.name, None


def _choose(name: str, paths: list[PurePosixPath], layer: str | None) -> PurePosixPath:
    """The member of an archive to read; an error lists the choices."""
    if not paths:
        msg = f"“{name}” holds no file that can be read. {readable()}."
        raise ResidentsError(msg)
    shapes = [path for path in paths if path.suffix.lower() == ".shp"]
    paths = shapes or paths
    fitting = [path for path in paths if layer in (path.stem, path.name, str(path))]
    if len(fitting) == 1 or len(paths) == 1:
        return (fitting or paths)[0]
    listed = ", ".join(str(path) for path in paths[:8])
    msg = f"“{name}” holds {len(paths)} files: {listed}. Say which with layer=, or upload that one."
    raise ResidentsError(msg, needs="layer", suggestions=[(path.name, str(path)) for path in paths])
