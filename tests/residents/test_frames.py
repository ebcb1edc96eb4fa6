"""Tables in memory: DataFrames and GeoDataFrames as data scientists have them."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

from tkm_core import load_residents, load_sample, make_plan
from tkm_core.export import allocations
from tkm_core.residents import ResidentsError
from tkm_core.residents.samples import FOLDER

TOWNS = pd.read_csv(FOLDER / "toulouse.csv")


def towns(crs="EPSG:4326"):
    points = gpd.points_from_xy(TOWNS["lon"], TOWNS["lat"], crs="EPSG:4326")
    return gpd.GeoDataFrame(TOWNS.drop(columns=["lon", "lat"]), geometry=points).to_crs(crs)


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2154", "EPSG:3857"])
def test_a_geodataframe_is_the_file_it_came_from(crs):
    found, file = load_residents(towns(crs)), load_sample("toulouse")
    np.testing.assert_allclose(found.lonlat, file.lonlat, atol=1e-8)
    assert found.weights.tolist() == file.weights.tolist()
    assert found.source_crs.to_epsg() == int(crs[5:])
    assert found.report.file_format == "GeoDataFrame"


def test_columns_of_longitude_and_latitude():
    before = TOWNS.copy(deep=True)
    found = load_residents(TOWNS, name="Towns")
    assert found.lonlat.tolist() == TOWNS[["lon", "lat"]].to_numpy().tolist()
    assert found.weights.tolist() == TOWNS["population"].tolist()
    assert found.name == "Towns"
    pd.testing.assert_frame_equal(TOWNS, before)
    assert load_residents(TOWNS, weight=False).weights.tolist() == [1.0] * len(TOWNS)


def test_the_index_is_kept_through_to_the_allocations():
    frame = towns().set_index(pd.Index([f"town {i}" for i in range(len(TOWNS))], name="town"))
    frame.loc["town 3", "geometry"] = None  # cannot be placed, and is left out
    plan = make_plan(frame, 4, t=[0, 1])
    kept = frame.index.drop("town 3")
    assert plan.residents.report.dropped[0].count == 1
    assert plan.residents.index.equals(kept)
    found = allocations(plan, 1)
    assert found.index.equals(kept)
    joined = frame.join(found[["facility", "distance_m"]])
    assert joined["facility"].isna().sum() == 1
    away = joined.loc[kept].to_crs(plan.residents.crs).geometry
    sites = plan.centers_xy(1)[joined.loc[kept, "facility"].astype(int) - 1]
    by_hand = np.hypot(away.x - sites[:, 0], away.y - sites[:, 1])
    np.testing.assert_allclose(joined.loc[kept, "distance_m"], by_hand, atol=0.01)


def test_an_index_of_several_levels():
    frame = TOWNS.set_index([pd.Index(range(len(TOWNS)), name="a"), pd.Index(["b"] * len(TOWNS), name="c")])
    assert make_plan(frame, 2, t=[0]).residents.index.equals(frame.index)


def test_areas_geoseries_and_odd_columns():
    areas = towns("EPSG:2154")
    areas["geometry"] = areas.buffer(300)
    assert any("areas: the people of each" in note for note in load_residents(areas).report.notes)
    assert len(load_residents(towns().geometry)) == len(TOWNS)
    odd = TOWNS.assign(things=[{"a": 1}, shapely.Point(0, 0)] + [None] * (len(TOWNS) - 2)).rename(
        columns={"name": 7}
    )
    odd = pd.concat([odd, TOWNS["population"]], axis=1)  # one name twice
    assert load_residents(odd, x="lon", y="lat").lonlat.tolist() == load_sample("toulouse").lonlat.tolist()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "."),
        (pd.DataFrame({"lon": [], "lat": []}), "."),
        (gpd.GeoDataFrame(geometry=[shapely.LineString([(0, 0), (1, 1)])], crs=4326), "1 line[.]"),
        (gpd.GeoDataFrame(geometry=gpd.points_from_xy([5e5], [5e6])), "reference system|EPSG"),
        (pd.Series([1.0, 2.0]), "not Series"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(frame, words):
    with pytest.raises(ResidentsError, match=words) as told:
        load_residents(frame)
    assert "damaged" not in str(told.value)


def test_tables_of_other_libraries_come_over_through_arrow():
    """Polars, PyArrow and DuckDB hand out their tables the same way (the Arrow PyCapsule interface)."""
    columns = {"lon": [1.40, 1.41, 1.42], "lat": [43.60, 43.61, 43.62], "population": [5, 7, 9]}

    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(columns).__arrow_c_stream__(requested_schema)

    class Lazy:
        def lazy(self):
            return self

        def collect(self):
            return Foreign()

    same = load_residents(pd.DataFrame(columns))
    for given in (pa.table(columns), Foreign(), Lazy()):
        found = load_residents(given)
        assert found.fingerprint == same.fingerprint and found.weights.tolist() == [5, 7, 9]


@pytest.mark.parametrize("given", [np.zeros((3, 2)), [[1.0, 43.0]], ((1.0, 43.0),)])
def test_what_is_no_table_is_told_where_to_go(given):
    with pytest.raises(ResidentsError, match=r"Residents\.from_lonlat\(array\).*run_method"):
        load_residents(given)
