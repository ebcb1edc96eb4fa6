"""LSPP: nobody beyond six radii, a facility in every zone, and a cost as low as slower searches find."""

import numpy as np
import pytest

from tests.methods.truth import cost, distances, farthest_in_radii, radii, residents
from tkm_core.methods import lspp, run_method


@pytest.mark.parametrize("lloyd", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_nobody_is_farther_than_six_radii_and_every_zone_has_a_facility(seed, lloyd):
    points, weights = residents(seed, n=90, lattice=seed % 3 == 2)
    k = 3 + seed
    found = run_method("lspp", points, k, sample_weight=weights, random_state=seed, lloyd=lloyd)
    radius = radii(points, weights, k)
    assert farthest_in_radii(points, np.maximum(radius, 1e-12), found.centers) <= 6 + 1e-9
    away = distances(found.details["anchors"], found.centers).min(axis=1)
    assert (away <= found.details["zones"] * (1 + 1e-9)).all()
    assert len(found.centers) == k


def test_zones_hold_facilities_that_the_cost_alone_would_take_away():
    """Half the people live in one spot; with zones of their own radius a facility must stand right there."""
    points = np.concatenate([np.linspace(-10, 10, 30), 2 + np.linspace(0, 1e-3, 30)])[:, None]
    tight = run_method("lspp", points, 2, random_state=0, dilation=1.0, zone=1.0)
    assert any(2 - 1e-2 < c < 2 + 1e-2 for c in tight.centers[:, 0])


def test_it_costs_no_more_than_mv():
    points, weights = residents(4, n=250)
    swaps = run_method("lspp", points, 5, sample_weight=weights, random_state=0)
    slow = run_method("mv", points, 5, sample_weight=weights)
    assert cost(points, weights, swaps.centers) <= cost(points, weights, slow.centers)
    assert swaps.details["swaps"] > 0


def test_swaps_never_raise_the_cost():
    points, weights = residents(5, n=150)
    costs = [
        cost(
            points,
            weights,
            run_method(
                "lspp", points, 5, sample_weight=weights, random_state=0, swaps=n, lloyd=False
            ).centers,
        )
        for n in (0, 10, 100, 500)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.nightly
def test_many_residents_measure_neighbourhoods_among_a_sample(monkeypatch):
    """The estimate is near the truth, and six radii of the truth still hold."""
    points, weights = residents(6, n=900)
    whole = run_method("lspp", points, 5, sample_weight=weights, random_state=0)
    assert not whole.notes
    monkeypatch.setattr(lspp, "EXACT", 500)
    sampled = run_method("lspp", points, 5, sample_weight=weights, random_state=0)
    assert "among a sample of 1,000" in sampled.notes[0]
    assert farthest_in_radii(points, radii(points, weights, 5), sampled.centers) <= 6
    assert cost(points, weights, sampled.centers) <= 1.1 * cost(points, weights, whole.centers)


def test_bad_options_get_a_sentence():
    with pytest.raises(ValueError, match="zone is -1; it must be a number from 0 upwards"):
        run_method("lspp", [[0.0], [1.0]], 1, zone=-1)
