"""Zones: facilities stand where they may, and no allowed neighbour is better."""

import numpy as np
import pytest
from shapely import MultiPolygon, Point, Polygon, box

from tests.sites.truth import slow_cost
from tkm_core import tilted_path, zone_path
from tkm_core.sites.zones import allowed


def residents(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) * 1000, rng.integers(1, 20, n).astype(float)


def cost(X, w, C, t):
    return slow_cost(((X[:, None] - C[None]) ** 2).sum(axis=2).min(axis=1), w, t)


@pytest.mark.parametrize("t", [0.0, 1e-6, 1e-5, np.inf])
def test_no_allowed_neighbour_is_better(t):
    X, w = residents()
    lake, districts = (
        Point(0, 0).buffer(800),
        MultiPolygon([box(-3000, -3000, 200, 3000), box(600, 0, 3000, 3000)]),
    )
    path = zone_path(X, 3, only_in=districts, not_in=lake, t=[t], sample_weight=w, mesh=20.0, random_state=0)
    C = path.centers[0]
    assert allowed(C, districts, lake).all()
    assert path.mesh <= 40.0
    assert path.city_cost[0] == pytest.approx(cost(X, w, C, t))
    for j in range(3):
        for step in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            moved = C.copy()
            moved[j] += path.mesh * np.array(step)
            if allowed(moved[j : j + 1], districts, lake)[0]:
                assert cost(X, w, moved, t) >= path.city_cost[0] * (1 - 1e-9)


def test_without_zones_it_comes_close_to_the_plane():
    X, w = residents()
    dial = np.array([0.0, 1e-6])
    free = tilted_path(X, 3, t=dial, criterion="city", sample_weight=w, random_state=0)
    path = zone_path(X, 3, t=dial, sample_weight=w, random_state=0)
    assert path.city_cost == pytest.approx(free.city_cost, rel=0.01)


def test_a_pinned_facility_stays_where_it_is_even_in_a_zone():
    X, w = residents()
    path = zone_path(
        X,
        2,
        not_in=box(-100, -100, 100, 100),
        t=[0.0],
        sample_weight=w,
        fixed_centers=[[0, 0]],
        random_state=0,
    )
    assert path.centers[0, 2].tolist() == [0, 0]
    assert path.centers.shape == (1, 3, 2)


def test_zones_that_leave_nothing_get_a_sentence():
    X, _ = residents()
    with pytest.raises(ValueError, match="leave 0 places for 2 facilities"):
        zone_path(X, 2, not_in=box(-1e5, -1e5, 1e5, 1e5), t=[0.0])
    with pytest.raises(ValueError, match="is empty"):
        zone_path(X, 2, only_in=Polygon(), t=[0.0])


def test_a_zone_beside_the_residents_is_used_as_it_is():
    X, w = residents()
    away = box(20_000, 20_000, 21_000, 21_000)
    path = zone_path(X, 1, only_in=away, t=[0.0], sample_weight=w, random_state=0)
    assert allowed(path.centers[0], away).all()
    assert path.centers[0, 0] == pytest.approx([20_000, 20_000], abs=10)
