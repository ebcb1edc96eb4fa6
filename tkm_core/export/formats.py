"""Registry of the output formats, one file each, and functions that write tables completely or not at all."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import geopandas as gpd
from pyogrio.errors import DataLayerError, DataSourceError

from tkm_core.export import geojson, geopackage, kml, parquet, spreadsheet
from tkm_core.export.file_format import FileFormat

FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        one.suffix: one
        for one in (geojson.FORMAT, geopackage.FORMAT, spreadsheet.FORMAT, kml.FORMAT, parquet.FORMAT)
    }
)
"""By suffix, in the order in which they are offered."""


def write(frames: gpd.GeoDataFrame | Mapping[str, gpd.GeoDataFrame], path: str | Path) -> Path:
    """Write a table to a file in the format given by its suffix; an older file stays until the new one is complete.

    Parameters
    ----------
    frames : GeoDataFrame or mapping of str to GeoDataFrame
        A table from `tkm_core.export.table`; several by name become layers of one GeoPackage.
    path : str or Path
        Its suffix names one of `FORMATS`, such as .geojson, .gpkg or .csv.

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
    layers = frames if isinstance(frames, Mapping) else {path.stem or "plan": frames}
    return write_whole(path, lambda file: _write_layers(layers, file, file_format))


def to_bytes(frames: gpd.GeoDataFrame | Mapping[str, gpd.GeoDataFrame], file_format: str) -> bytes:
    """The content of a file with a table, for a download.

    Parameters
    ----------
    frames : GeoDataFrame or mapping of str to GeoDataFrame
        As in `write`.
    file_format : str
        A key of `FORMATS`.

    Returns
    -------
    bytes
    """
    if file_format not in FORMATS:
        raise ValueError(_unknown(file_format))
    layers = frames if isinstance(frames, Mapping) else {"plan": frames}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"plan.{file_format}"
        _write_layers(layers, file, file_format)
        return file.read_bytes()


def format_of(path: Path) -> str:
    """The format given by a path's suffix.

    Examples
    --------
    >>> format_of(Path("plan.GeoJSON"))
    'geojson'
    """
    suffix = path.suffix.lower().removeprefix(".")
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


def _write_layers(layers: Mapping[str, gpd.GeoDataFrame], file: Path, file_format: str) -> None:
    """Write one table, or several if the format can hold them."""
    chosen = FORMATS[file_format]
    if not chosen.many_tables and len(layers) != 1:
        able = " or ".join(f".{name}" for name, one in FORMATS.items() if one.many_tables)
        msg = f"A .{file_format} file holds one table, not {len(layers)}: write several to a {able} file."
        raise ValueError(msg)
    if chosen.degrees_only and any(frame.crs.to_epsg() != 4326 for frame in layers.values()):
        msg = f"{chosen.name} holds WGS84 degrees only: choose WGS84, or another format."
        raise ValueError(msg)
    try:
        for name, frame in layers.items():
            chosen.write(frame, file, name)
    except (DataSourceError, DataLayerError) as problem:
        msg = (
            "The file could not be written, most likely because the disk is full. Free some space and try again. "
            f"({str(problem)[:200]})"
        )
        raise ValueError(msg) from problem
