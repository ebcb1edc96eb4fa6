"""A small town, written in every format residents may come in."""

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio

SUFFIXES = (
    ".csv",
    ".tsv",
    ".xlsx",
    ".geojson",
    ".gpkg",
    ".shp",
    ".shp.zip",
    ".kml",
    ".parquet",
    ".geoparquet",
    ".csv.gz",
)
RASTERS = (".tif",)  # cells and their people, without names or codes


@pytest.fixture(scope="session")
def town() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 60
    return pd.DataFrame(
        {
            "code": [f"{number:05d}" for number in range(n)],
            "district": rng.choice(["North", "South"], n),
            "population": rng.integers(1, 900, n),
            "lon": rng.normal(1.44, 0.03, n).round(6),
            "lat": rng.normal(43.60, 0.02, n).round(6),
        }
    )


def excel_bytes(rows: list[list[object]], sheet: str = "Data") -> bytes:
    """A minimal workbook, written by hand: no library of the project writes Excel."""

    def cell(value: object) -> str:
        if value is None or value == "":
            return "<c/>"
        if isinstance(value, (int, float)):
            return f"<c><v>{value!r}</v></c>"
        text = str(value).replace("&", "&amp;").replace("<", "&lt;")
        return f'<c t="inlineStr"><is><t>{text}</t></is></c>'

    body = "".join(f"<row>{''.join(cell(value) for value in row)}</row>" for row in rows)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="{sheet}" '
        'sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship '
        f'Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return out.getvalue()


CELL = 0.01  # degrees


def people_in_cells(town: pd.DataFrame) -> np.ndarray:
    """The people of a town in square cells from its north-western corner on."""
    columns = ((town.lon - town.lon.min()) / CELL).astype(int)
    rows = ((town.lat.max() - town.lat) / CELL).astype(int)
    cells = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.float32)
    np.add.at(cells, (rows, columns), town.population)
    return cells


def write_raster(
    path: Path,
    cells: np.ndarray,
    corner: tuple[float, float, float] | None = (1.0, 44.0, CELL),
    crs: object = 4326,
    **options: object,
) -> Path:
    """A GeoTIFF of one band, or of several if the array has three axes; the corner is west, north, width of a cell."""
    bands = cells.reshape(-1, *cells.shape[-2:])
    count, height, width = bands.shape
    place = (
        {}
        if corner is None
        else {"transform": rasterio.Affine(corner[2], 0, corner[0], 0, -corner[2], corner[1])}
    )
    shape = {"count": count, "height": height, "width": width, "dtype": bands.dtype, "crs": crs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no position, where there shall be none
        with rasterio.open(path, "w", driver="GTiff", **shape, **place, **options) as out:
            out.write(bands)
    return path


def write_town(town: pd.DataFrame, folder: Path, suffix: str) -> Path:
    path = folder / f"town{suffix}"
    points = gpd.GeoDataFrame(
        town.drop(columns=["lon", "lat"]), geometry=gpd.points_from_xy(town.lon, town.lat), crs=4326
    )
    if suffix in (".csv", ".csv.gz"):
        town.to_csv(path, index=False)
    elif suffix == ".tsv":
        town.to_csv(path, index=False, sep="\t")
    elif suffix == ".xlsx":
        path.write_bytes(excel_bytes([list(town.columns), *town.to_numpy(dtype=object).tolist()]))
    elif suffix == ".parquet":
        town.to_parquet(path, index=False)
    elif suffix == ".geoparquet":
        points.to_parquet(path, index=False)
    elif suffix == ".tif":
        write_raster(path, people_in_cells(town), (town.lon.min(), town.lat.max(), CELL))
    elif suffix == ".shp.zip":
        points.to_file(folder / "zipped.shp")
        with zipfile.ZipFile(path, "w") as archive:
            for part in folder.glob("zipped.*"):
                archive.write(part, f"layers/{part.name}")
    else:
        points.to_file(path, driver="KML" if suffix == ".kml" else None)
    return path


@pytest.fixture
def written(town: pd.DataFrame, tmp_path: Path) -> Callable[[str], Path]:
    return lambda suffix: write_town(town, tmp_path, suffix)
