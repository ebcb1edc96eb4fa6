"""Plans for residents beyond memory, compared with the same plan in memory."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tkm_core import ResidentsError, load_residents, make_plan
from tkm_core.planning import ResidentCells, beyond_memory, condense_residents, measure_exactly

DIAL = [0.0, 0.1, 0.5, 2.0]


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """A region of five towns, in degrees, in three files."""
    folder = tmp_path_factory.mktemp("homes")
    rng = np.random.default_rng(5)
    towns = np.column_stack([rng.uniform(6.8, 7.8, 5), rng.uniform(46.6, 47.3, 5)])
    points = towns[rng.integers(5, size=24_000)] + rng.normal(size=(24_000, 2)) * [0.06, 0.04]
    table = pd.DataFrame(
        {
            "home": np.arange(24_000),
            "lat": points[:, 1],
            "lon": points[:, 0],
            "population": rng.integers(0, 5, 24_000),
        }
    )
    for number in range(3):
        table[8_000 * number : 8_000 * (number + 1)].to_parquet(
            folder / f"{number}.parquet", row_group_size=3_000
        )
    return folder


def test_a_plan_is_that_of_the_same_residents_in_memory(homes):
    table = pd.concat([pd.read_parquet(file) for file in sorted(homes.glob("*"))])
    known = make_plan(load_residents(table), 4, t=DIAL)
    plan = make_plan(f"{homes}/*.parquet", 4, t=DIAL)
    assert isinstance(plan.residents, ResidentCells)
    assert plan.residents.count == (table["population"] > 0).sum()
    assert "24,000 rows, in 9 groups, were condensed to" in str(plan.residents.report)
    np.testing.assert_allclose(plan.path.city_cost, known.path.city_cost, rtol=2e-3)
    plan = measure_exactly(plan, 2, standard=5_000.0)
    for standard in (None, 5_000.0):
        told, exact = plan.evaluation(2, standard), plan.residents
        apart = np.linalg.norm(known.residents.xy[:, None] - plan.centers_xy(2), axis=2).min(axis=1)
        people = known.residents.weights
        assert told.largest_distance == pytest.approx(apart[people > 0].max(), rel=1e-6)
        assert told.mean_distance == pytest.approx(np.average(apart, weights=people), rel=1e-6)
        assert told.population.sum() == people.sum()
        assert len(told.distance) == len(exact)
    assert told.share_within == pytest.approx(people[apart <= 5_000].sum() / people.sum(), rel=1e-9)
    assert plan.change(2).shape == (len(plan.residents),)


def test_points_on_another_map_and_existing_facilities(homes, tmp_path):
    table = pd.concat([pd.read_parquet(file) for file in sorted(homes.glob("*"))])
    points = gpd.GeoDataFrame(
        table[["population"]], geometry=gpd.points_from_xy(table["lon"], table["lat"]), crs=4326
    )
    points.to_crs(2056).to_parquet(tmp_path / "homes.parquet", row_group_size=5_000)
    stands = [[7.3, 46.9]]
    plan, known = (
        make_plan(home, 2, t=[0.0, 0.5], fixed_lonlat=stands)
        for home in (condense_residents(tmp_path / "homes.parquet"), condense_residents(f"{homes}/*.parquet"))
    )
    np.testing.assert_allclose(plan.path.city_cost, known.path.city_cost, rtol=1e-3)
    np.testing.assert_allclose(plan.centers_lonlat(1)[2], stands[0])


def test_what_is_beyond_memory(homes, tmp_path):
    assert beyond_memory(f"{homes}/*.parquet")
    assert beyond_memory(homes)
    assert beyond_memory(homes / "0.parquet", "tcp://10.0.0.1:8786")
    assert not beyond_memory(homes / "0.parquet")
    assert not beyond_memory(pd.DataFrame())
    assert not beyond_memory(tmp_path)


def test_coordinates_that_are_not_understood_are_asked_for(tmp_path):
    table = pd.DataFrame({"x": [2_600_000.0, 2_601_000.0], "y": [1_200_000.0, 1_201_000.0]})
    for number in range(2):
        table.to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(ResidentsError) as told:
        condense_residents(str(tmp_path))
    assert told.value.needs == "crs"
    cells = condense_residents(str(tmp_path), crs="EPSG:2056")
    assert cells.lonlat.round(2).tolist() == [[7.44, 46.95], [7.45, 46.96]]
