"""The plan for the farthest resident, found by covers with discs of one radius."""

import numpy as np

from tkm_core import TiltedKMeans
from tkm_core.clustering.covers import applies, least_radius
from tkm_core.clustering.descent import Problem, nearest


def towns(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Places in a round county, with their populations."""
    rng = np.random.default_rng(1)
    angle, away = rng.random(n) * 2 * np.pi, rng.random(n) ** 0.7
    return np.c_[away * np.cos(angle), away * np.sin(angle)], rng.lognormal(size=n)


def test_the_farthest_resident_is_never_farther_than_from_the_start() -> None:
    """What comes back is the start's fixed point or a plan with a shorter longest distance."""
    X, weights = towns()
    for k in (12, 40):
        problem = Problem.of(X, weights, k)
        found = least_radius(problem, X[:k], 0)
        assert applies(problem)
        assert found.shape == (k, 2)
        assert nearest(X, found)[1].max() <= nearest(X, X[:k])[1].max()
        assert (found == least_radius(problem, X[:k], 0)).all()


def test_existing_facilities_stay() -> None:
    """They serve whom they reach, and do not move."""
    X, weights = towns()
    fixed = X[-2:]
    found = least_radius(Problem.of(X, weights, 40), np.vstack([X[:40], fixed]), 0)
    assert (found[40:] == fixed).all()


def test_fits_at_infinity_reach_the_farthest_of_a_grid() -> None:
    """One facility for every four points of a grid, which descents alone seldom find."""
    X = np.array([[x, y] for x in range(12) for y in range(12)], dtype=float)
    for seed in range(2):
        model = TiltedKMeans(36, t=np.inf, criterion="city", random_state=seed).fit(X)
        assert np.isclose(model.city_cost_, 0.5)
