"""JKL against its guarantee and against the algorithm written out slowly."""

import numpy as np
import pytest

from tests.methods.truth import distances, farthest_in_radii, radii, residents
from tkm_core.methods import run_method
from tkm_core.methods.cover import ball_filter

CASES = [(seed, k, lattice) for seed in range(6) for k in (1, 2, 4, 7) for lattice in (False, True)]


def slow_filter(points, radius, dilation):
    away = distances(points, points)
    waiting = sorted(range(len(points)), key=lambda i: (radius[i], i))
    chosen = []
    while waiting:
        chosen.append(waiting[0])
        waiting = [i for i in waiting if away[chosen[-1], i] > dilation * radius[i]]
    return chosen


@pytest.mark.parametrize(("seed", "k", "lattice"), CASES)
def test_nobody_is_farther_than_twice_their_radius(seed, k, lattice):
    points, weights = residents(seed, lattice=lattice)
    found = run_method("jkl", points, k, sample_weight=weights)
    radius = radii(points, weights, k)
    assert 1 <= len(found.centers) <= k
    reached = farthest_in_radii(points, radius, found.centers)
    assert reached <= 2 + 1e-9
    assert reached <= found.details["dilation"] + 1e-9


@pytest.mark.parametrize("dilation", [0.3, 1.0, 1.7, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_ball_filter_is_the_slow_one(seed, dilation):
    points, weights = residents(seed)
    radius = radii(points, weights, 4)
    cover = ball_filter(points, radius, dilation)
    assert cover.chosen.tolist() == slow_filter(points, radius, dilation)
    away = np.sqrt(((points - points[cover.chosen[cover.owner]]) ** 2).sum(axis=1))
    assert (away <= dilation * radius).all()


@pytest.mark.parametrize("seed", range(5))
def test_no_smaller_dilation_on_a_grid_does(seed):
    """Between 1 and the dilation found, at least the bisection's last failures need more than k."""
    points, weights = residents(seed, n=60)
    found = run_method("jkl", points, 5, sample_weight=weights)
    radius = radii(points, weights, 5)
    dilation = found.details["dilation"]
    assert {tuple(points[i]) for i in slow_filter(points, radius, dilation)} == set(map(tuple, found.centers))
    assert dilation < 1 + 2e-6 or len(slow_filter(points, radius, dilation - 2e-6)) > 5


def test_fewer_centres_than_allowed_are_said():
    found = run_method("jkl", [[0.0], [0.0], [0.0], [5.0]], 3)
    assert found.centers.tolist() == [[0.0]]
    assert found.notes == ("JKL opened 1 of the 3 facilities it may open.",)
