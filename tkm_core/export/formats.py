"""Tables into files: GeoJSON, GeoPackage, CSV, KML and Parquet, whole or not at all."""

import csv
import re
import tempfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import geopandas as gpd
import pandas as pd
from pyogrio.errors import DataLayerError, DataSourceError

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "geojson": "application/geo+json",
        "gpkg": "application/geopackage+sqlite3",
        "csv": "text/csv",
        "kml": "application/vnd.google-earth.kml+xml",
        "parquet": "application/vnd.apache.parquet",
    }
)
"""File formats by suffix, with their media types."""

# Where a spreadsheet takes text for a formula: at the start of a cell, and behind what separates cells in another
# country's spreadsheet; also in full width and behind blanks, quotes and marks that are not seen.
FORMULA = re.compile(
    r"""(^|[;|\t\r\n\v\f\x85\u2028\u2029])(?=[\s"'\u200b-\u200f\u2060\ufeff]*[=+\-@|%＝＋－＠｜％﹢﹣﹦﹫﹪]|^[\t\r\n])"""
)


def write(frames: gpd.GeoDataFrame | Mapping[str, gpd.GeoDataFrame], path: str | Path) -> Path:
    """Write a table to a file in the format its suffix names; an older one stays until the new one is whole.

    Parameters
    ----------
    frames : GeoDataFrame or mapping of str to GeoDataFrame
        A table from `tkm_core.export.table`; several by name become layers of one GeoPackage.
    path : str or Path
        Ending in .geojson (or .json), .gpkg, .csv, .kml or .parquet (or .geoparquet).

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If the format is unknown or cannot hold the table, with the sentence that says why.
    """
    path = Path(path)
    file_format = format_of(path)
    layers = frames if isinstance(frames, Mapping) else {path.stem or "plan": frames}
    return write_whole(path, lambda file: _write_layers(layers, file, file_format))


def to_bytes(frames: gpd.GeoDataFrame | Mapping[str, gpd.GeoDataFrame], file_format: str) -> bytes:
    """Make a table into the content of a file, for a download.

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
    """The format a path's suffix names.

    Examples
    --------
    >>> format_of(Path("plan.GeoJSON"))
    'geojson'
    """
    suffix = path.suffix.lower().removeprefix(".")
    named = {"json": "geojson", "geoparquet": "parquet"}.get(suffix, suffix)
    if named not in FORMATS:
        raise ValueError(_unknown(path.name))
    return named


def _unknown(name: str) -> str:
    return (
        f"{name!r} names no format that can be written. There are: {', '.join('.' + key for key in FORMATS)}."
    )


def write_whole(path: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` write a file beside its destination, then move it there in one step."""
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
    """Write one table, or several as layers of a GeoPackage."""
    if file_format != "gpkg" and len(layers) != 1:
        msg = f"A .{file_format} file holds one table, not {len(layers)}: write several to a .gpkg file."
        raise ValueError(msg)
    writer = {"geojson": _geojson, "gpkg": _gpkg, "csv": _csv, "kml": _kml, "parquet": _parquet}[file_format]
    try:
        for name, frame in layers.items():
            writer(frame, file, name)
    except (DataSourceError, DataLayerError) as problem:
        msg = (
            "The file could not be written, most likely because the disk is full. Free some space and try again. "
            f"({str(problem)[:200]})"
        )
        raise ValueError(msg) from problem


def _geojson(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    options: dict[str, Any] = {"COORDINATE_PRECISION": 9}
    if frame.crs.to_epsg() == 4326:
        options["RFC7946"] = "YES"
    elif frame.crs.to_epsg() is None:
        msg = f"GeoJSON cannot name the reference system {frame.crs.name!r}: use .gpkg or .parquet, or WGS84."
        raise ValueError(msg)
    _write_text(frame, file, driver="GeoJSON", layer=name, **options)


def _gpkg(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    frame.to_file(file, driver="GPKG", engine="pyogrio", layer=name)


def _kml(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    if frame.crs.to_epsg() != 4326:
        msg = "KML holds WGS84 degrees only: choose WGS84, or another format."
        raise ValueError(msg)
    named = frame.copy()
    prefix, column = ("", "resident") if "resident" in named else ("Facility ", "facility")
    titles = prefix + named[column].astype(str)
    if "name" in named:
        titles = named.pop("name").fillna(titles)
    named.insert(0, "Name", titles)
    # The other KML driver of GDAL writes some text without escaping it.
    _write_text(named, file, driver="KML", layer=name)


def _write_text(frame: gpd.GeoDataFrame, file: Path, **options: Any) -> None:
    """Write through memory: on a full disk these drivers of GDAL leave a part of the file, and say nothing."""
    content = BytesIO()
    frame.to_file(content, engine="pyogrio", **options)
    file.write_bytes(content.getbuffer())


def _csv(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:  # noqa: ARG001 - all writers take a layer's name
    plain = pd.DataFrame(frame.drop(columns=frame.geometry.name))
    if not (frame.geometry.geom_type == "Point").all():
        plain["wkt"] = frame.geometry.to_wkt(rounding_precision=9)
    _write_csv(plain, file)


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Make a table into CSV that spreadsheets open as it is: UTF-8, and no text in it is run as a formula.

    Parameters
    ----------
    table : DataFrame
        Without geometry.

    Returns
    -------
    bytes
    """
    content = BytesIO()
    _write_csv(table, content)
    return content.getvalue()


def _write_csv(table: pd.DataFrame, target: Path | BytesIO) -> None:
    plain = table.copy(deep=False)
    for column in plain.columns[[_is_text(plain[column]) for column in plain.columns]]:
        plain[column] = plain[column].map(_harmless, na_action="ignore")
    # The mark at the start tells spreadsheets that the text is UTF-8.
    plain.to_csv(target, index=False, encoding="utf-8-sig", quoting=csv.QUOTE_NONNUMERIC)


def _parquet(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:  # noqa: ARG001
    frame.to_parquet(file, index=False, compression="zstd")


def _is_text(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column)


def _harmless(cell: object) -> object:
    """Put a quote before what a spreadsheet would run as a formula.

    >>> [_harmless(cell) for cell in ("=1+1", "a;=1+1", "Rue 5; 2nd floor")]
    ["'=1+1", "a;'=1+1", 'Rue 5; 2nd floor']
    """
    return FORMULA.sub(r"\1'", cell) if isinstance(cell, str) else cell
