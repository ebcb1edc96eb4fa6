"""GeoParquet, for data scientists."""

from pathlib import Path

import geopandas as gpd

from tkm_core.export.file_format import FileFormat


def write(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:  # noqa: ARG001  every writer takes a layer's name
    """Write the table as GeoParquet."""
    frame.to_parquet(file, index=False, compression="zstd")


FORMAT = FileFormat(
    suffix="parquet",
    name="Parquet",
    menu="Parquet",
    media_type="application/vnd.apache.parquet",
    write=write,
    other_suffixes=("geoparquet",),
)
