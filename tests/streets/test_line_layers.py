"""Streets from layers of lines: GeoPackage, shapefile, GeoJSON."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
from shapely import LineString, MultiLineString, Point

import tkm_core as tkm
from tests.streets.cities import STEP, as_xml, grid

LON, LAT = 13.4, 52.5
PLACES = np.array([[LON, LAT], [LON + 2.3 * STEP, LAT + STEP], [LON + STEP, LAT + 2.6 * STEP]])


def blocks(**columns: list[Any]) -> gpd.GeoDataFrame:
    """The rows and columns of a 4 x 4 grid as lines, rows first."""
    at = [(LON + i * STEP, LAT + i * STEP) for i in range(4)]
    lines = [LineString([(x, y) for x, _ in at]) for _, y in at] + [
        LineString([(x, y) for _, y in at]) for x, _ in at
    ]
    return gpd.GeoDataFrame(columns, geometry=lines, crs=4326)


def packed(frame: gpd.GeoDataFrame, tmp_path: Path, kind: str) -> object:
    if kind == "geojson":
        return frame.to_json().encode()
    if kind == "gpkg":
        frame.to_file(tmp_path / "roads.gpkg")
        return tmp_path / "roads.gpkg"
    frame.to_file(tmp_path / "roads.shp")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for part in tmp_path.glob("roads.*"):
            zipped.write(part, part.name)
    return archive.getvalue()


@pytest.mark.parametrize("kind", ["geojson", "gpkg", "zip"])
@pytest.mark.parametrize("crs", [4326, 25833])
def test_every_format_gives_the_city_of_the_osm_file(kind: str, crs: int, tmp_path: Path) -> None:
    nodes, ways = grid(4, 4)
    moved = as_xml({number: (lon + LON, lat + LAT) for number, (lon, lat) in nodes.items()}, ways)
    expected = tkm.load_streets(moved).travel_times(PLACES, PLACES)
    frame = blocks(id=list(range(8)))
    if kind != "geojson":
        frame = frame.to_crs(crs)
    streets = tkm.load_streets(packed(frame, tmp_path, kind))
    np.testing.assert_allclose(streets.travel_times(PLACES, PLACES), expected, rtol=1e-5, atol=1e-4)
    assert streets.report.parts_cut_off == 0


def test_lines_cross_without_meeting_where_they_share_no_vertex() -> None:
    bridge = [[LON + 0.5 * STEP, LAT - STEP], [LON + 0.5 * STEP, LAT + 4 * STEP]]
    frame = blocks()
    frame.loc[8] = [LineString(bridge)]
    streets = tkm.load_streets(frame.to_json().encode())
    assert streets.report.parts_cut_off == 1
    assert streets.report.km_cut_off == pytest.approx(5 * 0.1113, rel=1e-2)


def test_columns_are_recognised_by_name_and_used_by_cars_only() -> None:
    one_way = ["F", "T", "B", "F"] + ["B"] * 4
    frame = blocks(fclass=["residential"] * 8, oneway=one_way, maxspeed=[60, 60, 0, 60, 60, 60, 60, 60])
    data = frame.to_json().encode()
    drive = tkm.load_streets(data, mode="car")
    west, east = [LON, LAT], [LON + 3 * STEP, LAT]
    long, high = 3 * STEP * 111_554 * np.cos(np.radians(LAT)), STEP * 111_270
    assert drive.travel_times([west], [east])[0, 0] == pytest.approx(long / 1000, rel=2e-3)
    back = drive.travel_times([east], [west])[0, 0]
    # By the row above, which runs to the west.
    assert back == pytest.approx((long + 2 * high) / 1000, rel=2e-3)
    middle_west, middle_east = [LON + STEP / 2, LAT + 2 * STEP], [LON + 0.9 * STEP, LAT + 2 * STEP]
    slow = drive.travel_times([middle_west], [middle_east])[0, 0]  # a limit of 0 is unknown: 30 km/h
    assert slow == pytest.approx(0.4 / 3 * long / 500, rel=2e-3)
    walk = tkm.load_streets(data, mode="walk")
    assert walk.travel_times([east], [west])[0, 0] == pytest.approx(long / 80, rel=2e-3)
    notes = " ".join(drive.report.notes)
    assert all(f"“{name}” is taken as" in notes for name in ("fclass", "oneway", "maxspeed"))


def test_columns_that_are_named_are_used_as_they_are() -> None:
    frame = blocks(einbahn=["yes"] + ["no"] * 7, tempo=[12.0] * 8)
    data = frame.to_json().encode()
    plain, chosen = tkm.load_streets(data), tkm.load_streets(data, speed="tempo")
    np.testing.assert_allclose(
        chosen.travel_times(PLACES, PLACES), plain.travel_times(PLACES, PLACES) * 0.4, rtol=1e-3
    )
    drive = tkm.load_streets(data, mode="car", oneway="einbahn")
    west, east = [[LON, LAT]], [[LON + 3 * STEP, LAT]]
    assert drive.distances(east, west)[0, 0] > drive.distances(west, east)[0, 0] + 200
    with pytest.raises(tkm.StreetsError, match="no column “vmax”") as caught:
        tkm.load_streets(data, speed="vmax")
    assert caught.value.needs == "speed"


def test_a_column_in_miles_and_one_that_is_not_wanted() -> None:
    data = blocks(mph=[30] * 8, oneway=["yes"] * 8).to_json().encode()
    streets = tkm.load_streets(data, mode="car", oneway=False)
    np.testing.assert_allclose(streets.network.forward, 30 * 1.609344, rtol=1e-5)
    assert np.all(streets.network.backward > 0)


def test_classes_close_streets_to_modes() -> None:
    data = blocks(highway=["motorway"] * 4 + ["residential"] * 4).to_json().encode()
    with_motorways = tkm.load_streets(data, mode="car", oneway=False)
    assert with_motorways.report.ways_used == 8
    walk = tkm.load_streets(data, mode="walk")
    assert walk.report.ways_used == 4
    with pytest.raises(tkm.StreetsError, match="none that is open"):
        tkm.load_streets(blocks(highway=["motorway"] * 8).to_json().encode())


def test_a_class_column_of_other_words_is_not_used() -> None:
    streets = tkm.load_streets(blocks(type=["A", "B"] * 4).to_json().encode())
    assert "“type” does not hold OpenStreetMap's classes" in str(streets.report)
    assert streets.report.ways_used == 8


def test_columns_of_lists_do_no_harm() -> None:
    frame = json.loads(blocks(highway=["residential"] * 8).to_json())
    for feature in frame["features"]:
        feature["properties"] |= {"oneway": ["yes"], "maxspeed": ["30", "50"]}
    streets = tkm.load_streets(json.dumps(frame).encode(), mode="car")
    assert set(streets.network.backward) == {30.0}


def test_multilines_are_taken_apart_and_points_left_out() -> None:
    frame = blocks()
    shapes = [MultiLineString(list(frame.geometry[:4])), *frame.geometry[4:], Point(LON, LAT)]
    mixed = gpd.GeoDataFrame(geometry=shapes, crs=4326)
    streets = tkm.load_streets(mixed.to_json().encode())
    expected = tkm.load_streets(frame.to_json().encode())
    np.testing.assert_allclose(streets.travel_times(PLACES, PLACES), expected.travel_times(PLACES, PLACES))
    assert "1 feature of the layer is not a line and was left out" in str(streets.report)


def test_the_layer_of_lines_is_taken_out_of_several(tmp_path: Path) -> None:
    path = tmp_path / "town.gpkg"
    gpd.GeoDataFrame(geometry=[Point(LON, LAT)], crs=4326).to_file(path, layer="trees")
    blocks().to_file(path, layer="roads")
    assert tkm.load_streets(path).report.ways_read == 8
    with pytest.raises(tkm.StreetsError, match="has 1 feature, but no lines"):
        tkm.load_streets(path, layer="trees")
    with pytest.raises(tkm.StreetsError, match="has no layer “rails”"):
        tkm.load_streets(path, layer="rails")


def test_a_missing_reference_system_is_asked_for(tmp_path: Path) -> None:
    packed(blocks().to_crs(25833), tmp_path, "zip")
    (tmp_path / "roads.prj").unlink()
    file = tmp_path / "roads.shp"
    with pytest.raises(tkm.StreetsError, match="does not state its reference system") as caught:
        tkm.load_streets(file)
    assert caught.value.needs == "crs"
    streets = tkm.load_streets(file, crs="EPSG:25833")
    assert streets.lonlat[:, 0].min() == pytest.approx(LON, abs=1e-5)
    with pytest.raises(tkm.StreetsError, match="is not a reference system"):
        tkm.load_streets(file, crs="EPSG:nonsense")


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"type": "Point", "coordinates": [0, 0]}, "no lines"),
        ({"type": "LineString", "coordinates": [[0, 0], [0, 0]]}, "No street of the file has two points"),
        (
            {"type": "LineString", "coordinates": [[1000, 0], [2000, 500]]},
            "not on the globe|reference system",
        ),
        ({"type": "FeatureCollection", "features": []}, "no features|no lines"),
        ({"type": "LineString", "coordinates": [[i * 1e-7, 0] for i in range(100_001)]}, "100,001 points"),
    ],
)
def test_layers_without_streets_get_a_sentence(shape: dict[str, Any], sentence: str) -> None:
    with pytest.raises(tkm.StreetsError, match=sentence):
        tkm.load_streets(json.dumps(shape).encode())
