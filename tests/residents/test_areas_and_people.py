"""Rows that are areas: who counts their people, what they are called, and their own columns kept."""

from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

from tkm_core.planning import place_names
from tkm_core.residents import Residents, ResidentsError, load_residents

SIDE = 8


@pytest.fixture(scope="module")
def parts() -> gpd.GeoDataFrame:
    """A town of 64 square neighbourhoods, without a column whose name means people."""
    rng = np.random.default_rng(3)
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    squares = [
        shapely.box(lon, lat, lon + 0.01, lat + 0.01)
        for lon, lat in zip(-80.9 + columns * 0.01, 35.2 + rows * 0.01, strict=True)
    ]
    return gpd.GeoDataFrame(
        {
            "OBJECTID": np.arange(1, SIDE * SIDE + 1),
            "GEOID": [f"{37000 + number:06d}" for number in range(SIDE * SIDE)],
            "NEIGHBORHOOD": [f"Quarter {number}" for number in range(SIDE * SIDE)],
            "e_2020": rng.integers(200, 4000, SIDE * SIDE),
            "vintage": [2019, 2020] * (SIDE * SIDE // 2),
            "share": rng.uniform(0, 1, SIDE * SIDE),
            "SHAPE_Area": rng.integers(10_000, 90_000, SIDE * SIDE),
        },
        geometry=squares,
        crs=4326,
    )


@pytest.fixture(params=[".geojson", ".gpkg", ".shp", ".geoparquet", "frame"])
def given(request: pytest.FixtureRequest, parts: gpd.GeoDataFrame, tmp_path: Path) -> object:
    if request.param == "frame":
        return parts
    path = tmp_path / f"parts{request.param}"
    if request.param == ".geoparquet":
        parts.to_parquet(path)
    else:
        parts.rename(columns=lambda name: name[:10]).to_file(path)
    return path


def test_an_area_is_not_one_person(given: object, parts: gpd.GeoDataFrame) -> None:
    residents = load_residents(given)
    report = residents.report
    assert report.proposed_weights == ["e_2020"], "no year, share, code, row number or measure"
    assert report.asks_for_people
    assert sum("counts as one resident" in note for note in report.notes) == 1
    chosen = load_residents(given, weight="e_2020")
    np.testing.assert_array_equal(chosen.weights, parts["e_2020"])
    assert not chosen.report.asks_for_people
    declined = load_residents(given, weight=False)
    assert not declined.report.asks_for_people and not declined.report.warnings


def test_areas_that_nothing_counts_get_a_warning(parts: gpd.GeoDataFrame) -> None:
    report = load_residents(parts[["NEIGHBORHOOD", "share", "geometry"]]).report
    assert not report.asks_for_people
    assert any("Every area counts as one resident" in warning for warning in report.warnings)


def test_points_with_a_column_of_counts_are_homes(parts: gpd.GeoDataFrame) -> None:
    points = parts.set_geometry(parts.representative_point())
    assert load_residents(points).report.proposed_weights == []


def test_areas_go_by_their_names(given: object) -> None:
    residents = load_residents(given)
    assert residents.areas is not None
    named = residents.report.column_for("place")
    assert named in ("NEIGHBORHOOD", "NEIGHBORHO"), "also as a shapefile cuts it off"
    assert place_names(residents)[:2] == ["Quarter 0", "Quarter 1"]
    assert load_residents(given, place=False).places is None


def test_own_columns_stay_as_they_were(given: object, parts: gpd.GeoDataFrame) -> None:
    own = load_residents(given).attributes
    assert [name[:6] for name in own] == [name[:6] for name in parts.columns if name != "geometry"]
    assert own["e_2020"].to_pylist() == parts["e_2020"].tolist()
    assert own["GEOID"].to_pylist() == parts["GEOID"].tolist(), "codes keep their zeros"


def test_own_columns_follow_the_rows_that_are_kept() -> None:
    text = b"name,lon,lat,code\nA,2.3,48.8,01\nB,,,02\nC,2.4,48.9,03\n"
    own = load_residents(text).attributes
    assert {name: column.to_pylist() for name, column in own.items()} == {
        "name": ["A", "C"], "lon": [2.3, 2.4], "lat": [48.8, 48.9], "code": ["01", "03"],
    }  # fmt: skip


def test_own_columns_of_very_many_are_not_kept() -> None:
    rows = b"".join(b"2.3%04d,48.8%04d\n" % (number % 9973, number % 9967) for number in range(21_000))
    assert load_residents(b"lon,lat\n" + rows).attributes == {}


def test_own_columns_may_be_given() -> None:
    town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], own={"column:homes": pa.array([3, 4])})
    assert town.attributes["homes"].to_pylist() == [3, 4]


@pytest.mark.parametrize(
    ("rows", "words"), [(1, "1 row read, 1 kept, 0 left out."), (2, "2 rows read, 2 kept")]
)
def test_one_row_is_one_row(rows: int, words: str) -> None:
    assert words in str(load_residents(b"lon,lat\n" + b"2.3,48.8\n" * rows).report)


def test_the_share_left_out_is_said() -> None:
    text = b"lon,lat\n" + b"2.3,48.8\n" * 3 + b",\n"
    report = load_residents(text).report
    assert report.summary == "4 rows read, 3 kept, 1 left out (25 %)." and report.share_left_out == 0.25
    few = load_residents(b"lon,lat\n" + b"2.3,48.8\n" * 999 + b",\n").report
    assert few.summary.endswith("1 left out (under 1 %).")


def test_a_grid_used_beyond_its_area_is_read_with_a_remark(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    tokyo = np.column_stack([rng.normal(139.7, 0.1, 60), rng.normal(35.68, 0.1, 60)])
    points = gpd.GeoDataFrame({"people": range(1, 61)}, geometry=gpd.points_from_xy(*tokyo.T), crs=4326)
    points.to_crs(6674).to_file(tmp_path / "tokyo.gpkg")
    residents = load_residents(tmp_path / "tokyo.gpkg")
    np.testing.assert_allclose(residents.lonlat, tokyo, atol=1e-8)  # a millimetre
    assert "245 km outside the official area of JGD2011 / Japan Plane Rectangular CS VI" in " ".join(
        residents.report.warnings
    )


@pytest.mark.parametrize(
    ("file", "columns"),
    [("tokyo.csv", ("x", "y")), ("homes.csv", ("X座標", "Y座標")), ("homes.csv", ("x", "y"))],
)
def test_a_bare_table_of_tokyo_is_not_taken_for_iceland(file: str, columns: tuple[str, str]) -> None:
    """In the grid of Osaka, which its own area's neighbours use, too."""
    rng = np.random.default_rng(1)
    tokyo = np.column_stack([rng.normal(139.7, 0.1, 60), rng.normal(35.68, 0.1, 60)])
    points = gpd.GeoSeries(gpd.points_from_xy(*tokyo.T), crs=4326).to_crs(2448)
    table = pd.DataFrame(dict(zip(columns, (points.x, points.y), strict=True))).to_csv(index=False).encode()
    with pytest.raises(ResidentsError) as caught:
        load_residents(table, name=file)
    found = [name for _, name in caught.value.suggestions]
    assert all("Japan" in name for name in found)
    if (
        columns == ("x", "y") and file == "homes.csv"
    ):  # nothing speaks for Japan, and nothing for anywhere else
        assert not found and "whoever made the file knows it" in str(caught.value)
    else:
        assert "JGD2000 / Japan Plane Rectangular CS VI" in found
    residents = load_residents(table, crs=2448)
    np.testing.assert_allclose(residents.lonlat, tokyo, atol=1e-7)
    assert "245 km outside the official area" in residents.report.warnings[0]


def test_a_grid_that_leads_to_the_open_sea_is_refused(tmp_path: Path) -> None:
    """Numbers of Tokyo's own zone, said to be Swiss."""
    points = gpd.GeoDataFrame(
        {"people": range(1, 31)},
        geometry=gpd.points_from_xy(np.linspace(-9e5, -8e5, 30), [9e5] * 30),
        crs=2056,
    )
    points.to_file(tmp_path / "nowhere.gpkg")
    with pytest.raises(ResidentsError, match="or near it") as caught:
        load_residents(tmp_path / "nowhere.gpkg")
    assert caught.value.needs == "crs"


@pytest.mark.parametrize("name", ["Straße", "place", "Émile", "Köln, Deutz"])
@pytest.mark.parametrize("mark", ["¬", "¦", "§"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_separator_beyond_ascii_is_no_letter(name: str, mark: str, encoding: str) -> None:
    rows = [f"{name} {i}¬{13.3 + i / 300:.4f}¬{52.4 + i % 17 / 100:.4f}¬{i + 3}" for i in range(40)]
    text = "\n".join(["name¬lon¬lat¬population", *rows]).replace("¬", mark)
    residents = load_residents(text.encode(encoding))
    assert residents.report.delimiter == mark
    assert residents.report.encoding == ("cp1252" if encoding == "latin-1" else "utf-8")
    assert residents.weights.sum() == sum(range(3, 43)) and residents.places[7] == f"{name} 7"


def test_a_japanese_file_stays_japanese() -> None:
    rows = [f"東京都中野区{i},{139.6 + i / 900:.4f},{35.6 + i % 7 / 100:.4f},{i + 3}" for i in range(40)]
    text = "\n".join(["住所,経度,緯度,人口", *rows])
    assert load_residents(text.encode("cp932")).report.encoding == "cp932"
