"""GeoPackage, for QGIS and ArcGIS, with several tables in one file."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pyarrow as pa
from pyogrio import write_arrow

from tkm_core.export.file_format import FileFormat, with_text
from tkm_core.export.pieces import Pieces


def write(layers: Mapping[str, Pieces], target: Path) -> None:
    """Write each table as a layer of the file."""
    for name, pieces in layers.items():
        if pieces.several:
            _stream(pieces, target, name)
        else:
            pieces.whole().to_file(target, driver="GPKG", engine="pyogrio", layer=name)


def _stream(pieces: Pieces, file: Path, layer: str) -> None:
    """Hand the pieces to GDAL as one stream: one by one, each would go through the spatial index."""
    tables = (pa.table(piece.to_arrow(index=False, geometry_encoding="WKB")) for piece in pieces)
    first = next(tables)
    schema = with_text(first.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        """The rows, piece by piece."""
        for table in chain([first], tables):
            yield from table.cast(schema).to_batches()

    write_arrow(
        pa.RecordBatchReader.from_batches(schema, batches()),
        file,
        layer=layer,
        driver="GPKG",
        geometry_name="geometry",
        geometry_type="Point" if pieces.points else "Unknown",
        crs=pieces.crs.to_wkt(),
        GEOMETRY_NAME="geom",
    )


FORMAT = FileFormat(
    suffix="gpkg",
    name="GeoPackage",
    menu="GeoPackage",
    media_type="application/geopackage+sqlite3",
    write=write,
    many_tables=True,
    by_path=True,
)
