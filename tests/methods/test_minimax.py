"""Minimax: the best p-center of all, by brute force over partitions, and the end of the tilted path."""

from itertools import combinations, product

import numpy as np
import pytest

from tests.methods.truth import distances, residents
from tkm_core import tilted_path
from tkm_core.evaluation import evaluate
from tkm_core.methods import run_method


def circles(points):
    """Centres of the circles that two points have as a diameter, or on which three lie."""
    for a, b in combinations(points, 2):
        yield (a + b) / 2
    for a, b, c in combinations(points, 3):
        sides = 2 * np.array([b - a, c - a])
        if abs(np.linalg.det(sides)) > 1e-9:
            yield np.linalg.solve(sides, [b @ b - a @ a, c @ c - a @ a])


def enclosing_radius(points):
    """Radius of the smallest circle around points: two or three of them lie on it."""
    if len(points) <= 1:
        return 0.0
    return min(float(distances(points, [middle]).max()) for middle in circles(points))


def best_p_center(points, k):
    """The smallest radius over every way to divide the points among k facilities."""
    radius = {}
    best = np.inf
    for labels in product(range(k), repeat=len(points) - 1):
        groups = [frozenset(np.flatnonzero(np.array((0, *labels)) == j)) for j in range(k)]
        for group in groups:
            if group not in radius:
                radius[group] = enclosing_radius(points[list(group)])
        best = min(best, max(radius[group] for group in groups))
    return best


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 2), (2, 2), (3, 3), (4, 3)])
def test_no_plan_has_a_shorter_longest_way(seed, k):
    points, weights = residents(seed, n=7)
    found = run_method("minimax", points, k, sample_weight=weights, random_state=0)
    longest = distances(points, found.centers).min(axis=1).max()
    assert longest == pytest.approx(best_p_center(points, k), rel=1e-5)


def test_it_is_where_the_dial_ends():
    points, weights = residents(5, n=150)
    path = tilted_path(
        points, 4, t=[0, 1, 10, np.inf], criterion="city", sample_weight=weights, random_state=0
    )
    found = run_method("minimax", points, 4, sample_weight=weights, random_state=0)
    longest = [evaluate(points, centers).largest_distance for centers in (path.centers[-1], found.centers)]
    assert longest[1] <= longest[0] * 1.02


def test_existing_facilities_serve_and_stay():
    points, _ = residents(6, n=80)
    far = points[[int(np.argmax((points**2).sum(axis=1)))]]
    found = run_method("minimax", points, 2, random_state=0, fixed_centers=far)
    np.testing.assert_array_equal(found.centers[2:], far)
