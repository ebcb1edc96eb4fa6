"""KML, for Google Earth."""

from pathlib import Path

import geopandas as gpd

from tkm_core.export.file_format import FileFormat, write_through_memory


def write(frame: gpd.GeoDataFrame, file: Path, name: str) -> None:
    """Write KML, in which every place has the name that Google Earth shows."""
    named = frame.copy()
    prefix, column = ("", "resident") if "resident" in named else ("Facility ", "facility")
    titles = prefix + named[column].astype(str)
    if "name" in named:
        titles = named.pop("name").fillna(titles)
    named.insert(0, "Name", titles)
    # GDAL's other KML driver writes some text without escaping it.
    write_through_memory(named, file, driver="KML", layer=name)


FORMAT = FileFormat(
    suffix="kml",
    name="KML",
    menu="KML (Google Earth)",
    media_type="application/vnd.google-earth.kml+xml",
    write=write,
    degrees_only=True,
)
