"""GeoJSON, for web maps."""

from pathlib import Path
from typing import Any

import geopandas as gpd

from tkm_core.export.file_format import FileFormat, write_through_memory


def write(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    """Write GeoJSON: by the standard in degrees, or in another reference system with its name."""
    options: dict[str, Any] = {"COORDINATE_PRECISION": 9}
    if frame.crs.to_epsg() == 4326:
        options["RFC7946"] = "YES"
    elif frame.crs.to_epsg() is None:
        msg = f"GeoJSON cannot name the reference system {frame.crs.name!r}: use .gpkg or .parquet, or WGS84."
        raise ValueError(msg)
    write_through_memory(frame, file, driver="GeoJSON", layer=name, **options)


FORMAT = FileFormat(
    suffix="geojson",
    name="GeoJSON",
    menu="GeoJSON",
    media_type="application/geo+json",
    write=write,
    other_suffixes=("json",),
)
