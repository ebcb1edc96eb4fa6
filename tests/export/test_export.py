import csv
import json
import re
import stat
import xml.etree.ElementTree as ET

import geopandas as gpd
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely
from geopandas.testing import assert_geodataframe_equal
from pyproj import CRS

from tkm_core import export
from tkm_core.export.carried import packed, unpacked
from tkm_core.export.formats import format_of
from tkm_core.planning import AVERAGE, TODAY, make_plan
from tkm_core.residents import Residents, load_residents
from tkm_core.residents.formats import SUFFIXES
from tkm_core.residents.samples import load_sample

# what spreadsheets would run, and how it is written: many take ; or a tab for the end of a cell, quotes or not
FORMULAS = {
    **{
        text: f"'{text}"
        for text in ("=1+1", "+1", "-1", "@SUM(A1)", "  =2", "＝4", '=HYPERLINK("http://x","y")')
    },
    "\t=3": "'\t'=3",
    'North;=HYPERLINK("http://x","y")': 'North;\'=HYPERLINK("http://x","y")',
    'North; "=5': "North;' \"=5",
    "North\t+6": "North\t'+6",
    "North|-7;@8": "North|'-7;'@8",
    "two\n=9": "two\n'=9",
    "\ufeff=10": "'\ufeff=10",
    "'=11": "''=11",
    "a;＋12": "a;'＋12",
}
NAMES = ["plain", "<b>&\"'</b>", "]]>", "日本 ✓", 'a,b;"c"', "two\nlines", "é" * 400, "x y", *FORMULAS]
BROKEN = ["nul\x00inside", "\x1b[31mred", "\ud800", "\ufffe"]


def town(names=None, n=160, source_crs=None, weights=None):
    rng = np.random.default_rng(0)
    lonlat = np.column_stack([rng.normal(2.3, 0.1, n), rng.normal(48.8, 0.1, n)])
    labels = None if names is None else [names[i % len(names)] for i in range(n)]
    weights = rng.integers(1, 90, n) if weights is None else weights
    return Residents.from_lonlat(
        lonlat, weights, ids=labels, groups=labels, source_crs=source_crs, name="<town>"
    )


@pytest.fixture(scope="module")
def plan():
    return make_plan(
        town(NAMES, source_crs=CRS.from_epsg(2154)), 4, t=[0, 0.3, 3], fixed_lonlat=[[2.3, 48.85]]
    )


def read_back(path):
    frame = gpd.read_parquet(path) if path.suffix == ".parquet" else pyogrio.read_dataframe(path)
    if path.suffix == ".kml":  # GDAL adds KML's own fields in front
        frame = frame.loc[:, "icon":].drop(columns="icon")
    return frame


@pytest.mark.parametrize("crs", ["wgs84", "source", "EPSG:3857"])
@pytest.mark.parametrize("file_format", [name for name in export.FORMATS if name != "csv"])
@pytest.mark.parametrize("what", export.TABLES)
def test_what_is_written_reads_back_equal(plan, tmp_path, what, file_format, crs):
    frame = export.table(plan, 1, what, crs=crs)
    path = tmp_path / f"out.{file_format}"
    if export.FORMATS[file_format].degrees_only and crs != "wgs84":
        with pytest.raises(ValueError, match="WGS84 degrees only"):
            export.write(frame, path)
        assert not path.exists()
        return
    assert export.write(frame, path) == path
    back = read_back(path)
    assert back.crs.to_epsg() == {"wgs84": 4326, "source": 2154, "EPSG:3857": 3857}[crs]
    if file_format == "kml" and what == "allocations":  # GDAL reads KML's text without blanks around it
        frame[["resident", "group"]] = frame[["resident", "group"]].apply(lambda texts: texts.str.strip(" "))
    if what == "areas":
        same = shapely.equals(shapely.normalize(back.geometry), shapely.normalize(frame.geometry))
        close = shapely.hausdorff_distance(back.geometry, frame.geometry) < 1e-8
        assert (same | close).all()
        back = back.assign(geometry=frame.geometry)
    assert_geodataframe_equal(back, frame, check_dtype=False, check_like=True, check_less_precise=False)
    np.testing.assert_array_equal(
        shapely.get_coordinates(back.geometry), shapely.get_coordinates(frame.geometry)
    )


@pytest.mark.parametrize("crs", ["wgs84", "source"])
@pytest.mark.parametrize("what", export.TABLES)
def test_csv_reads_back_equal_but_for_formulas(plan, tmp_path, what, crs):
    frame = export.table(plan, 1, what, crs=crs)
    path = export.write(frame, tmp_path / "out.csv")
    back = pd.read_csv(path, keep_default_na=False)
    plain = pd.DataFrame(frame.drop(columns="geometry"))
    assert len(pyogrio.read_dataframe(path)) == len(frame)
    if what == "areas":
        shapes = shapely.from_wkt(back.pop("wkt"))
        assert (shapely.hausdorff_distance(shapes, frame.geometry.to_numpy()) < 1e-8).all()
    for column in plain:
        expected = plain[column].tolist()
        if column in ("resident", "group", "stands_in"):
            expected = [FORMULAS.get(cell, cell) for cell in expected]
        assert back[column].tolist() == expected


def test_no_cell_of_a_csv_starts_a_formula(plan, tmp_path):
    path = export.write(export.allocations(plan, 0), tmp_path / "out.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    numbers = {rows[0].index(name) for name in ("change_m", "lon", "lat")}
    for row in rows:
        for column, cell in enumerate(row):
            if column not in numbers:
                assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝"))
    assert "'=1+1" in {row[0] for row in rows}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_formula_starts_where_another_country_ends_a_cell(plan, separator):
    content = export.to_bytes(export.allocations(plan, 0), "csv").decode("utf-8-sig")
    kept = export.csv_bytes(pd.DataFrame({"note": list(FORMULAS), "m": -1.5})).decode("utf-8-sig")
    cells = [cell for line in (content + kept).splitlines() for cell in line.split(separator)]
    texts = [cell.lstrip(' "\ufeff') for cell in cells if not re.fullmatch(r"-?[\d.]+", cell)]
    assert not [text for text in texts if text.startswith(("=", "+", "-", "@", "＝", "＋"))]
    assert kept.count(",-1.5\n") == len(FORMULAS), "numbers stay numbers"


def test_csv_opens_in_spreadsheets_as_utf8(plan):
    content = export.to_bytes(export.allocations(plan, 0), "csv")
    assert content.startswith(b"\xef\xbb\xbf")
    assert "日本 ✓" in content.decode("utf-8-sig")


@pytest.mark.parametrize("file_format", list(export.FORMATS))
def test_broken_text_is_made_printable(tmp_path, file_format):
    plan = make_plan(town([*BROKEN, None, float("nan"), 7, "fine"]), 2, t=[0])
    frame = export.allocations(plan, 0)
    path = export.write(frame, tmp_path / f"out.{file_format}")
    back = read_back(path)
    assert len(back) == len(frame)
    names = set(back["resident"].fillna("").astype(str))
    assert names == {"nul�inside", "�[31mred", "�", "", "7", "fine"}


def test_kml_is_well_formed_and_named(plan):
    names = [*NAMES, *BROKEN]
    hostile = make_plan(town(names), 2, t=[0])
    root = ET.fromstring(export.to_bytes(export.allocations(hostile, 0), "kml"))
    told = [tag.text for tag in root.iter("{http://www.opengis.net/kml/2.2}name")]
    assert "<b>&\"'</b>" in told
    root = ET.fromstring(export.to_bytes(export.facilities(plan, 0), "kml"))
    told = [tag.text for tag in root.iter("{http://www.opengis.net/kml/2.2}name")]
    assert told[-5:] == [f"Facility {j}" for j in (2, 3, 4, 5, 1)]


def test_geojson_follows_the_standard(plan):
    document = json.loads(export.to_bytes(export.service_areas(plan, 1), "geojson"))
    assert "crs" not in document
    for feature in document["features"]:
        ring = feature["geometry"]["coordinates"][0]
        assert ring[0] == ring[-1]
        assert shapely.LinearRing(ring).is_ccw
    assert "crs" in json.loads(export.to_bytes(export.facilities(plan, 1, crs="source"), "geojson"))


def test_geojson_never_hides_a_system_it_cannot_name(plan, tmp_path):
    own = CRS.from_dict({"proj": "laea", "lat_0": 48.7, "lon_0": 2.2, "datum": "WGS84", "units": "m"})
    with pytest.raises(ValueError, match="GeoJSON cannot name"):
        export.to_bytes(export.facilities(plan, 0, crs=own), "geojson")
    back = pyogrio.read_dataframe(export.write(export.facilities(plan, 0, crs=own), tmp_path / "own.gpkg"))
    assert back.to_crs(4326).geometry.x.to_numpy() == pytest.approx(plan.centers_lonlat(0)[:, 0], abs=1e-8)


def test_facilities_are_the_plain_definition(plan):
    frame = export.facilities(plan, 1)
    home = plan.residents
    apart = np.linalg.norm(home.xy[:, None] - plan.centers_xy(1), axis=2)
    nearest, distance = apart.argmin(axis=1), apart.min(axis=1)
    assert frame["facility"].tolist() == [2, 3, 4, 5, 1], "existing ones keep the number of their file"
    assert frame["kind"].tolist() == ["new"] * 4 + ["existing"]
    for j in range(5):
        mine = nearest == j
        assert frame["people"][j] == home.weights[mine].sum()
        mean = np.average(distance[mine], weights=home.weights[mine])
        assert frame["mean_distance_m"][j] == pytest.approx(mean, abs=1e-3)
        assert frame["max_distance_m"][j] == pytest.approx(distance[mine].max(), abs=1e-3)
    assert "moved_m" not in frame, "there is nothing it could have moved from"
    moved = export.facilities(plan.against(AVERAGE), 1)["moved_m"]
    assert moved.to_numpy() == pytest.approx(
        np.linalg.norm(plan.centers_xy(1) - plan.baseline_xy, axis=1), abs=1e-3
    )
    assert frame["people"].sum() == home.weights.sum()
    assert (frame["t"] == 0.3).all()


def test_allocations_are_the_plain_definition(plan):
    frame = export.allocations(plan, 2)
    home = plan.residents
    after = np.linalg.norm(home.xy[:, None] - plan.centers_xy(2), axis=2)
    assert frame["facility"].tolist() == [[2, 3, 4, 5, 1][j] for j in after.argmin(axis=1)]
    assert frame["distance_m"].to_numpy() == pytest.approx(after.min(axis=1), abs=1e-3)
    for against, sites, words in (
        (TODAY, plan.baseline_xy[4:], "today"),
        (AVERAGE, plan.baseline_xy, "the lowest-average plan (k-means++)"),
    ):
        told = export.allocations(plan.against(against), 2)
        before = np.linalg.norm(home.xy[:, None] - sites, axis=2).min(axis=1)
        assert told["reference_distance_m"].to_numpy() == pytest.approx(before, abs=1e-3)
        assert told["change_m"].to_numpy() == pytest.approx(after.min(axis=1) - before, abs=2e-3)
        assert (told["compared_with"] == words).all()
    assert frame["resident"].tolist() == home.ids.tolist()
    assert frame["people"].tolist() == home.weights.tolist()


def test_residents_without_ids_are_numbered():
    plan = make_plan(town(), 2, t=[0])
    frame = export.allocations(plan, 0)
    assert frame["resident"].tolist() == list(range(1, 161))
    assert "group" not in frame


def test_areas_carry_people_and_size(plan):
    frame = export.service_areas(plan, 0)
    assert frame["people"].sum() == plan.people
    assert frame["area_km2"].to_numpy() == pytest.approx(
        frame.to_crs(plan.residents.crs).area / 1e6, rel=1e-4
    )


def test_fractions_of_people_stay_fractions():
    plan = make_plan(town(weights=np.full(160, 0.25)), 2, t=[0])
    assert export.facilities(plan, 0)["people"].sum() == 40.0
    assert export.allocations(plan, 0)["people"].tolist() == [0.25] * 160


def test_allocations_come_back_through_our_own_reader(tmp_path):
    city = load_sample("toulouse")
    plan = make_plan(city, 3, t=[0])
    for suffix in (one for one in export.FORMATS if f".{one}" in SUFFIXES):
        path = export.write(export.allocations(plan, 0), tmp_path / f"out.{suffix}")
        again = load_residents(path, weight="people")
        np.testing.assert_allclose(again.lonlat, city.lonlat, atol=1e-9)
        np.testing.assert_array_equal(again.weights, city.weights)


def test_geopackage_holds_several_layers(plan, tmp_path):
    frames = {what: export.table(plan, 0, what) for what in export.TABLES}
    path = export.write(frames, tmp_path / "plan.gpkg")
    assert sorted(name for name, _ in pyogrio.list_layers(path)) == sorted(export.TABLES)
    assert len(pyogrio.read_dataframe(path, layer="allocations")) == 160
    with pytest.raises(ValueError, match=r"holds one table, not 3: write several to a \.gpkg"):
        export.write(frames, tmp_path / "plan.csv")


def test_files_are_replaced_whole_or_not_at_all(plan, tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail(self, file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_csv", fail)
        with pytest.raises(OSError, match="No space"):
            export.write(export.facilities(plan, 0), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    export.write(export.facilities(plan, 0), path)
    assert path.read_text(encoding="utf-8-sig").startswith('"facility"')
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_ordinary_permissions(plan, tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.write_text("")
    path = export.write(export.facilities(plan, 0), tmp_path / "out.gpkg")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


@pytest.mark.parametrize("name", ["out.xyz", "out", "out.shp", ".csv.exe"])
def test_unknown_formats_get_a_sentence(plan, tmp_path, name):
    with pytest.raises(ValueError, match=r"names no format that can be written\. The formats are: \.geojson"):
        export.write(export.facilities(plan, 0), tmp_path / name)
    with pytest.raises(ValueError, match="names no format"):
        export.to_bytes(export.facilities(plan, 0), "shp")


def test_bad_destinations_get_a_sentence(plan, tmp_path):
    frame = export.facilities(plan, 0)
    with pytest.raises(ValueError, match="does not exist"):
        export.write(frame, tmp_path / "none" / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        export.write(frame, tmp_path / "folder.csv")


def test_unknown_tables_and_systems_get_a_sentence(plan):
    with pytest.raises(ValueError, match="facilities, allocations, areas"):
        export.table(plan, 0, "roads")
    with pytest.raises(ValueError, match="is not a reference system"):
        export.table(plan, 0, crs="EPSG:nonsense")


def test_other_spellings_of_suffixes(tmp_path):
    assert format_of(tmp_path / "a.JSON") == "geojson"
    assert format_of(tmp_path / "a.geoparquet") == "parquet"


def test_source_system_of_degrees_is_wgs84():
    plan = make_plan(town(), 2, t=[0])
    assert export.table(plan, 0, crs="source").crs.to_epsg() == 4326


def test_one_geopackage_has_the_own_columns_and_areas_of_the_file(tmp_path):
    squares = [shapely.box(lon, 43.6, lon + 0.01, 43.61) for lon in np.arange(1.4, 1.6, 0.01)]
    n = len(squares)
    file = gpd.GeoDataFrame(
        {
            "NAME": [f"Part {number}" for number in range(n)],
            "People": np.arange(n) + 5,  # a name that is taken, in other letters
            "fid": [f"{number:03d}" for number in range(n)],
            "homes": [3.5] * n,
        },
        geometry=squares,
        crs=4326,
    )
    plan = make_plan(load_residents(file, weight="People"), 2, t=[0, 1])
    path = export.write(export.all_layers(plan, 1), tmp_path / "all.gpkg")
    assert sorted(pyogrio.list_layers(path)[:, 0]) == ["facilities", "service_areas", "who_goes_where"]
    back = gpd.read_file(path, layer="who_goes_where")
    assert back["NAME"].tolist() == file["NAME"].tolist() and back["homes"].tolist() == [3.5] * n
    assert back["People of the file"].tolist() == file["People"].tolist() == back["people"].tolist()
    assert back["fid of the file"].tolist() == file["fid"].tolist()
    assert back.geometry.geom_equals_exact(file.geometry, 1e-3).all()


def test_carried_residents_come_back_with_names_and_own_columns():
    text = b"name,lon,lat,code,homes,open\n" + b"".join(
        b"P%d,2.3%02d,48.8%02d,0%d,%d,yes\n" % (i, i + 10, i * 7 % 90 + 10, i, i) for i in range(30)
    )
    town = load_residents(text)
    back = unpacked("town", json.loads(json.dumps(packed(town))))
    assert back.fingerprint == town.fingerprint and back.places.tolist() == town.places.tolist()
    assert back.attributes.keys() == town.attributes.keys()
    assert all(back.attributes[name].equals(values) for name, values in town.attributes.items())
