"""Every format, from a path, from bytes and from an upload, gives the same residents."""

import io
import re
import shutil
import zipfile

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from tests.residents.conftest import RASTERS, SUFFIXES, excel_bytes
from tkm_core import compare_methods
from tkm_core.residents import FORMATS, ResidentsError, load_residents, open_source
from tkm_core.residents.formats import readable


def check(residents, town):
    np.testing.assert_allclose(residents.lonlat, town[["lon", "lat"]], atol=1e-6)
    np.testing.assert_array_equal(residents.weights, town["population"])
    assert residents.groups.tolist() == town["district"].tolist()
    assert residents.ids.tolist() == town["code"].tolist()
    assert residents.report.rows_read == residents.report.rows_kept == len(town)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_has_a_sample_and_is_told_by_its_content(kind, written, town):
    suffix = next(suffix for suffix in (*SUFFIXES, *RASTERS) if suffix in FORMATS[kind].suffixes)
    path = written(suffix)
    with open_source(path) as source:
        assert source.kind == kind
    assert FORMATS[kind].name in readable() and suffix == suffix.lower()
    if FORMATS[kind].only:
        with pytest.raises(ResidentsError, match="Export it again"):
            load_residents(b"lon;lat\n1;2\n", name=f"text{FORMATS[kind].only[0]}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_from_a_path(suffix, written, town):
    check(load_residents(written(suffix)), town)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix != ".shp"])
def test_from_bytes_and_upload(suffix, written, town):
    path = written(suffix)
    check(load_residents(path.read_bytes()), town)
    upload = io.BytesIO(path.read_bytes())
    upload.name = path.name
    upload.seek(3)  # someone looked at it before
    residents = load_residents(upload)
    check(residents, town)
    assert residents.name.startswith("town") or residents.name.startswith("zipped")


def test_loose_shapefile_in_parts(written, town):
    parts = []
    for path in written(".shp").parent.glob("town.*"):
        upload = io.BytesIO(path.read_bytes())
        upload.name = path.name
        parts.append(upload)
    check(load_residents(parts), town)


def test_shapefile_alone_still_shows_where(written, town):
    residents = load_residents(written(".shp").read_bytes(), name="town.shp")
    np.testing.assert_allclose(residents.lonlat, town[["lon", "lat"]], atol=1e-6)
    assert residents.weights.tolist() == [1.0] * len(town)


def test_folder_with_a_shapefile(written, town):
    check(load_residents(written(".shp").parent), town)


def test_polygons_are_represented_by_a_point_inside(tmp_path):
    ring = shapely.Point(1.44, 43.6).buffer(0.02).difference(shapely.Point(1.44, 43.6).buffer(0.015))
    areas = gpd.GeoDataFrame(
        {"population": [500, 700]}, geometry=[ring, shapely.box(1.5, 43.5, 1.52, 43.52)], crs=4326
    )
    areas.to_file(tmp_path / "areas.gpkg")
    residents = load_residents(tmp_path / "areas.gpkg")
    assert all(
        shapely.contains_xy(shape, *point)
        for shape, point in zip(areas.geometry, residents.lonlat, strict=True)
    )
    assert residents.weights.tolist() == [500, 700]
    assert any("areas" in note for note in residents.report.notes)


def test_lines_are_refused_with_a_sentence(tmp_path):
    lines = gpd.GeoDataFrame({"a": [1]}, geometry=[shapely.LineString([(0, 0), (1, 1)])], crs=4326)
    lines.to_file(tmp_path / "roads.geojson")
    with pytest.raises(ResidentsError, match=r"1 lines?\. Residents are points"):
        load_residents(tmp_path / "roads.geojson")


def test_layers_and_their_choice(tmp_path, town):
    path = tmp_path / "city.gpkg"
    for name, shift in (("homes", 0.0), ("shops", 1.0)):
        points = gpd.points_from_xy(town.lon + shift, town.lat)
        gpd.GeoDataFrame({"population": town.population}, geometry=points, crs=4326).to_file(path, layer=name)
    first = load_residents(path)
    assert first.report.layers == ["homes", "shops"] and first.report.layer == "homes"
    assert any("shops" in note for note in first.report.notes)
    other = load_residents(path, layer="shops")
    np.testing.assert_allclose(other.lonlat[:, 0], town.lon + 1.0, atol=1e-9)
    with pytest.raises(ResidentsError, match="no layer “parks”") as caught:
        load_residents(path, layer="parks")
    assert caught.value.needs == "layer" and ("homes", "homes") in caught.value.suggestions


def test_projected_geopackage_uses_its_own_system(tmp_path, town):
    points = gpd.GeoDataFrame(
        {"population": town.population}, geometry=gpd.points_from_xy(town.lon, town.lat), crs=4326
    )
    points.to_crs(2154).to_file(tmp_path / "l93.gpkg")
    residents = load_residents(tmp_path / "l93.gpkg")
    np.testing.assert_allclose(residents.lonlat, town[["lon", "lat"]], atol=1e-7)
    assert residents.source_crs.to_epsg() == 2154


def test_geoparquet_of_native_points_and_of_another_system(tmp_path, town):
    points = gpd.GeoDataFrame(
        {"population": town.population}, geometry=gpd.points_from_xy(town.lon, town.lat), crs=4326
    )
    points.to_parquet(tmp_path / "native.parquet", geometry_encoding="geoarrow")
    points.to_crs(2154).to_parquet(tmp_path / "l93.parquet")
    for name in ("native", "l93"):
        residents = load_residents(tmp_path / f"{name}.parquet")
        np.testing.assert_allclose(residents.lonlat, town[["lon", "lat"]], atol=1e-7)


def test_parquet_in_many_pieces(tmp_path):
    rng = np.random.default_rng(0)
    lonlat = rng.normal([1.44, 43.6], 0.05, (200_000, 2))
    table = pa.table({"y": lonlat[:, 1], "x": lonlat[:, 0], "name": ["a"] * len(lonlat)})
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=30_000)
    residents = load_residents(tmp_path / "many.parquet")
    np.testing.assert_array_equal(residents.lonlat, lonlat)


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ([31.0, 32.0, None], ["31", "32", None]),  # a gap made whole numbers into floats
        ([31.5, 32.0, None], ["31.5", "32", None]),
        ([1e300, 32.0, None], ["1e+300", "32", None]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_codes_are_told_as_they_were_written(tmp_path, codes, told):
    table = {"lat": [43.60, 43.61, 43.62], "lon": [1.44, 1.45, 1.46], "code": pa.array(codes, pa.float64())}
    pq.write_table(pa.table(table), tmp_path / "codes.parquet")
    assert load_residents(tmp_path / "codes.parquet", id="code").ids.tolist() == told


def test_excel_with_titles_other_sheets_and_text_numbers():
    rows = [
        ["Population register", None],
        [],
        ["Name", "Breitengrad", "Längengrad", "Einwohner"],
        ["A", "52,5", "13,4", "1.200"],
        ["B", "52,6", "13,5", 800],
    ]
    residents = load_residents(excel_bytes(rows), name="register.xlsx")
    assert residents.lonlat.tolist() == [[13.4, 52.5], [13.5, 52.6]]
    assert residents.weights.tolist() == [1200, 800]
    assert residents.report.sheet == "Data"
    with pytest.raises(ResidentsError, match="no sheet “Other”") as caught:
        load_residents(excel_bytes(rows), sheet="Other")
    assert caught.value.suggestions == [("Data", "Data")]


def test_zip_with_several_tables_asks_which(tmp_path, written):
    table = written(".csv")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.write(table, "north.csv")
        archive.write(table, "__MACOSX/._north.csv")
        archive.write(table, "south.csv")
    with pytest.raises(ResidentsError, match=r"north\.csv, south\.csv") as caught:
        load_residents(tmp_path / "two.zip")
    assert caught.value.needs == "layer"
    assert load_residents(tmp_path / "two.zip", layer="south").name == "south.csv"


def test_kmz_reads_its_kml(tmp_path, written, town):
    with zipfile.ZipFile(tmp_path / "town.kmz", "w") as archive:
        archive.write(written(".kml"), "doc.kml")
    check(load_residents(tmp_path / "town.kmz"), town)


def test_the_content_decides_not_the_name(tmp_path, written, town):
    disguised = tmp_path / "town.xls"
    shutil.copy(written(".tsv"), disguised)
    check(load_residents(disguised), town)
    shutil.copy(written(".parquet"), tmp_path / "town2.csv")
    check(load_residents(tmp_path / "town2.csv"), town)


@pytest.mark.parametrize("missing", ["nowhere.csv", "https://example.org/town.csv"])
def test_no_such_file(missing):
    with pytest.raises(ResidentsError, match="no such file"):
        load_residents(missing)


def test_not_a_file():
    with pytest.raises(ResidentsError, match="A path, bytes or an uploaded file is needed, not int"):
        load_residents(7)


def test_an_array_does_not_say_what_its_columns_are():
    points = np.array([[2.3, 48.8], [2.4, 48.9]])
    for takes in (load_residents, lambda points: compare_methods(points, 1)):
        with pytest.raises(
            ResidentsError, match=r"Residents\.from_lonlat\(array\) takes degrees, longitude first"
        ):
            takes(points)


def test_empty_and_missing_geometries_are_listed(tmp_path):
    good = [shapely.Point(2.3 + place / 100, 48.8) for place in range(12)]
    shapes = [*good, shapely.Point(), None, shapely.Polygon(), shapely.MultiPoint([(2.2, 48.8)])]
    frame = gpd.GeoDataFrame({"a": range(len(shapes))}, geometry=shapes, crs=4326)
    frame.to_parquet(tmp_path / "gaps.parquet")
    residents = load_residents(tmp_path / "gaps.parquet")
    assert len(residents) == 13
    assert [(drop.code, drop.count) for drop in residents.report.dropped] == [("missing", 3)]


def test_coordinates_given_twice_are_compared(town):
    grid = gpd.GeoSeries(gpd.points_from_xy(town.lon, town.lat), crs=4326).to_crs(2154)
    twice = town.assign(**{"x (EPSG:2154)": grid.x, "y (EPSG:2154)": grid.y})
    report = load_residents(twice.to_csv(index=False).encode()).report
    assert any("agree with the coordinates taken" in note for note in report.notes)
    shifted = twice.assign(**{"x (EPSG:2154)": grid.x + 3000})
    report = load_residents(shifted.to_csv(index=False).encode()).report
    assert any(re.search(r"(2,99|3,00)\d m away", warning) for warning in report.warnings)
