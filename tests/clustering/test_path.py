"""The path over t: fixed points, both directions, facilities that keep their number."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tests.clustering.problems import slow_city_cost, slow_nearest
from tests.listening import reports_and_stops
from tkm_core import TiltedKMeans, evaluate, load_sample, tilted_path
from tkm_core.clustering.descent import Problem, descend
from tkm_core.clustering.stand_ins import cells, condense

RNG = np.random.default_rng(0)
CITY = np.vstack(
    [RNG.normal(size=(350, 2)) * 0.3, RNG.normal(size=(120, 2)), RNG.uniform(-4, 4, size=(30, 2))]
)
CITY /= np.sqrt((CITY**2).mean())


@pytest.fixture(scope="module")
def path():
    return tilted_path(CITY, 4, random_state=0)


def test_the_default_grid_is_the_papers(path):
    assert path.t[0] == 0
    assert path.t[1] == pytest.approx(0.01)
    assert path.t[-1] == pytest.approx(100)
    assert len(path.t) == 61
    np.testing.assert_allclose(np.diff(np.log(path.t[1:])), np.log(1e4) / 59)
    assert np.array_equal(path.t, [0, *np.geomspace(0.01, 100, 60)])


def test_every_point_of_the_path_is_a_fixed_point_with_its_figures(path):
    problem = Problem.of(CITY, np.ones(len(CITY)), 4)
    assert path.error.max() <= 1e-6
    for i in range(0, 61, 6):
        again = descend(problem, path.centers[i], path.t[i])
        np.testing.assert_allclose(again.centers, path.centers[i], atol=1e-5)
        found = evaluate(CITY, path.centers[i], t=path.t[i])
        assert found.tilted_sse == pytest.approx(path.tilted_sse[i], rel=1e-6)
        assert found.sse == pytest.approx(path.sse[i], rel=1e-6)
        assert found.city_cost == pytest.approx(path.city_cost[i], rel=1e-6)


def test_the_path_is_no_worse_than_single_fits(path):
    for i in range(0, 61, 10):
        alone = TiltedKMeans(4, t=path.t[i], random_state=1).fit(CITY)
        assert path.tilted_sse[i] <= alone.tilted_sse_ * 1.01


def test_facilities_keep_their_number(path):
    """Within an arrangement no other numbering is nearer, and no facility moves far at once."""
    moves = np.sqrt(((path.centers[1:] - path.centers[:-1]) ** 2).sum(axis=2))
    same = path.arrangement[1:] == path.arrangement[:-1]
    for i in np.flatnonzero(same):
        for a in range(4):
            others = np.sqrt(((path.centers[i + 1] - path.centers[i, a]) ** 2).sum(axis=1))
            assert moves[i, a] <= others.min() + moves[i].max()
    assert np.median(moves[same].max(axis=1)) < 0.1
    assert (np.diff(path.arrangement) >= 0).all()


def test_repeatable(path):
    again = tilted_path(CITY, 4, random_state=0)
    assert np.array_equal(again.centers, path.centers)


def test_a_grid_in_any_order_and_infinite_t():
    path = tilted_path(CITY, 3, t=[1.0, float("inf"), 0.0], random_state=0)
    assert path.t.tolist() == [1.0, float("inf"), 0.0]
    largest = [evaluate(CITY, c).largest_distance for c in path.centers]
    assert largest[1] <= largest[0] <= largest[2]


def test_one_t_one_resident_and_k_equal_n():
    assert tilted_path([[1.0, 2.0]], 1, t=[0.5], random_state=0).centers.tolist() == [[[1.0, 2.0]]]
    path = tilted_path(CITY[:5], 5, random_state=0)
    assert np.abs(path.sse).max() < 1e-20


def test_fixed_facilities_stay_through_the_path():
    fixed = np.array([[3.0, 3.0]])
    path = tilted_path(CITY, 2, fixed_centers=fixed, t=[0, 0.1, 1, 10], random_state=0)
    assert path.centers.shape == (4, 3, 2)
    assert (path.centers[:, 2] == fixed[0]).all()


def test_progress_runs_forward_and_its_exception_cancels():
    reports_and_stops(lambda progress: tilted_path(CITY, 2, random_state=0, progress=progress))
    assert tilted_path(CITY, 2, t=[0.1], random_state=0).error[0] <= 1e-6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_clusters": 0}, "whole number"),
        ({"n_clusters": 501}, "only 500 residents"),
        ({"n_clusters": 2, "t": [0.1, -1]}, "t is -1"),
        ({"n_clusters": 2, "criterion": "mean"}, "criterion is 'mean'"),
        ({"n_clusters": 2, "fixed_centers": [[1.0]]}, "fixed_centers has 1 column"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        tilted_path(CITY, **arguments)


def test_cells_keep_the_people_their_middle_and_the_strays():
    w = np.random.default_rng(1).random(len(CITY))
    points, weights = cells(CITY, w, 60)
    assert len(points) == 60
    assert weights.sum() == pytest.approx(w.sum())
    np.testing.assert_allclose(weights @ points, w @ CITY)
    far = CITY[np.argmax((CITY**2).sum(axis=1))]
    assert np.abs(points - far).max(axis=1).min() < 0.5


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_stand_ins_of_a_large_city(d):
    rng = np.random.default_rng(2)
    many = rng.normal(size=(60_000, d))
    many[7] = 50.0
    w = rng.random(60_000)
    w[:3] = 0
    points, weights = condense(many, w)
    assert len(points) < 40_000
    assert weights.sum() == pytest.approx(w.sum(), rel=0.05)
    np.testing.assert_allclose(weights @ points / weights.sum(), w @ many / w.sum(), atol=0.05)
    assert (np.abs(points - 50.0).max(axis=1) < 1e-9).any(), "the stray resident stands for themself"
    assert (weights > 0).all()


def test_a_large_city_states_its_error_and_is_near_its_fixed_point():
    blobs, _ = make_blobs(70_000, centers=6, random_state=3)
    blobs /= np.sqrt((blobs**2).mean())
    path = tilted_path(blobs, 3, t=[0.0, 0.1, 1.0, 10.0], random_state=0)
    problem = Problem.of(blobs, np.ones(len(blobs)), 3)
    for i, t in enumerate(path.t):
        exact = descend(problem, path.centers[i], t, tol=1e-12)
        assert path.tilted_sse[i] == pytest.approx(exact.tilted_sse, rel=2e-2)
        assert path.error[i] < 0.1
    assert np.array_equal(tilted_path(blobs, 3, t=[0.0, 1.0], random_state=0).centers[0].shape, (3, 2))


def test_the_farthest_resident_is_let_down_again_only_where_it_would_cost_more(monkeypatch):
    towns = load_sample("toulouse")
    X, w = towns.scaled, towns.weights
    grid = np.geomspace(0.05, 3, 12)
    settings = {"t": grid, "criterion": "city", "sample_weight": w, "scale": 1, "random_state": 0}
    kept = tilted_path(X, 8, **settings)
    monkeypatch.setattr("tkm_core.clustering.path.not_let_down", lambda *_: {})
    free = tilted_path(X, 8, **settings)

    def distances(path):
        return [slow_nearest(X, centers)[1] for centers in path.centers]

    def let_down(longest):
        return np.sqrt(longest / np.minimum.accumulate(longest)) - 1

    f = distances(kept)
    longest, before = np.array([each.max() for each in f]), np.array([each.max() for each in distances(free)])
    assert let_down(before).max() > 0.02  # otherwise this city shows nothing
    assert let_down(longest).sum() < let_down(before).sum()
    for i, t in enumerate(grid):
        assert kept.city_cost[i] == pytest.approx(slow_city_cost(f[i], w, t))
        assert kept.city_cost[i] <= free.city_cost[i] * 1.001 * (1 + 1e-9)
        limit = longest[:i].min(initial=np.inf) * 1.001**2
        if longest[i] > limit:
            others = [slow_city_cost(each, w, t) for each in f if each.max() <= limit]
            assert min(others) > free.city_cost[i] * 1.001 * (1 - 1e-9)
