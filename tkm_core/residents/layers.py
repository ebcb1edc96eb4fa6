"""Read map layers in the formats that GDAL opens, with one point for each feature."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyogrio
import pyogrio.errors
import shapely
from pyproj import CRS
from pyproj.exceptions import CRSError

from tkm_core.arrays import Floats
from tkm_core.residents.file_format import Asked
from tkm_core.residents.gdal import closed_gdal
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.nesting import is_nested
from tkm_core.residents.source import Source
from tkm_core.residents.table import LOOK_AT, MOST_COLUMNS, Table, check_width, is_text, unique_names, whole
from tkm_core.wording import counted

POINTS, LINES, POLYGONS, COLLECTION = (0, 4), (1, 2, 5), (3, 6), 7


@dataclass(frozen=True)
class MapKind:
    """How one of the formats that GDAL reads is opened.

    Attributes
    ----------
    title : str
        Its name in messages.
    suffix : str
        The suffix by which GDAL recognises it.
    drivers : tuple of str
        The GDAL drivers that may open it; no others are allowed.
    prepare, check : callable
        Checks before and after the file is written to the private folder; each returns warnings.
    own_columns : tuple of str
        Columns that GDAL adds to every layer, whatever the file holds.
    one_layer : bool
        Whether a file has only one layer: searching for others would take a pass over the file.
    or_else : str
        What else an unreadable file may be, for the message.
    """

    title: str
    suffix: str
    drivers: tuple[str, ...]
    prepare: Callable[[Source], list[str]] = lambda _source: []
    check: Callable[[Path, str], list[str]] = lambda _path, _name: []
    own_columns: tuple[str, ...] = ()
    one_layer: bool = False
    or_else: str = ""


def reader(kind: MapKind) -> Callable[[Source, Asked], Table]:
    """Make the reader of a format: of the layer asked for, or the first with points or polygons (or lines)."""

    def read(source: Source, asked: Asked) -> Table:
        """Read the layer; GDAL's errors become messages for planners."""
        told = kind.prepare(source)
        path = source.write_to_folder(kind.suffix)
        told += kind.check(path, source.name)
        try:
            with closed_gdal(kind.drivers), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # GDAL's remarks on oddities; what matters is checked below
                table = _read(source, kind, path, asked.layer, lines=asked.lines)
        except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, pa.ArrowException) as error:
            raise _unreadable(source, kind) from error
        except (shapely.errors.ShapelyError, OSError, ValueError, TypeError, RuntimeError) as error:
            if isinstance(error, ResidentsError):
                raise
            raise _unreadable(source, kind) from error
        table.warnings[:0] = told
        return table

    return read


def _unreadable(source: Source, kind: MapKind) -> ResidentsError:
    """The error for a damaged file."""
    said = kind.or_else or " or incomplete"
    return ResidentsError(
        f"“{source.name}” cannot be read as {kind.title}: it is damaged{said}. Export it again."
    )


def check_names(source: Source, pattern: re.Pattern[bytes]) -> None:
    """Refuse a file in which every feature has its own property names: GDAL would make each name a column."""
    names: set[bytes] = set()
    for start in range(0, len(source.data), 1 << 20):
        names.update(pattern.findall(source.data[start : start + (1 << 20)]))
        if len(names) > 2 * MOST_COLUMNS:
            check_width(len(names))


def _read(source: Source, kind: MapKind, path: Path, layer: str | None, *, lines: bool) -> Table:
    """Choose the layer and read it, with the geometries still to be decoded."""
    single = kind.one_layer and layer is None
    found = np.empty((0, 2), dtype=object) if single else pyogrio.list_layers(path)
    layers = [str(name) for name in found[:, 0]]
    if layer is not None and layer not in layers and len(layers) > 1:
        msg = f"“{source.name}” has no layer “{layer}”. Its layers: {', '.join(layers)}."
        raise ResidentsError(msg, needs="layer", suggestions=[(name, name) for name in layers])
    wanted, other = (("Line",), ("Point", "Polygon")) if lines else (("Point", "Polygon"), ("Line",))
    usable = [str(name) for name, shape in found if not any(word in (shape or "") for word in other)]
    mapped = [str(name) for name, shape in found if any(word in (shape or "") for word in wanted)]
    chosen = layer if layer in layers else next(iter(mapped or usable or layers), None)
    if chosen is None and not single:
        msg = f"“{source.name}” has no layer in it."
        raise ResidentsError(msg)
    meta, read = pyogrio.read_arrow(path, layer=chosen)
    if not single and pyogrio.read_info(path, layer=chosen)["driver"] not in kind.drivers:
        raise _unreadable(source, kind)
    geometry = meta["geometry_name"] or "wkb_geometry"
    dropped = [name for name in read.column_names if name == geometry or name in kind.own_columns]
    attributes = read.drop_columns(dropped)
    names = unique_names(attributes.column_names)
    attributes = _sound_text(attributes.rename_columns(names))
    table = Table(kind.title, names, attributes.slice(0, LOOK_AT), whole(attributes))
    table.layer, table.layers = chosen, layers
    table.encoding = meta.get("encoding")
    if len(layers) > 1 and layer is None:
        others = ", ".join(name for name in layers if name != chosen)
        table.notes.append(f"Of {len(layers)} layers “{chosen}” was taken (others: {others}).")
    if geometry in read.column_names and read.num_rows:
        table.points = point_reader(read[geometry], table.notes)
        table.shapes = lambda: from_wkb(read[geometry].to_pylist())
        table.crs = read_crs(meta["crs"], table)
    elif read.num_rows == 0:
        msg = f"“{source.name}” holds no features."
        raise ResidentsError(msg)
    return table


def _sound_text(table: pa.Table) -> pa.Table:
    """The table with valid UTF-8 only: other bytes, which GDAL passes on unchanged, become “\ufffd”."""
    for place, column in enumerate(table.columns):
        if not is_text(column.type):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raw = [None if value is None else value.decode("utf-8", "replace") for value in _raw(column)]
            table = table.set_column(place, table.column_names[place], pa.array(raw, pa.string()))
    return table


def _raw(column: pa.ChunkedArray) -> list[bytes | None]:
    """The bytes of a text column, undecoded."""
    kind = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    return [value for chunk in column.chunks for value in chunk.view(kind).to_pylist()]


def read_crs(text: Any, table: Table) -> CRS | None:
    """The reference system a file states; one that cannot be understood is ignored, with a warning."""
    if not text:
        return None
    try:
        return CRS.from_user_input(text)
    except (CRSError, ValueError, TypeError, RecursionError):
        table.warnings.append("The file states a reference system that cannot be understood; it is ignored.")
        return None


def point_reader(wkb: pa.ChunkedArray, notes: list[str]) -> Callable[[], Floats]:
    """A function that reads the geometries as points when it is called."""

    def read() -> Floats:
        """Decode the geometries and note what kinds there were."""
        points, kinds = to_points(from_wkb(wkb.to_pylist()))
        notes.extend(describe_kinds(kinds))
        return points

    return read


def from_wkb(values: list[bytes | None]) -> npt.NDArray[np.object_]:
    """Shapes from well-known binary; None for missing ones and for shapes nested too deeply."""
    plain = [None if value is None or is_nested(value) else value for value in values]
    return np.asarray(shapely.from_wkb(np.asarray(plain, dtype=object), on_invalid="ignore"))


def to_points(shapes: npt.NDArray[np.object_]) -> tuple[Floats, Counter[str]]:
    """Points as they are, a point inside each polygon, NaN for the rest; and how many there were of each."""
    kinds = shapely.get_type_id(shapes)
    if np.any(kinds == COLLECTION):  # KML puts a point and its line in one collection
        shapes = np.array([_first_usable(shape) for shape in shapes], dtype=object)
        kinds = shapely.get_type_id(shapes)
    out = np.full((len(shapes), 2), np.nan)
    filled = ~shapely.is_empty(shapes)
    areas, lines, exact = np.isin(kinds, POLYGONS) & filled, np.isin(kinds, LINES), (kinds == 0) & filled
    out[exact, 0], out[exact, 1] = (shapely.get_x(shapes[exact]), shapely.get_y(shapes[exact]))
    inside = areas | (np.isin(kinds, POINTS) & ~exact & filled)
    out[inside] = _points_inside(shapes[inside])
    counts = {"areas": int(areas.sum()), "lines": int(lines.sum()), "points": int((inside | exact).sum())}
    return out, Counter(counts)


def describe_kinds(kinds: Counter[str]) -> list[str]:
    """Sentences on the kinds of features found; a layer of nothing but lines is refused."""
    if kinds["lines"] and not kinds["points"]:
        msg = f"The layer holds {counted(kinds['lines'], 'line')}. Residents are points, or areas with a population."
        raise ResidentsError(msg)
    notes = []
    if kinds["lines"]:
        are = "is a line" if kinds["lines"] == 1 else "are lines"
        notes.append(f"{counted(kinds['lines'], 'feature')} {are}: nobody lives there, so they are left out.")
    if kinds["areas"]:
        of = "its people" if kinds["areas"] == 1 else "the people of each"
        notes.append(f"{counted(kinds['areas'], 'area')}: {of} are counted at one point inside it.")
    return notes


def _points_inside(shapes: npt.NDArray[np.object_]) -> Floats:
    """A point inside each shape; NaN for a shape too broken to have one."""
    out = np.full((len(shapes), 2), np.nan)
    try:
        single = shapely.point_on_surface(shapes)
    except shapely.errors.GEOSException:  # one broken shape fails the whole call: try them one by one
        if len(shapes) == 1:
            return out
        return np.concatenate([_points_inside(shapes[place : place + 1]) for place in range(len(shapes))])
    found = ~shapely.is_empty(single)
    out[found, 0], out[found, 1] = shapely.get_x(single[found]), shapely.get_y(single[found])
    return out


def _first_usable(shape: Any) -> Any:
    """The first point or polygon of a collection."""
    if shape is None or shape.geom_type != "GeometryCollection":
        return shape
    return next((part for part in shape.geoms if shapely.get_type_id(part) in (*POINTS, *POLYGONS)), None)


def geoparquet_meta(text: bytes) -> dict[str, Any]:
    """The "geo" entry of a Parquet file; empty if it is broken."""
    try:
        meta = json.loads(text)
        primary = meta["columns"][meta["primary_column"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {"name": meta["primary_column"], **primary} if isinstance(primary, dict) else {}
