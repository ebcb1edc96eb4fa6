"""Read streets from OpenStreetMap extracts (.osm.pbf, .osm) with pyosmium."""

import errno
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.extras import needs_extra
from tkm_core.progress import Progress, silent
from tkm_core.residents import ResidentsError, Source
from tkm_core.streets.pbf import check_blocks
from tkm_core.streets.rules import Rules, StreetsError
from tkm_core.streets.ways import Ways, check_length, check_size
from tkm_core.wording import counted

TITLE = {"pbf": "OpenStreetMap (.osm.pbf)", "osm": "OpenStreetMap (.osm)"}
ATTRIBUTION = "© OpenStreetMap contributors"  # the licence requires it wherever the data are shown
OFTEN = 10_000  # ways between two reports of progress
PROLOG = 1 << 16  # bytes of XML searched for a document type declaration
LARGEST_XML = 4 << 30  # bytes; a point takes about a hundred
IN_MEMORY = 128 << 20  # bytes; the nodes of larger files are kept on disk, in the private folder
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk is full, which is not the file's fault
OSM = "OpenStreetMap file"
SCALE = 1e7  # OpenStreetMap's coordinates are whole multiples of 1e-7 degree


def read_osm(source: Source, rules: Rules, *, name: str, progress: Progress = silent) -> Ways:
    """Read the streets that a mode may use.

    The file is read twice, first the nodes and then the ways, so their order in the file does not matter; Overpass,
    for instance, puts ways first.

    Parameters
    ----------
    source : Source
        The opened file, of kind "pbf" or "osm"; its name does not matter.
    rules : Rules
        Rules of the mode of travel.
    name : str
        What the planner calls the file.
    progress : callable, optional
        Called with the fraction done and a sentence.
    """
    with in_sentences(OSM, name, progress) as report:
        osmium, file, store = open_osm(source, name)
        ways = _read(osmium, file, store, rules, name, report)
    ways.file_format = TITLE[source.kind]
    return ways


@contextmanager
def in_sentences(what: str, name: str, progress: Progress = silent) -> Iterator[Progress]:
    """Turn whatever a damaged file raises into a message; what stops the work, and a full disk, pass unchanged.

    Parameters
    ----------
    what : str
        What the file should be.
    name : str
        What the planner calls it.
    progress : callable
        An exception that it raises stops the work.

    Yields
    ------
    callable
        `progress` for use inside.
    """
    stopped: list[BaseException] = []

    def report(fraction: float, text: str) -> None:
        """Pass progress on, and remember an exception by which the caller stops the work."""
        try:
            progress(fraction, text)
        except BaseException as error:
            stopped.append(error)
            raise

    try:
        yield report
    except (ResidentsError, StreetsError, MemoryError, ImportError):
        raise
    except Exception as error:
        if error in stopped or (isinstance(error, OSError) and error.errno in NO_ROOM):
            raise
        why = " ".join(str(error).split())[:120]
        msg = f"“{name}” is not a readable {what}: damaged or incomplete ({why}). Download it again."
        raise StreetsError(msg) from error


def open_osm(source: Source, name: str) -> tuple[Any, Any, str]:
    """Check a file before it is read; return the osmium module, the file for it, and the kind of node store."""
    try:
        import osmium
    except ModuleNotFoundError as missing:
        what = "Reading OpenStreetMap files"
        raise needs_extra(what, missing) from missing
    size = check_blocks(source.data, name) if source.kind == "pbf" else _check_markup(source, name)
    path = source.path or source.write_to_folder("." + source.kind)
    store = "sparse_mem_array" if size <= IN_MEMORY else f"sparse_file_array,{source.folder / 'nodes'}"
    return osmium, osmium.io.File(str(path), source.kind), store


def _check_markup(source: Source, name: str) -> int:
    """Refuse XML that is too large or declares entities; libosmium refuses those too, anywhere in the file."""
    if b"<!DOCTYPE" in bytes(source.data[:PROLOG]).upper():
        msg = f"“{name}” has a document type declaration, which no OpenStreetMap file needs: not opened."
        raise StreetsError(msg)
    if len(source.data) > LARGEST_XML:
        msg = f"“{name}” is larger than {LARGEST_XML >> 30} GB. Cut it to your area, or use the .osm.pbf format."
        raise StreetsError(msg)
    return len(source.data)


def _read(osmium: Any, file: Any, store: str, rules: Rules, name: str, progress: Progress) -> Ways:
    """Read nodes and ways, and number the points that streets use."""
    progress(0.0, "Reading the points of the streets")
    table = osmium.index.create_map(store)
    places = osmium.NodeLocationsForWays(table)
    places.ignore_errors()
    with osmium.io.Reader(file, osmium.osm.NODE) as reader:
        osmium.apply(reader, places)
    ways = _read_ways(_with_highway(osmium, file, places), rules, name, progress)
    ids, which = np.unique(ways.points, return_inverse=True)
    ways.points = which.astype(np.int64)
    ways.lonlat = _positions(osmium, file, table, ids)
    lost = int(np.isnan(ways.lonlat[:, 0]).sum())
    if lost == len(ids):
        msg = f"“{name}” has streets, but not the points they lead through: export it again, with nodes included."
        raise StreetsError(msg)
    if lost:
        ways.notes.append(
            f"{counted(lost, 'point')} of streets {'is' if lost == 1 else 'are'} missing from the file or not on "
            "the globe, as happens at the edge of an extract: the streets end there."
        )
    return ways


def _with_highway(osmium: Any, file: Any, places: Any) -> Iterator[Any]:
    """The ways with the tag “highway”."""
    # Kept in a variable, because the iterator does not keep it alive.
    wanted = osmium.filter.KeyFilter("highway")
    with osmium.io.Reader(file, osmium.osm.WAY) as reader:
        yield from osmium.OsmFileIterator(reader, places, wanted)


def _read_ways(found: Iterator[Any], rules: Rules, name: str, progress: Progress) -> Ways:
    """Collect the ways that the mode may use, with speeds and classes."""
    points = array("q")
    starts, forward, backward, classes = [0], [], [], []
    numbers: dict[str, int] = {}
    read = 0
    for way in found:
        read += 1
        if read % OFTEN == 0:
            progress(0.2 + 0.7 * read / (read + 10 * OFTEN), f"Reading streets: {read:,} so far")
        look_up = way.tags.get
        tags = {key: value for key in rules.keys if (value := look_up(key)) is not None}
        ahead, back = rules.speeds(tags)
        if (ahead <= 0 and back <= 0) or len(way.nodes) < 2:
            continue
        check_length(len(way.nodes), name)
        points.extend([node.ref for node in way.nodes])
        check_size(len(points), name)
        starts.append(len(points))
        forward.append(ahead)
        backward.append(back)
        classes.append(numbers.setdefault(tags["highway"], len(numbers)))
    if not forward:
        what = f"{counted(read, 'street')}, but none that is open to the mode “{rules.mode}”"
        if read == 0:
            what = "no streets: nothing in it has the tag “highway”"
        msg = f"“{name}” has {what}. Choose another mode, or an extract with all streets."
        raise StreetsError(msg)
    return Ways(
        lonlat=np.empty((0, 2)),
        points=np.frombuffer(points, dtype=np.int64),
        starts=np.array(starts, dtype=np.int64),
        forward=np.array(forward),
        backward=np.array(backward),
        classes=np.array(classes, dtype=np.int16),
        class_names=list(numbers),
        read=read,
    )


def _positions(osmium: Any, file: Any, table: Any, ids: Ints) -> Floats:
    """Longitude and latitude of the nodes with the given ids; NaN for missing ones."""
    lonlat = np.full((len(ids), 2), np.nan)
    # Editors give new nodes negative ids, which the table does not know; such files are small.
    new = (
        {}
        if ids[0] >= 0
        else {node.id: node.location for node in osmium.FileProcessor(file, osmium.osm.NODE)}
    )
    for place, number in enumerate(ids.tolist()):
        try:
            location = new[number] if number < 0 else table.get(number)
        except KeyError:
            continue
        if location.valid():
            lonlat[place] = location.x, location.y
    return lonlat / SCALE
