"""GeoJSON, for web maps."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from tkm_core.export.file_format import FileFormat, join, through_memory
from tkm_core.export.pieces import Pieces


def write(layers: Mapping[str, Pieces], target: BinaryIO) -> None:
    """Write GeoJSON: by the standard in degrees, or in another reference system with its name."""
    ((name, pieces),) = layers.items()
    options: dict[str, Any] = {"COORDINATE_PRECISION": 9}
    if pieces.crs.to_epsg() == 4326:
        options["RFC7946"] = "YES"
    elif pieces.crs.to_epsg() is None:
        msg = (
            f"GeoJSON cannot name the reference system {pieces.crs.name!r}: use .gpkg or .parquet, or WGS84."
        )
        raise ValueError(msg)
    contents = (through_memory(piece, driver="GeoJSON", layer=name, **options) for piece in pieces)
    join(contents, target, opening=b'"features": [\n', closing=b"\n]\n}", between=b",\n")


FORMAT = FileFormat(
    suffix="geojson",
    name="GeoJSON",
    menu="GeoJSON",
    media_type="application/geo+json",
    write=write,
    other_suffixes=("json",),
)
