"""Registry of the input formats, one file each, in the order in which messages list them."""

from tkm_core.residents import geojson, geopackage, kml, parquet, raster, shapefile, spreadsheet, text
from tkm_core.residents.file_format import FileFormat

FORMATS: dict[str, FileFormat] = {
    one.kind: one
    for one in (
        text.FORMAT,
        spreadsheet.FORMAT,
        geojson.FORMAT,
        geopackage.FORMAT,
        shapefile.FORMAT,
        kml.FORMAT,
        parquet.FORMAT,
        raster.FORMAT,
    )
}
SUFFIXES = {suffix: one for one in FORMATS.values() for suffix in one.suffixes}


def readable() -> str:
    """What can be uploaded, as a sentence without its full stop.

    >>> readable()
    'You can upload CSV or other text, Excel, GeoJSON, ... or population rasters (GeoTIFF)'
    """
    *most, last = (one.upload or one.name for one in FORMATS.values())
    return f"You can upload {', '.join(most)} or {last}"
