"""Where a file says its residents are: names, order, units, reference systems."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from pyproj import Transformer

from tkm_core.residents import ResidentsError, load_residents

RNG = np.random.default_rng(3)
PARIS = RNG.normal([2.35, 48.86], [0.05, 0.03], (40, 2)).round(6)


def as_csv(points, x, y, **others) -> bytes:
    return pd.DataFrame({y: points[:, 1], x: points[:, 0], **others}).to_csv(index=False).encode()


def project(points, epsg) -> np.ndarray:
    return np.column_stack(Transformer.from_crs(4326, epsg, always_xy=True).transform(*points.T))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("lon", "lat"), ("lng", "lat"), ("Longitude", "Latitude"), ("LONGITUDE (deg)", "LATITUDE (deg)"),
        ("x", "y"), ("X_Coord", "Y_Coord"), ("stop_lon", "stop_lat"), ("geoLng", "geoLat"),
        ("Längengrad", "Breitengrad"),
        ("LAENGE", "BREITE"), ("longitud", "latitud"), ("longitudine", "latitudine"), ("경도", "위도"),
        ("経度", "緯度"), ("经度", "纬度"), ("долгота", "широта"), ("boylam", "enlem"),
        ("lengdegrad", "breddegrad"), ("délka", "šířka"),
        ("długość geograficzna", "szerokość geograficzna"),
        ("γεωγραφικό μήκος", "γεωγραφικό πλάτος"), ("hosszúság", "szélesség"),
        ("lengtegraad", "breedtegraad"),
        ("pituusaste", "leveysaste"), ("bujur", "lintang"),
        ("Kinh độ", "Vĩ độ"), ("ลองจิจูด", "ละติจูด"), ("INTPTLON", "INTPTLAT"), ("wgs84_lon", "wgs84_lat"),
        ("خط الطول", "خط العرض"), ("देशांतर", "अक्षांश"), ("POINT_X", "POINT_Y"),
    ],
)  # fmt: skip
def test_names_of_the_world(x, y):
    np.testing.assert_allclose(load_residents(as_csv(PARIS, x, y)).lonlat, PARIS)


@pytest.mark.parametrize(
    "form",
    [
        "{1},{0}",
        "{1}, {0}",
        "({1}, {0})",
        "[{1}, {0}]",
        "{1} {0}",
        "POINT ({0} {1})",
        "SRID=4326;POINT({0} {1})",
    ],
)
def test_both_in_one_column(form):
    rows = "\n".join(f'a,"{form.format(*point)}"' for point in PARIS.tolist())
    residents = load_residents(f"name,coordinates\n{rows}\nb,\n".encode())
    np.testing.assert_allclose(residents.lonlat, PARIS)
    assert residents.report.column_for("lonlat") == "coordinates"
    assert residents.report.dropped[0].count == 1


def test_longitude_first_in_one_column():
    america = PARIS + np.array([-120, -12])
    rows = "\n".join(f"a;{lon},{lat}" for lon, lat in america.tolist())
    np.testing.assert_allclose(load_residents(f"name;location\n{rows}".encode()).lonlat, america)
    rows = "\n".join(f"a;{lon},{lat}" for lon, lat in PARIS.tolist())
    np.testing.assert_allclose(load_residents(f"name;lonlat\n{rows}".encode()).lonlat, PARIS)


def test_swapped_columns_are_noticed():
    seoul = RNG.normal([127.0, 37.5], 0.05, (30, 2))
    residents = load_residents(as_csv(seoul[:, ::-1], "lon", "lat"))
    np.testing.assert_allclose(residents.lonlat, seoul)
    assert "swapped" in residents.report.warnings[0]
    sao_paulo = RNG.normal([-46.6, -23.5], 0.05, (30, 2))  # possible as they stand, but in the open sea
    residents = load_residents(as_csv(sao_paulo[:, ::-1], "lon", "lat"))
    np.testing.assert_allclose(residents.lonlat, sao_paulo)
    # who names the columns is believed
    kept = load_residents(as_csv(sao_paulo[:, ::-1], "lon", "lat"), x="lon", y="lat")
    np.testing.assert_allclose(kept.lonlat, sao_paulo[:, ::-1])


@pytest.mark.parametrize(
    "place", [(36.8, -1.3), (45.3, 2.05), (6.7, 0.3), (3.4, 6.5), (-0.2, 5.6), (0.0, 51.5)]
)
def test_right_order_is_left_alone(place):
    points = RNG.normal(place, 0.02, (30, 2))
    np.testing.assert_allclose(load_residents(as_csv(points, "lon", "lat")).lonlat, points)


def test_radians():
    residents = load_residents(as_csv(np.radians(PARIS), "lon", "lat"))
    np.testing.assert_allclose(residents.lonlat, PARIS)
    assert any("radians" in note for note in residents.report.notes)
    np.testing.assert_allclose(load_residents(as_csv(np.radians(PARIS), "lon_rad", "lat_rad")).lonlat, PARIS)


@pytest.mark.parametrize(
    ("place", "epsg", "x", "y", "more"),
    [
        ([8.0, 46.9], 2056, "E", "N", {"Gemeindename": "Bern"}),
        ([2.35, 48.86], 2154, "X", "Y", {"commune": "Paris"}),
        ([-0.12, 51.5], 27700, "Easting", "Northing", {"street": "Strand"}),
        ([4.9, 52.37], 28992, "x", "y", {"gemeente": "Amsterdam"}),
        ([-87.65, 41.85], 3435, "X", "Y", {"community": "Loop"}),
        ([-73.95, 40.72], 2263, "XCoord", "YCoord", {"address": "Broadway"}),
        ([127.0, 37.55], 5186, "X좌표", "Y좌표", {"자치구": "종로구"}),
        ([10.0, 53.55], 25832, "Ostwert", "Nordwert", {"Stadtteil": "Altona"}),
    ],
)
def test_grids_ask_for_the_code_and_suggest_it(place, epsg, x, y, more):
    points = RNG.normal(place, 0.05, (50, 2))
    text = as_csv(project(points, epsg), x, y, **more)
    with pytest.raises(ResidentsError, match=r"not degrees.*EPSG code") as caught:
        load_residents(text)
    assert caught.value.needs == "crs"
    assert f"EPSG:{epsg}" in [code for code, _ in caught.value.suggestions][:3]
    assert list(caught.value.report.preview.columns)[:2] == [y, x]
    residents = load_residents(text, crs=caught.value.suggestions[0][0] if epsg == 2056 else f"epsg {epsg}")
    assert np.abs(residents.lonlat - points).max() < 1e-4
    assert residents.source_crs.to_epsg() == epsg


def test_code_in_the_header_is_used():
    points = RNG.normal([127.0, 37.55], 0.05, (50, 2))
    residents = load_residents(as_csv(project(points, 5186), "X좌표(EPSG:5186)", "Y좌표(EPSG:5186)"))
    np.testing.assert_allclose(residents.lonlat, points, atol=1e-7)


def test_degrees_beside_a_grid_win():
    frame = pd.DataFrame(project(PARIS, 2154), columns=["x_l93", "y_l93"]).assign(
        lon=PARIS[:, 0], lat=PARIS[:, 1]
    )
    residents = load_residents(frame.to_csv(index=False).encode())
    np.testing.assert_allclose(residents.lonlat, PARIS)
    assert any("x_l93" in note for note in residents.report.notes)


def test_grid_with_axes_exchanged():
    grid = project(RNG.normal([8.0, 46.9], 0.05, (50, 2)), 2056)
    residents = load_residents(as_csv(grid[:, ::-1], "x", "y"), crs=2056)
    assert "swapped" in residents.report.warnings[0]
    assert abs(residents.lonlat[:, 0].mean() - 8.0) < 0.1


def shapefile(tmp_path, points, stated) -> object:
    frame = gpd.GeoDataFrame(
        {"population": range(1, len(points) + 1)}, geometry=gpd.points_from_xy(*points.T), crs=stated
    )
    frame.to_file(tmp_path / "town.shp")
    return tmp_path / "town.shp"


def test_prj_that_says_grid_over_degrees(tmp_path):
    residents = load_residents(shapefile(tmp_path, PARIS, 2154))
    np.testing.assert_allclose(residents.lonlat, PARIS)
    assert "numbers are degrees" in residents.report.warnings[0]


def test_prj_that_says_degrees_over_a_grid(tmp_path):
    with pytest.raises(ResidentsError, match="in degrees, but its numbers are not degrees") as caught:
        load_residents(shapefile(tmp_path, project(PARIS, 2154), 4326))
    assert "EPSG:2154" in [code for code, _ in caught.value.suggestions]


def test_prj_of_another_country(tmp_path):
    with pytest.raises(ResidentsError, match="do not lie in") as caught:
        load_residents(shapefile(tmp_path, project(PARIS, 2154), 2056))
    assert caught.value.needs == "crs"
    residents = load_residents(tmp_path / "town.shp", crs=2154)
    np.testing.assert_allclose(residents.lonlat, PARIS, atol=1e-7)


@pytest.mark.parametrize("crs", ["EPSG:999999", "Atlantis", "epsg:abc"])
def test_unknown_reference_system(crs):
    with pytest.raises(ResidentsError, match="is not a reference system"):
        load_residents(as_csv(PARIS, "lon", "lat"), crs=crs)


def test_older_datum_is_brought_to_wgs84():
    old = np.column_stack(
        Transformer.from_crs(4326, 4314, always_xy=True).transform(*RNG.normal([10, 50], 0.1, (20, 2)).T)
    )
    residents = load_residents(as_csv(old, "lon", "lat"), crs=4314)
    assert 1e-4 < np.abs(residents.lonlat - old).max() < 5e-3


def test_overrides_and_wrong_names():
    text = as_csv(PARIS, "a", "b", lon=0.5, lat=0.5)
    np.testing.assert_allclose(load_residents(text, x="a", y="B").lonlat, PARIS)
    np.testing.assert_allclose(load_residents(text, x=1, y=0).lonlat, PARIS)
    with pytest.raises(ResidentsError, match=r"no column “lonn”\. Did you mean “lon”") as caught:
        load_residents(text, x="lonn", y="b")
    assert caught.value.needs == "x"


def test_no_coordinates_lists_the_columns():
    with pytest.raises(
        ResidentsError, match=r"No column could be recognised as coordinates.*“age”, “balance”"
    ) as caught:
        load_residents(b"age;balance;job\n30;1787;clerk\n33;4789;cook\n")
    assert caught.value.needs == "x" and ("age", "age") in caught.value.suggestions
    assert caught.value.report.preview.shape == (2, 3)


def test_outlines_in_a_column_are_represented_by_a_point_inside():
    shapes = [
        shapely.Point(*point).buffer(0.01, quad_segs=3_000) for point in PARIS
    ]  # over 100 kB of text each
    rows = "\n".join(f'{place},"{shape.wkt}"' for place, shape in enumerate(shapes, start=1))
    residents = load_residents(f"population,the_geom\n{rows}".encode())
    assert all(
        shapely.contains_xy(shape, *point) for shape, point in zip(shapes, residents.lonlat, strict=True)
    )
    assert residents.weights[4] == 5


@pytest.mark.parametrize("unknown", [-9999, 999999, -2147483646])
def test_many_unknown_places_do_not_change_the_rest(unknown):
    points = np.vstack([PARIS, np.full((30, 2), unknown)])
    residents = load_residents(as_csv(points, "lon", "lat"))
    np.testing.assert_allclose(residents.lonlat, PARIS)
    assert (
        residents.report.dropped[0].count == 30 and str(unknown) in residents.report.dropped[0].examples[0][1]
    )
