"""Data that were kept come back with everything that plans, maps and downloads take from them."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

from pages.serving.store.packing import residents_bytes, residents_from
from tkm_core import export
from tkm_core.planning import make_plan, place_names
from tkm_core.residents import Residents, load_residents, load_sample


@pytest.fixture(scope="module")
def town() -> Residents:
    """Areas with names, people, groups and columns of other kinds, one of them with a name that the store uses."""
    squares = [shapely.box(x, y, x + 0.1, y + 0.1) for x in (1.0, 1.1, 1.2) for y in (43.0, 43.1)]
    columns = {
        "NEIGHBORHOOD": ["Mill", "Quay", "Old town", "<b>Hill</b>", "Lake", "Gare"],
        "population": [10, 20, 30, 40, 50, 60],
        "district": list("NNNSSS"),
        "lon": [0.5, None, 2.5, 3.5, 4.5, 5.5],
        "open": [True, False, True, True, False, True],
    }
    frame = gpd.GeoDataFrame(columns, geometry=squares, crs=4326)
    content = frame.to_json().encode()
    return load_residents(
        content, name="town.geojson", place="NEIGHBORHOOD", weight="population", group="district"
    )


def test_places_groups_areas_and_own_columns_come_back(town: Residents) -> None:
    back = residents_from(residents_bytes(town))
    assert place_names(back) == place_names(town) is not None
    assert set(back.labels) == set(town.labels)
    for name, values in town.labels.items():
        kept = back.labels[name]
        assert (kept.to_pylist() if isinstance(kept, pa.Array) else list(kept)) == (
            values.to_pylist() if isinstance(values, pa.Array) else list(values)
        ), name
    np.testing.assert_array_equal(back.xy, town.xy)
    assert shapely.equals(back.areas, town.areas).all()


def test_downloads_are_the_same_before_and_after(town: Residents) -> None:
    before, after = (
        export.all_layers(make_plan(home, 2, t=[0]), 0)["who_goes_where"]
        for home in (town, residents_from(residents_bytes(town)))
    )
    pd.testing.assert_frame_equal(before, after)
    assert {"NEIGHBORHOOD", "open"} <= set(after)


def test_samples_come_back() -> None:
    for name in ("sacramento", "toulouse"):
        city = load_sample(name)
        back = residents_from(residents_bytes(city))
        assert (back.fingerprint, set(back.labels)) == (city.fingerprint, set(city.labels))
