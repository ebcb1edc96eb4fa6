"""Population rasters: every cell with people is a resident; clipping and merging cells keeps the sums."""

import gzip
import subprocess
import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
import shapely

from tests.residents.conftest import CELL, people_in_cells, write_raster
from tests.residents.test_hostile import MEASURE
from tkm_core.residents import ResidentsError, load_residents, raster
from tkm_core.streets import StreetsError, load_streets


@pytest.fixture
def cells():
    """A city of 40 by 60 cells, a third of them empty."""
    rng = np.random.default_rng(3)
    return np.where(rng.random((40, 60)) < 0.3, 0, rng.gamma(0.5, 20, (40, 60))).astype(np.float32)


def middles(shape, corner=(1.0, 44.0, CELL)):
    """Longitude and latitude of the middle of every cell, row by row."""
    west, north, size = corner
    rows, columns = np.indices(shape)
    return np.stack([west + (columns + 0.5) * size, north - (rows + 0.5) * size], axis=-1)


def test_every_cell_with_people_is_a_resident_at_its_middle(tmp_path, cells):
    residents = load_residents(write_raster(tmp_path / "pop.tif", cells))
    np.testing.assert_allclose(residents.lonlat, middles(cells.shape)[cells > 0], atol=1e-9)
    np.testing.assert_array_equal(residents.weights, cells[cells > 0])
    assert residents.report.file_format == "GeoTIFF"
    assert residents.report.column_for("weight") == "people"
    assert any(f"with {cells.sum(dtype=float):,.0f} people" in note for note in residents.report.notes)


def test_a_town_and_its_raster_have_the_same_people(written, town):
    found = load_residents(written(".tif"))
    assert found.weights.sum() == town.population.sum()
    assert len(found) == (people_in_cells(town) > 0).sum()


def test_from_bytes_and_packed(tmp_path, cells):
    path = write_raster(
        tmp_path / "pop.tif", cells, compress="deflate", tiled=True, blockxsize=16, blockysize=32
    )
    for data, name in ((path.read_bytes(), "pop.tif"), (gzip.compress(path.read_bytes()), "pop.tif.gz")):
        residents = load_residents(data, name=name)
        np.testing.assert_array_equal(residents.weights, cells[cells > 0])


@pytest.mark.parametrize(
    "kind", [{"BIGTIFF": "YES"}, {"ENDIANNESS": "BIG"}, {"BIGTIFF": "YES", "ENDIANNESS": "BIG"}]
)
def test_every_kind_of_tiff_is_told_by_its_sign(tmp_path, cells, kind):
    path = write_raster(tmp_path / "pop.bin", cells, **kind)
    assert path.read_bytes()[:4] in raster.SIGNS
    assert load_residents(path).weights.sum() == pytest.approx(cells.sum(dtype=float))


def test_no_data_negative_and_absurd_cells_are_left_out_and_counted(tmp_path, cells):
    cells[0, :5], cells[1, :7], cells[2, :3], cells[3, :2] = -99_999, -1, np.nan, 3e38
    residents = load_residents(write_raster(tmp_path / "pop.tif", cells, nodata=-99_999))
    sound = (cells > 0) & (cells < 1e10)
    np.testing.assert_array_equal(residents.weights, cells[sound])
    report = str(residents.report)
    assert "2,400 cells of the raster read: 8 without data" in report
    assert "7 cells with a negative number: left out" in report
    assert "2 cells with more people than the world has: left out" in report


@pytest.mark.parametrize("wanted", [1, 2, 37, 400, 5_000])
def test_coarser_cells_hold_the_sums(tmp_path, cells, wanted):
    residents = load_residents(write_raster(tmp_path / "pop.tif", cells), cells=wanted)
    assert len(residents) <= wanted
    assert residents.weights.sum() == pytest.approx(cells.sum(dtype=float), rel=1e-9)
    if wanted == 400:
        step = next(step for step in range(1, 60) if _by_hand(cells, step)[0].size <= wanted)
        people, lonlat = _by_hand(cells, step)
        np.testing.assert_allclose(residents.weights, people, rtol=1e-6)
        np.testing.assert_allclose(residents.lonlat, lonlat, atol=1e-9)
        assert any(f"added up {step} by {step}" in note for note in residents.report.notes)


def _by_hand(cells, step):
    """Sums and middles of squares of cells, one by one."""
    people, lonlat = [], []
    for row in range(0, cells.shape[0], step):
        for column in range(0, cells.shape[1], step):
            part = cells[row : row + step, column : column + step]
            if part.sum() > 0:
                people.append(part.sum(dtype=float))
                lonlat.append(
                    [1.0 + (column + part.shape[1] / 2) * CELL, 44.0 - (row + part.shape[0] / 2) * CELL]
                )
    return np.array(people), np.array(lonlat)


@pytest.mark.parametrize("tiles", [{}, {"tiled": True, "blockxsize": 16, "blockysize": 16}])
def test_pieces_and_a_small_grid_change_nothing_but_the_size_of_cells(tmp_path, cells, tiles, monkeypatch):
    monkeypatch.setattr(raster, "AT_ONCE", 300)
    monkeypatch.setattr(raster, "GRID", 300)  # 3 by 3 cells are added up while reading
    residents = load_residents(write_raster(tmp_path / "pop.tif", cells, **tiles))
    people, lonlat = _by_hand(cells, 3)
    np.testing.assert_allclose(residents.weights, people, rtol=1e-6)
    np.testing.assert_allclose(residents.lonlat, lonlat, atol=1e-9)


@pytest.mark.parametrize("given", ["geometry", "frame", "file", "other system"])
def test_an_area_is_cut_out(tmp_path, cells, given):
    area = shapely.Polygon([(1.1013, 43.9017), (1.4021, 43.9532), (1.4513, 43.7019), (1.2007, 43.6523)])
    frame = gpd.GeoDataFrame(geometry=[area], crs=4326)
    frame.to_crs(2154).to_file(tmp_path / "area.gpkg")
    within = {
        "geometry": area,
        "frame": frame,
        "file": tmp_path / "area.gpkg",
        "other system": frame.to_crs(3857),
    }[given]
    residents = load_residents(write_raster(tmp_path / "pop.tif", cells), within=within)
    inside = shapely.contains_xy(area, *np.moveaxis(middles(cells.shape), -1, 0)) & (cells > 0)
    np.testing.assert_allclose(residents.lonlat, middles(cells.shape)[inside], atol=1e-9)
    np.testing.assert_array_equal(residents.weights, cells[inside])
    assert any("live inside it" in note for note in residents.report.notes)


def test_an_area_is_cut_out_of_a_raster_in_metres(tmp_path):
    cells = np.ones((100, 100), dtype=np.float32)
    path = write_raster(tmp_path / "l93.tif", cells, (570_000.0, 6_280_000.0, 100.0), crs=2154)
    whole = load_residents(path)
    area = shapely.Point(1.44, 43.58).buffer(0.02)
    residents = load_residents(path, within=area)
    inside = shapely.contains_xy(area, *whole.lonlat.T)
    assert 0 < len(residents) < len(whole)
    assert len(residents) == pytest.approx(inside.sum(), abs=2)  # cells right on the edge
    assert whole.source_crs.to_epsg() == 2154


def test_an_area_is_cut_out_of_any_file():
    table = b"lon,lat,population\n1.44,43.60,5\n1.45,43.61,7\n1.60,43.60,9\n"
    residents = load_residents(table, within=shapely.box(1.4, 43.5, 1.5, 43.7))
    assert residents.weights.tolist() == [5, 7]
    assert [(drop.code, drop.count) for drop in residents.report.dropped] == [("outside", 1)]
    with pytest.raises(ResidentsError, match="3 with a place outside"):
        load_residents(table, within=shapely.box(2.4, 43.5, 2.5, 43.7))


@pytest.mark.parametrize(
    ("within", "sentence"),
    [
        (shapely.Point(1, 43), "no polygon"),
        (shapely.box(5e5, 6e6, 6e5, 7e6), "not in degrees"),
        (b"lon,lat\n1,2\n", "not a layer of polygons"),
        (shapely.box(-60, 10, -59, 11), "outside “pop.tif”"),
    ],
)
def test_areas_that_will_not_do(tmp_path, cells, within, sentence):
    with pytest.raises(ResidentsError, match=sentence):
        load_residents(write_raster(tmp_path / "pop.tif", cells), within=within)


def test_people_are_scaled_to_an_official_figure(tmp_path, cells):
    path = write_raster(tmp_path / "pop.tif", cells)
    plain, scaled = load_residents(path), load_residents(path, total=1_000_000)
    assert scaled.weights.sum() == pytest.approx(1_000_000)
    np.testing.assert_allclose(scaled.weights / plain.weights, 1_000_000 / plain.weights.sum())
    assert scaled.report.total_weight == 1_000_000
    assert any(
        f"The {plain.weights.sum():,.0f} people were scaled to 1,000,000" in note
        for note in scaled.report.notes
    )
    for total in (0, -5, np.nan, np.inf):
        with pytest.raises(ResidentsError, match="more than 0"):
            load_residents(path, total=total)
    with pytest.raises(ResidentsError, match="At least one cell"):
        load_residents(path, cells=0)


def test_several_bands_ask_which(tmp_path, cells):
    path = write_raster(tmp_path / "years.tif", np.stack([cells, 2 * cells]))
    with pytest.raises(ResidentsError, match=r"2 bands \(1, 2\)") as caught:
        load_residents(path)
    assert caught.value.needs == "layer"
    assert caught.value.suggestions == [("1", "1"), ("2", "2")]
    second = load_residents(path, layer="2")
    assert second.weights.sum() == pytest.approx(2 * cells.sum(dtype=float), rel=1e-6)
    assert second.report.layers == ["1", "2"]


def test_stated_scale_of_the_numbers_counts(tmp_path, cells):
    import rasterio

    path = write_raster(tmp_path / "pop.tif", np.round(cells).astype(np.int16))
    with rasterio.open(path, "r+") as out:
        out.scales = (0.5,)
    assert load_residents(path).weights.sum() == pytest.approx(0.5 * np.round(cells).sum())


PICTURE = np.zeros((3, 4, 4), dtype=np.uint8)


@pytest.mark.parametrize(
    ("cells", "options", "sentence"),
    [
        (np.ones((3, 3), dtype=np.float32), {"corner": None, "crs": None}, "does not say where on earth"),
        (np.ones((3, 3), dtype=np.complex64), {}, "complex numbers"),
        (np.zeros((3, 3), dtype=np.float32), {}, "no cell with people"),
        (np.full((3, 3), -1.0, dtype=np.float32), {}, "no cell with people"),
        (PICTURE, {"photometric": "RGB"}, "is a picture"),
        (np.ones((3, 3), dtype=np.float32), {"corner": (5e5, 6e6, 100.0), "crs": None}, "reference system"),
        (
            np.ones((3, 3), dtype=np.float32),
            {"corner": (5e9, 6e9, 1e9), "crs": 32631},
            "do not lie in the official area",
        ),
    ],
)
def test_rasters_that_will_not_do(tmp_path, cells, options, sentence):
    with pytest.raises(ResidentsError, match=sentence):
        load_residents(write_raster(tmp_path / "pop.tif", cells, **options))


def test_a_raster_without_a_system_can_be_told_one(tmp_path):
    path = write_raster(
        tmp_path / "pop.tif", np.ones((3, 3), dtype=np.float32), (5e5, 4.8e6, 100.0), crs=None
    )
    with pytest.raises(ResidentsError) as caught:
        load_residents(path)
    assert caught.value.needs == "crs"
    with pytest.raises(ResidentsError, match=r"say which it is \(crs=\)"):
        load_residents(path, within=shapely.box(2.9, 43.2, 3.1, 43.5))
    assert len(load_residents(path, crs=32631)) == 9


def test_a_raster_is_no_road_file(tmp_path, cells):
    with pytest.raises(StreetsError, match="is a raster: it has cells, but no lines"):
        load_streets(write_raster(tmp_path / "pop.tif", cells))


def test_files_beside_a_raster_are_not_looked_at(tmp_path):
    """Neither GDAL's notes on a file nor a world file nor a mask beside it change what is read."""
    plain = write_raster(tmp_path / "pop.tif", np.ones((3, 3), dtype=np.float32), None, crs=None)
    (tmp_path / "pop.tfw").write_text("0.01\n0\n0\n-0.01\n1.0\n44.0\n")
    (tmp_path / "pop.tif.aux.xml").write_text(
        "<PAMDataset><SRS>EPSG:4326</SRS><GeoTransform>1,0.01,0,44,0,-0.01</GeoTransform></PAMDataset>"
    )
    with pytest.raises(ResidentsError, match="does not say where on earth"):
        load_residents(plain)
    placed = write_raster(tmp_path / "placed.tif", np.ones((3, 3), dtype=np.float32))
    write_raster(tmp_path / "placed.tif.msk", np.zeros((3, 3), dtype=np.uint8))
    assert load_residents(placed).weights.tolist() == [1.0] * 9


@pytest.mark.parametrize("size", [(40_000, 40_000), (1, 3_000_000), (3_000_000, 1), (5_000, 5_000)])
def test_huge_dimensions_take_little_memory(tmp_path, size):
    """Cells that no byte of the file holds: refused, or read piece by piece."""
    path = tmp_path / "huge.tif"
    height, width = size
    options = {"tiled": True, "blockxsize": 256, "blockysize": 256} if min(size) > 1 else {"blockysize": 1}
    import rasterio

    place = rasterio.Affine(1e-5, 0, 1.0, 0, -1e-5, 44.0)
    shape = {
        "count": 1,
        "height": height,
        "width": width,
        "dtype": "float64",
        "crs": 4326,
        "transform": place,
    }
    with rasterio.open(path, "w", driver="GTiff", SPARSE_OK=True, BIGTIFF="YES", **shape, **options):
        pass
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    megabytes, sentence = done.stdout.split(maxsplit=1)
    assert int(megabytes) < 500, sentence
    assert any(
        words in sentence for words in ("cut it to your area", "piece by piece", "no cell with people")
    ), sentence


def test_a_virtual_raster_cannot_reach_other_files(tmp_path, cells):
    secret = write_raster(tmp_path / "secret.tif", cells)
    virtual = (
        '<VRTDataset rasterXSize="60" rasterYSize="40"><SRS>EPSG:4326</SRS>'
        "<GeoTransform>1,0.01,0,44,0,-0.01</GeoTransform>"
        '<VRTRasterBand dataType="Float32" band="1"><SimpleSource><SourceFilename relativeToVRT="0">'
        f"{secret}</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>"
    )
    for data in (virtual.encode(), b"II*\0" + virtual.encode()):
        with pytest.raises(ResidentsError):
            load_residents(data, name="pop.tif")


def test_without_rasterio_the_extra_is_named(tmp_path, cells, monkeypatch):
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(ModuleNotFoundError, match=r"Reading rasters needs rasterio.*evenreach\[raster\]"):
        load_residents(write_raster_bytes(tmp_path, cells))


def write_raster_bytes(folder: Path, cells: np.ndarray) -> bytes:
    return write_raster(folder / "pop.tif", cells).read_bytes()
