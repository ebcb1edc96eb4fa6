"""GeoPackage, for QGIS and ArcGIS, with several tables in one file."""

from pathlib import Path

import geopandas as gpd

from tkm_core.export.file_format import FileFormat


def write(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    """Add a layer to the file, or create it."""
    frame.to_file(file, driver="GPKG", engine="pyogrio", layer=name)


FORMAT = FileFormat(
    suffix="gpkg",
    name="GeoPackage",
    menu="GeoPackage",
    media_type="application/geopackage+sqlite3",
    write=write,
    many_tables=True,
)
