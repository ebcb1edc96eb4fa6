"""Registry of the output formats, one file each, and functions that write tables completely or not at all."""

import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import geopandas as gpd
from pyogrio.errors import DataLayerError, DataSourceError

from tkm_core.export import geojson, geopackage, kml, parquet, spreadsheet
from tkm_core.export.file_format import FileFormat
from tkm_core.export.pieces import Pieces
from tkm_core.progress import Progress, part

FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        one.suffix: one
        for one in (geojson.FORMAT, geopackage.FORMAT, spreadsheet.FORMAT, kml.FORMAT, parquet.FORMAT)
    }
)
"""By suffix, in the order in which they are offered."""
ZIPPED = ".zip"
QUICK = 1  # level of compression: tables of numbers shrink little more at higher ones, which take three times as long
Table: TypeAlias = gpd.GeoDataFrame | Pieces


def write(tables: Table | Mapping[str, Table], path: str | Path, *, progress: Progress | None = None) -> Path:
    """Write a table to a file in the format given by its suffix; an older file stays until the new one is complete.

    Parameters
    ----------
    tables : GeoDataFrame, Pieces, or mapping of str to these
        A table from `tkm_core.export.table` or `tkm_core.export.layers`; several by name become layers of one
        GeoPackage.
    path : str or Path
        Its suffix names one of `FORMATS`, such as .geojson, .gpkg or .csv; .geojson.zip is the same in a ZIP file.
    progress : callable, optional
        Called with a fraction and a text before each piece of a long table.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If the format is unknown or cannot hold the table, with a sentence that says why.
    """
    path = Path(path)
    file_format = format_of(path)
    layers = tables if isinstance(tables, Mapping) else {_unzipped(path).stem or "plan": tables}
    return write_whole(path, lambda file: _write_layers(layers, file, file_format, progress))


def to_bytes(tables: Table | Mapping[str, Table], suffix: str, *, progress: Progress | None = None) -> bytes:
    """The content of a file with a table, for a download.

    Parameters
    ----------
    tables : GeoDataFrame, Pieces, or mapping of str to these
        As in `write`.
    suffix : str
        A key of `FORMATS`, or one with ".zip" after it.
    progress : callable, optional
        As in `write`.

    Returns
    -------
    bytes
    """
    if suffix.removesuffix(ZIPPED) not in FORMATS:
        raise ValueError(_unknown(suffix))
    layers = tables if isinstance(tables, Mapping) else {"plan": tables}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"plan.{suffix}"
        _write_layers(layers, file, suffix.removesuffix(ZIPPED), progress)
        return file.read_bytes()


def _unzipped(path: Path) -> Path:
    """The name of the file that a ZIP file holds; any other path as it is."""
    return path.with_suffix("") if path.suffix.lower() == ZIPPED else path


def format_of(path: Path) -> str:
    """The format given by a path's suffix.

    Examples
    --------
    >>> format_of(Path("plan.GeoJSON"))
    'geojson'
    >>> format_of(Path("plan.csv.zip"))
    'csv'
    """
    suffix = _unzipped(path).suffix.lower().removeprefix(".")
    for name, one in FORMATS.items():
        if suffix in (name, *one.other_suffixes):
            return name
    raise ValueError(_unknown(path.name))


def _unknown(name: str) -> str:
    """The message for an unknown format."""
    return f"{name!r} names no format that can be written. The formats are: {', '.join('.' + key for key in FORMATS)}."


def write_whole(path: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` write a temporary file beside the destination, then move it there in one step."""
    if path.is_dir():
        msg = f"{path} is a folder: give the name of a file in it."
        raise ValueError(msg)
    if not path.parent.is_dir():
        msg = f"The folder {path.parent} does not exist."
        raise ValueError(msg)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".evenreach-") as folder:
        file = Path(folder) / path.name
        fill(file)
        file.replace(path)
    return path


def _write_layers(
    tables: Mapping[str, Table], file: Path, file_format: str, progress: Progress | None
) -> None:
    """Write one table, or several if the format can hold them; `file` is in a folder of its own."""
    chosen = FORMATS[file_format]
    layers = {name: one if isinstance(one, Pieces) else Pieces.of(one) for name, one in tables.items()}
    if not chosen.many_tables and len(layers) != 1:
        able = " or ".join(f".{name}" for name, one in FORMATS.items() if one.many_tables)
        msg = f"A .{file_format} file holds one table, not {len(layers)}: write several to a {able} file."
        raise ValueError(msg)
    if chosen.degrees_only and any(one.crs.to_epsg() != 4326 for one in layers.values()):
        msg = f"{chosen.name} holds WGS84 degrees only: choose WGS84, or another format."
        raise ValueError(msg)
    if progress is not None:
        layers = _watched(layers, progress)
    try:
        _fill(chosen, layers, file)
    except (DataSourceError, DataLayerError) as problem:
        msg = (
            "The file could not be written, most likely because the disk is full. Free some space and try again. "
            f"({str(problem)[:200]})"
        )
        raise ValueError(msg) from problem


def _watched(layers: Mapping[str, Pieces], progress: Progress) -> dict[str, Pieces]:
    """Layers that tell how far they are, each with its share of the rows."""
    total, before, watched = sum(one.rows for one in layers.values()) or 1, 0, {}
    for name, one in layers.items():
        watched[name] = one.watched(part(progress, before / total, (before + one.rows) / total))
        before += one.rows
    return watched


def _fill(chosen: FileFormat, layers: Mapping[str, Pieces], file: Path) -> None:
    """Write the layers to the file, or to the one in the ZIP file."""
    inner = _unzipped(file)
    if inner != file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=QUICK) as archive:
            if chosen.by_path:
                chosen.write(layers, inner)
                archive.write(inner, inner.name)
                inner.unlink()
            else:
                with archive.open(inner.name, "w", force_zip64=True) as target:
                    chosen.write(layers, target)
    elif chosen.by_path:
        chosen.write(layers, file)
    else:
        with file.open("wb") as target:
            chosen.write(layers, target)
