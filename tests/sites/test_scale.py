"""`scale` of the paths on the plane: with "auto", t means the same whatever the unit of the coordinates."""

from collections.abc import Callable
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tkm_core import TiltedKMeans, TiltWarning, capacity_path, evaluate, run_method, tilted_path, zone_path
from tkm_core.spread import spread

X = np.random.default_rng(5).normal(size=(60, 2))
PEOPLE = np.random.default_rng(6).integers(1, 9, 60).astype(float)
PATHS: dict[str, Callable[..., Any]] = {
    "capacity": lambda X, **told: capacity_path(X, 3, 2.0 * PEOPLE.sum() / 3, random_state=0, **told),
    "zones": lambda X, **told: zone_path(X, 2, random_state=0, **told),
    "free": lambda X, **told: tilted_path(X, 3, random_state=0, **told),
}


@pytest.mark.parametrize("name", list(PATHS))
def test_auto_takes_the_unit_out_of_t(name: str) -> None:
    path, dial = PATHS[name], [0.0, 0.5, 5.0]
    here = path(X, t=dial, scale="auto", sample_weight=PEOPLE)
    metres = path(X * 8000.0, t=dial, scale="auto", sample_weight=PEOPLE)
    np.testing.assert_allclose(metres.centers / 8000, here.centers, atol=1e-9)
    np.testing.assert_allclose(metres.city_cost / 8000**2, here.city_cost, rtol=1e-9)
    assert metres.t.tolist() == dial
    length = spread(X, PEOPLE)
    plain = path(X, t=np.array(dial) / length**2, scale=1.0, sample_weight=PEOPLE)
    np.testing.assert_allclose(here.centers, plain.centers, atol=1e-9)


@pytest.mark.parametrize("name", list(PATHS))
def test_who_is_advised_to_give_a_scale_can(name: str) -> None:
    with pytest.warns(TiltWarning, match='scale="auto"') as told:
        PATHS[name](X * 8000.0, t=[1.0])
    assert told[0].filename == __file__, "the warning points to the caller"
    PATHS[name](X * 8000.0, t=[1.0], scale=1)
    with pytest.raises(ValueError, match="scale is"):
        PATHS[name](X, t=[1.0], scale=-2)


def test_weights_may_be_a_column() -> None:
    table = pd.DataFrame({"people": PEOPLE, "x": X[:, 0], "y": X[:, 1]})
    for path in PATHS.values():
        np.testing.assert_array_equal(
            path(table, t=[1.0], scale="auto", sample_weight="people").centers,
            path(X, t=[1.0], scale="auto", sample_weight=PEOPLE).centers,
        )
    found, same_found = (
        evaluate(table, X[:3], sample_weight="people"),
        evaluate(X, X[:3], sample_weight=PEOPLE),
    )
    assert found.mean_distance == same_found.mean_distance
    solved = run_method("kmeans++", table, 3, sample_weight="people", random_state=0)
    plain = run_method("kmeans++", X, 3, sample_weight=PEOPLE, random_state=0)
    np.testing.assert_array_equal(solved.centers, plain.centers)
    model = TiltedKMeans(3, scale="auto", random_state=0).fit(table, sample_weight="people")
    same = TiltedKMeans(3, scale="auto", random_state=0).fit(table[["x", "y"]], sample_weight=PEOPLE)
    np.testing.assert_array_equal(model.cluster_centers_, same.cluster_centers_)
    assert model.score(table, sample_weight="people") == same.score(table[["x", "y"]], sample_weight=PEOPLE)
    assert model.feature_names_in_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "has"), [(X, "it has no named columns"), (pd.DataFrame(X, columns=["x", "y"]), "x, y")]
)
def test_a_column_that_is_not_there(given: Any, has: str) -> None:
    for fit in (TiltedKMeans(3).fit, *PATHS.values()):
        with pytest.raises(ValueError, match=f"'people', but X has no such column: .*{has}"):
            fit(given, sample_weight="people")


def test_a_geodataframe_brings_points_and_people() -> None:
    homes = gpd.GeoDataFrame({"people": PEOPLE}, geometry=gpd.points_from_xy(*X.T), crs=32631)
    model, same = (TiltedKMeans(3, scale="auto", random_state=0) for _ in range(2))
    np.testing.assert_array_equal(
        model.fit(homes, sample_weight="people").cluster_centers_,
        same.fit(X, sample_weight=PEOPLE).cluster_centers_,
    )


def test_one_place_is_singular() -> None:
    with pytest.warns(UserWarning, match="Only 1 distinct resident location for 3 facilities"):
        TiltedKMeans(3, scale=1).fit(np.zeros((5, 2)))
    with pytest.warns(UserWarning, match="Only 2 distinct resident locations for 3 facilities"):
        TiltedKMeans(3, scale=1).fit(np.array([[0.0, 0], [0, 0], [1, 1]]))
