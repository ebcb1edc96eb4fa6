"""Load a road file: open it, read its streets, and build the network."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tkm_core.progress import Progress, never_falling, part
from tkm_core.residents import FORMATS, ResidentsError, open_source
from tkm_core.streets.areas import Areas, read_areas
from tkm_core.streets.line_layers import Column, read_lines
from tkm_core.streets.model import Streets
from tkm_core.streets.network import build_network
from tkm_core.streets.osm import TITLE, in_sentences, read_osm
from tkm_core.streets.report import StreetsReport
from tkm_core.streets.rules import Rules, StreetsError, load_rules
from tkm_core.streets.ways import Ways

READABLE = (
    "You can upload OpenStreetMap extracts (.osm.pbf, .osm, .osm.gz) or a layer of lines as GeoPackage, "
    "zipped shapefile or GeoJSON"
)
FINE = 3.0  # metres by which the outline of a lake or a park may be simplified


def load_streets(
    file: Any,
    *,
    mode: str = "walk",
    rules: str | Path | Mapping[str, Any] | None = None,
    layer: str | None = None,
    crs: object = None,
    road_class: Column = None,
    oneway: Column = None,
    speed: Column = None,
    name: str | None = None,
    areas: bool = False,
    progress: Progress | None = None,
) -> Streets:
    """Read a road file and build a network from it, without using the internet.

    Parameters
    ----------
    file : path, bytes, file-like or list of these
        An OpenStreetMap extract (.osm.pbf, .osm, .osm.gz), or a layer of lines: GeoPackage, shapefile (zipped, or
        the parts in a list), GeoJSON. Lines of a layer are connected where they share a vertex.
    mode : str
        How people travel. The file rules.toml says who may use which street, in which direction and how fast.
    rules : path or mapping, optional
        Changes to rules.toml, in the same form.
    layer : str, optional
        Which layer of a file, or which file of an archive, to read.
    crs : str, int or CRS, optional
        Reference system of a layer of lines that does not state it.
    road_class, oneway, speed : str or False, optional
        Columns of a layer of lines: the class of a street in OpenStreetMap's words, its direction, and its speed in
        km/h. Recognised by their names if not given. A speed column that you name is taken as the speed of this mode;
        one that is recognised is taken as a speed limit, which affects cars only. False: there is none.
    name : str, optional
        What to call the streets; the file's name by default.
    areas : bool
        Read water and parks too, for the background of a map; only OpenStreetMap files have them.
    progress : callable, optional
        Called with the fraction done and a sentence; an exception it raises stops the work.

    Returns
    -------
    Streets
        The largest part of the network in which every place can be reached from every other; ``report`` says what
        was read and what was cut off.

    Raises
    ------
    StreetsError
        A ValueError, with a sentence that says what is wrong and what to do.

    Examples
    --------
    A street of about 1 km from west to east on the equator, with a resident 80 m north of its western end:

    >>> line = '{"type": "LineString", "coordinates": [[0, 0], [0.004, 0], [0.00898, 0]]}'
    >>> streets = load_streets(line.encode(), mode="walk")
    >>> streets.travel_times([[0, 80 / 110_574]], [[0.00898, 0]]).round(1)
    array([[13.5]])
    >>> streets.distances([[0, 0]], [[0.00898, 0]]).round()
    array([[1000.]])
    """
    table = load_rules(mode, rules)
    try:
        with in_sentences("road file", name or "The file", never_falling(progress)) as report:
            report(0.0, "Opening the road file")
            with open_source(file, name=name, layer=layer) as source:
                shown, ground = name or source.name, None
                if source.kind in TITLE:
                    ways = read_osm(source, table, name=shown, progress=part(report, 0.0, 0.7))
                    if areas:
                        report(0.7, "Reading water and parks")
                        ground = read_areas(source, table, name=shown, simplify=FINE)
                elif FORMATS[source.kind].is_map:
                    ways = read_lines(
                        source, table, layer=layer, crs=crs, road_class=road_class, oneway=oneway, speed=speed
                    )
                else:
                    msg = f"“{shown}” is not a road file. {READABLE}."
                    raise StreetsError(msg)
            report(0.8, "Building the network")
            return _build(ways, table, shown, ground, report)
    except ResidentsError as error:
        raise StreetsError(_about_streets(error), needs=error.needs) from error


def _about_streets(error: ResidentsError) -> str:
    """The message of the shared file reader, with the formats of road files in place of those of residents."""
    text = str(error)
    return f"{text.split(' You can upload ')[0]} {READABLE}." if " You can upload " in text else text


def _build(ways: Ways, rules: Rules, name: str, areas: Areas | None, progress: Progress) -> Streets:
    """Build the network and its report; a file without a usable part is refused."""
    network, cut = build_network(ways)
    if len(network.start) == 0:
        msg = (
            f"“{name}” has no connected part in which people can get from one place to another and back. "
            "Check that streets are joined at crossings, and the one-way streets."
        )
        raise StreetsError(msg)
    report = StreetsReport(
        file_format=ways.file_format,
        mode=rules.mode,
        ways_read=ways.read,
        ways_used=len(ways.forward),
        junctions=len(network.lonlat),
        edges=len(network.start),
        km=float(network.metres.sum()) / 1000,
        parts_cut_off=cut.parts,
        junctions_cut_off=cut.junctions,
        km_cut_off=cut.metres / 1000,
        unknown_limits=dict(rules.unknown_limits),
        notes=ways.notes,
        columns=ways.columns,
    )
    progress(1.0, "The network is ready")
    return Streets(
        network,
        mode=rules.mode,
        name=name,
        pace=rules.pace,
        class_names=tuple(ways.class_names),
        report=report,
        areas=areas,
        words=rules.words,
    )
