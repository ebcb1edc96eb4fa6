"""MV: a centre in every critical ball, and no allowed swap left that gains enough, by brute force."""

import numpy as np
import pytest

from tests.methods.test_jkl import slow_filter
from tests.methods.truth import cost, distances, farthest_in_radii, radii, residents
from tkm_core.methods import run_method


def critical_balls(points, weights, k, dilation=3.0, ball=2.0):
    radius = radii(points, weights, k)
    away = distances(points, points)
    return [set(np.flatnonzero(away[c] <= ball * radius[c])) for c in slow_filter(points, radius, dilation)]


def all_swaps(rows, n, balls):
    for leaves in range(len(rows)):
        for enters in set(range(n)) - set(rows):
            swapped = [*rows[:leaves], enters, *rows[leaves + 1 :]]
            if all(ball & set(swapped) for ball in balls):
                yield swapped


@pytest.mark.parametrize("min_gain", [0.0, 0.02, 0.3])
@pytest.mark.parametrize(
    ("seed", "k", "lattice"), [(0, 3, False), (1, 4, True), (2, 1, False), (3, 6, False), (4, 2, True)]
)
def test_ends_where_no_swap_gains_enough(seed, k, lattice, min_gain):
    points, weights = residents(seed, n=24, lattice=lattice)
    found = run_method("mv", points, k, sample_weight=weights, min_gain=min_gain)
    rows = found.rows.tolist()
    balls = critical_balls(points, weights, k)
    assert all(ball & set(rows) for ball in balls)
    now = cost(points, weights, found.centers)
    lowest = min(cost(points, weights, points[swap]) for swap in all_swaps(rows, len(points), balls))
    assert lowest >= now * (1 - min_gain) * (1 - 1e-9)


def test_a_critical_ball_is_not_left_for_a_cheaper_plan():
    """Half the people live in one spot, which is not where two facilities are cheapest."""
    points = np.concatenate([np.linspace(-10, 10, 30), 2 + np.linspace(0, 1e-3, 30)])[:, None]
    weights = np.ones(60)
    found = run_method("mv", points, 2, min_gain=0.0)
    assert any(2 - 1e-2 < c < 2 + 1e-2 for c in found.centers[:, 0])
    free = all_swaps(found.rows.tolist(), 60, balls=[])
    assert min(cost(points, weights, points[swap]) for swap in free) < 0.95 * cost(
        points, weights, found.centers
    )


@pytest.mark.parametrize("seed", range(6))
def test_stays_within_five_radii_and_uses_every_facility(seed):
    points, weights = residents(seed, n=80)
    found = run_method("mv", points, 5, sample_weight=weights)
    assert len({tuple(c) for c in found.centers}) == 5
    assert farthest_in_radii(points, radii(points, weights, 5), found.centers) <= 5 + 1e-9


def test_a_true_local_optimum_costs_no_more():
    points, weights = residents(7, n=120)
    early = run_method("mv", points, 6, sample_weight=weights)
    late = run_method("mv", points, 6, sample_weight=weights, min_gain=0.0)
    assert cost(points, weights, late.centers) <= cost(points, weights, early.centers)
    assert late.details["swaps"] > early.details["swaps"]


def test_blocks_of_candidates_change_nothing(monkeypatch):
    points, weights = residents(8, n=90)
    whole = run_method("mv", points, 4, sample_weight=weights)
    monkeypatch.setattr("tkm_core.methods.mv.BLOCK_ENTRIES", 1000)
    assert run_method("mv", points, 4, sample_weight=weights).rows.tolist() == whole.rows.tolist()
