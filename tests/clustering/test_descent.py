"""The descent: monotone, nearest, optimal, and the same as the plain definitions."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from tests.clustering.problems import (
    TILTS,
    enclosing_ball,
    problems,
    slow_city_cost,
    slow_nearest,
    slow_tilted_sse,
    tilted_mean,
)
from tkm_core.clustering import descent
from tkm_core.clustering.descent import Problem, descend

NONE = np.empty((0, 1))


def start_of(X, w, k, seed=0):
    rng = np.random.default_rng(seed)
    return X[rng.choice(len(X), k, replace=False)].copy()


def problem_of(X, w, k):
    return Problem.of(X, w, k)


@settings(max_examples=300, deadline=None)
@given(problems(), TILTS, st.integers(0, 99))
def test_descent_is_monotone_nearest_and_optimal(problem, t, seed):
    X, w, k = problem
    found = descend(problem_of(X, w, k), start_of(X, w, k, seed), t)
    phi = found.history[:, 0]
    assert np.isfinite(found.history).all()
    assert (np.diff(phi) <= 1e-12 * np.abs(phi[:-1]) + 1e-300).all(), "the city-wide cost rose"
    assert found.left <= 1e-6
    _, f = slow_nearest(X, found.centers)
    own = ((X - found.centers[found.labels]) ** 2).sum(axis=1)
    np.testing.assert_allclose(own, f, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.city_cost, slow_city_cost(own, w, t), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        found.tilted_sse, slow_tilted_sse(own, found.labels, w, k, t), rtol=1e-6, atol=1e-9
    )
    for j in range(k):
        mine = (found.labels == j) & (w > 0)
        if mine.any():
            check_optimal(X[mine], w[mine], found.centers[j], t)


def check_optimal(X, w, c, t):
    """No move of a thousandth of the radius makes the cluster's strictly convex cost lower."""
    f = ((X - c) ** 2).sum(axis=1)
    radius = np.sqrt(f.max())
    if radius == 0:
        return
    here = slow_city_cost(f, w, t)
    rng = np.random.default_rng(0)
    for direction in np.vstack([np.eye(X.shape[1]), rng.normal(size=(4, X.shape[1]))]):
        u = direction / np.linalg.norm(direction)
        for sign in (1e-3, -1e-3):
            there = slow_city_cost(((X - c - sign * radius * u) ** 2).sum(axis=1), w, t)
            assert there >= here - 1e-9 * radius**2


@settings(max_examples=60, deadline=None)
@given(problems(max_n=60), st.floats(1e-3, 3.0))
def test_optimality_equation(problem, t):
    """sum w e^{t f} (x - c) = 0, as the paper's equation for the tilted mean."""
    X, w, _ = problem
    if t * 4 * (X**2).sum(axis=1).max() > 300:
        t = 300 / (4 * (X**2).sum(axis=1).max())
    start = np.average(X, axis=0, weights=w)
    live = w > 0
    c = tilted_mean(X[live], w[live], start, t, 1e-12)
    e = w[live] * np.exp(t * ((X[live] - c) ** 2).sum(axis=1))
    pull = (e[:, None] * (X[live] - c)).sum(axis=0) / e.sum()
    spread = np.sqrt(((X[live] - c) ** 2).sum(axis=1).max())
    assert np.abs(pull).max() <= 1e-8 * (spread + 1e-300)


@settings(max_examples=60, deadline=None)
@given(problems(max_n=200), st.integers(0, 9))
def test_t_zero_is_scikit_learn(problem, seed):
    X, w, k = problem
    rng = np.random.default_rng(seed)
    X = X + 0.01 * np.ptp(X, axis=0).max() * rng.normal(size=X.shape)  # no ties: those may go either way
    start = start_of(X, w, k, seed)
    assume(len(np.unique(start, axis=0)) == k and every_facility_is_used(X, w, start))
    ours = descend(problem_of(X, w, k), start, 0.0)
    theirs = KMeans(k, init=start, n_init=1, tol=0, max_iter=300).fit(X, sample_weight=w)
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-7, atol=1e-9)


def every_facility_is_used(X, w, centers):
    """Whether no cluster empties on the way: an unused facility is reopened by different rules."""
    before = None
    while True:
        labels, _ = slow_nearest(X, centers)
        total = np.bincount(labels, w, len(centers))
        if (total == 0).any():
            return False
        if before is not None and np.array_equal(labels, before):
            return True
        before = labels
        centers = np.array(
            [np.average(X[labels == j], axis=0, weights=w[labels == j]) for j in range(len(centers))]
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # duplicates
@settings(max_examples=60, deadline=None)
@given(problems(max_n=200), st.integers(0, 9))
def test_the_end_of_scikit_learn_is_not_made_worse(problem, seed):
    X, w, k = problem
    theirs = KMeans(k, init=start_of(X, w, k, seed), n_init=1, tol=0).fit(X, sample_weight=w)
    cost = np.average(((X - theirs.cluster_centers_[theirs.labels_]) ** 2).sum(axis=1), weights=w)
    again = descend(problem_of(X, w, k), theirs.cluster_centers_, 0.0)
    assert again.city_cost <= cost * (1 + 1e-9) + 1e-12


def test_t_zero_is_scikit_learn_exactly_on_a_plain_city():
    X = np.random.default_rng(5).normal(size=(300, 2))
    start = X[:5].copy()
    ours = descend(problem_of(X, np.ones(300), 5), start, 0.0)
    theirs = KMeans(5, init=start, n_init=1, tol=0).fit(X)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-9)
    assert np.array_equal(ours.labels, theirs.labels_)


@settings(max_examples=40, deadline=None)
@given(problems(max_n=80), TILTS)
def test_integer_weights_are_repeated_rows(problem, t):
    X, w, k = problem
    w = np.ceil(np.minimum(w, 4.0))
    start = start_of(X, w, k)
    once = descend(problem_of(X, w, k), start, t)
    rows = np.repeat(np.arange(len(X)), w.astype(int))
    many = descend(problem_of(np.ascontiguousarray(X[rows]), np.ones(len(rows)), k), start, t)
    np.testing.assert_allclose(once.city_cost, many.city_cost, rtol=1e-6, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.001, 100.0), st.floats(0.01, 1000.0), st.floats(0, 6.28))
def test_moving_turning_rescaling_the_plane(seed, t, scale, angle):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = np.ascontiguousarray(scale * X @ turn.T + np.array([3.0, -7.0]) * scale)
    w = rng.random(120) + 0.1
    here = descend(problem_of(X, w, 3), X[:3], t)
    there = descend(problem_of(moved, w, 3), moved[:3], t / scale**2)
    if np.array_equal(here.labels, there.labels):
        expected = scale * here.centers @ turn.T + np.array([3.0, -7.0]) * scale
        np.testing.assert_allclose(there.centers, expected, atol=2e-5 * scale)
    np.testing.assert_allclose(there.city_cost, here.city_cost * scale**2, rtol=1e-6)


def brute_force_ball(X):
    """Smallest of all balls through two or three points that hold all of them (in the plane)."""
    best, centre = np.inf, X[0]
    n = len(X)
    if n == 1:
        return X[0]
    candidates = [(X[i] + X[j]) / 2 for i in range(n) for j in range(i)]
    for i in range(n):
        for j in range(i):
            for m in range(j):
                A = 2 * np.array([X[j] - X[i], X[m] - X[i]])
                if abs(np.linalg.det(A)) > 1e-12:
                    candidates.append(
                        np.linalg.solve(A, [X[j] @ X[j] - X[i] @ X[i], X[m] @ X[m] - X[i] @ X[i]])
                    )
    for c in candidates:
        r = ((X - c) ** 2).sum(axis=1).max()
        if r < best:
            best, centre = r, c
    return centre


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(0, 10_000), st.sampled_from([1.0, 0.5, 0.0]))
def test_infinite_t_is_the_enclosing_ball(n, seed, grid):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    if grid:
        X = np.round(X / grid) * grid
    found = enclosing_ball(np.ascontiguousarray(X), X.mean(axis=0))
    expected = brute_force_ball(X)
    radius = np.sqrt(((X - expected) ** 2).sum(axis=1).max())
    assert np.sqrt(((X - found) ** 2).sum(axis=1).max()) <= radius * (1 + 1e-9) + 1e-12
    np.testing.assert_allclose(found, expected, atol=1e-6 * (radius + 1e-9))


@settings(max_examples=60, deadline=None)
@given(problems(max_n=100, max_d=8))
def test_enclosing_ball_in_any_dimension(problem):
    """Optimal: the centre lies in the convex hull of the points on the sphere (non-negative least squares)."""
    from scipy.optimize import nnls

    X, _, _ = problem
    c = enclosing_ball(X, X.mean(axis=0))
    f = ((X - c) ** 2).sum(axis=1)
    r2 = f.max()
    rim = X[f >= r2 * (1 - 1e-7)] - c
    if r2 > 0:
        A = np.vstack([rim.T / np.sqrt(r2), np.ones(len(rim))])
        _, residual = nnls(A, np.append(np.zeros(X.shape[1]), 1.0))
        assert residual < 1e-5


@pytest.mark.parametrize("z", [1e2, 1e4, 1e6, 1e9, 1e13])
def test_huge_tilts(z):
    """t times radius squared of a million and more: finite, optimal, and near the enclosing ball."""
    X = np.random.default_rng(1).normal(size=(200, 2))
    ball = enclosing_ball(X, X.mean(axis=0))
    r2 = ((X - ball) ** 2).sum(axis=1).max()
    found = descend(problem_of(X, np.ones(200), 1), X[:1], z / r2)
    assert found.left <= 1e-6
    check_optimal(X, np.ones(200), found.centers[0], z / r2)
    # strong convexity of the cost bounds how far the tilted mean can be from the ball's centre
    assert ((found.centers[0] - ball) ** 2).sum() <= r2 * np.log(200) / z + 1e-12


def test_many_residents_in_chunks_are_the_same_as_in_one(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5000, 2))
    w = rng.random(5000)
    for t in (0.0, 0.05, 2.0, 500.0, np.inf):
        whole = descend(problem_of(X, w, 4), X[:4], t)
        monkeypatch.setattr(descent, "CHUNK", 700)
        parts = descend(problem_of(X, w, 4), X[:4], t, tol=1e-12)
        monkeypatch.undo()
        np.testing.assert_allclose(parts.city_cost, whole.city_cost, rtol=1e-9)
        assert np.array_equal(parts.labels, whole.labels)


def test_threads_at_once_give_the_same_answers():
    rng = np.random.default_rng(3)
    cities = [rng.normal(size=(2000, 2)) for _ in range(8)]

    def solve(X):
        return descend(problem_of(X, np.ones(len(X)), 5), X[:5], 1.0).centers

    alone = [solve(X) for X in cities]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(solve, cities))
    for a, b in zip(alone, together, strict=True):
        assert np.array_equal(a, b)


def test_fixed_facilities_serve_and_never_move():
    X = np.random.default_rng(4).normal(size=(300, 2))
    fixed = np.array([[2.0, 2.0], [0.0, 0.0]])
    found = descend(Problem.of(X, np.ones(300), 2), np.vstack([X[:2], fixed]), 1.0)
    np.testing.assert_array_equal(found.centers[2:], fixed)
    assert set(found.labels) == {0, 1, 2, 3}


def test_an_unused_facility_reopens():
    X = np.vstack([np.zeros((5, 2)), np.ones((5, 2)), [[9.0, 9.0]]])
    far = np.array([[0.0, 0.0], [1e3, 1e3], [2e3, 2e3]])
    found = descend(problem_of(X, np.ones(11), 3), far, 0.5)
    assert found.city_cost < 1e-12
