"""TiltedKMeans as scikit-learn and planners use it."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.clustering.problems import slow_city_cost, slow_nearest, slow_tilted_sse
from tkm_core import TiltedKMeans, evaluate

X = np.random.default_rng(0).normal(size=(400, 2))


@parametrize_with_checks(
    [TiltedKMeans(), TiltedKMeans(solver="sgd", max_iter=50)],
    # KMeans declares the same: weights and repeated rows draw different random starts
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "random starts differ between weighted and repeated rows"
    },
)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.SkipTestWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:t is:tkm_core.TiltWarning",  # scikit-learn draws its data in a unit square
)
def test_scikit_learn_conformity(estimator, check):
    check(estimator)


@pytest.mark.parametrize("t", [0.0, 0.1, 3.0, 1e4, float("inf")])
def test_attributes_are_what_they_say(t):
    model = TiltedKMeans(4, t=t, random_state=0).fit(X)
    labels, f = slow_nearest(X, model.cluster_centers_)
    w = np.ones(len(X))
    assert np.array_equal(model.labels_, labels)
    assert np.array_equal(model.predict(X), labels)
    assert model.inertia_ == pytest.approx(f.sum())
    assert model.score(X) == pytest.approx(-f.sum())
    assert model.tilted_sse_ == pytest.approx(slow_tilted_sse(f, labels, w, 4, t))
    assert model.city_cost_ == pytest.approx(slow_city_cost(f, w, t))
    assert model.history_.shape == (model.n_iter_, 2)
    assert (np.diff(model.history_[:, 0]) <= 1e-12 * model.history_[0, 0]).all()
    np.testing.assert_allclose(model.transform(X).min(axis=1), np.sqrt(f), atol=1e-7)


def test_repeatable_from_a_seed_and_alike_in_threads():
    first = TiltedKMeans(5, t=1, random_state=3).fit(X)
    again = TiltedKMeans(5, t=1, random_state=3).fit(X)
    assert np.array_equal(first.cluster_centers_, again.cluster_centers_)
    with ThreadPoolExecutor(4) as pool:
        many = list(
            pool.map(lambda _: TiltedKMeans(5, t=1, random_state=3).fit(X).cluster_centers_, range(8))
        )
    assert all(np.array_equal(first.cluster_centers_, each) for each in many)


def test_no_worse_than_restarts_and_sgd():
    """The wine data, where k-means++ starts alone end at 16.73 and SGD reached 16.52."""
    wine = StandardScaler().fit_transform(load_wine().data)
    found = TiltedKMeans(4, t=0.2, random_state=0).fit(wine).tilted_sse_
    sgd = min(
        TiltedKMeans(4, t=0.2, solver="sgd", max_iter=500, random_state=s).fit(wine).tilted_sse_
        for s in range(3)
    )
    assert found <= sgd
    assert found <= 16.53


def test_criterion_decides_the_winner():
    blobs, _ = make_blobs(300, centers=9, random_state=7, cluster_std=0.8)
    blobs /= blobs.std()
    cluster = TiltedKMeans(4, t=2, criterion="cluster", random_state=0).fit(blobs)
    city = TiltedKMeans(4, t=2, criterion="city", random_state=0).fit(blobs)
    assert cluster.tilted_sse_ <= city.tilted_sse_
    assert city.city_cost_ <= cluster.city_cost_


def test_t_zero_is_as_good_as_kmeans_with_many_starts():
    blobs, _ = make_blobs(2000, centers=12, random_state=1, cluster_std=1.0)
    ours = TiltedKMeans(12, t=0, random_state=0).fit(blobs)
    theirs = KMeans(12, n_init=20, random_state=0).fit(blobs)
    assert ours.inertia_ <= theirs.inertia_ * 1.005


def test_weights_pull():
    line = np.array([[0.0], [1.0], [10.0]])
    plain = TiltedKMeans(1, t=0).fit(line).cluster_centers_[0, 0]
    heavy = TiltedKMeans(1, t=0).fit(line, sample_weight=[1, 1, 98]).cluster_centers_[0, 0]
    assert plain == pytest.approx(11 / 3)
    assert heavy == pytest.approx(9.81)


def test_fixed_centers_come_last_and_stay():
    fixed = [[5.0, 5.0], [-5.0, 5.0]]
    model = TiltedKMeans(3, t=0.5, criterion="city", fixed_centers=fixed, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (5, 2)
    np.testing.assert_array_equal(model.cluster_centers_[3:], fixed)
    alone = TiltedKMeans(3, t=0.5, criterion="city", random_state=0).fit(X)
    assert model.city_cost_ <= alone.city_cost_ * (1 + 1e-9), "two more facilities never hurt"


def test_pipeline_clone_and_pickle():
    pipe = make_pipeline(StandardScaler(), TiltedKMeans(3, t=1, random_state=0)).fit(X)
    again = pickle.loads(pickle.dumps(pipe))
    assert np.array_equal(again.predict(X), pipe.predict(X))
    assert clone(pipe[-1]).t == 1
    assert list(pipe[-1].get_feature_names_out()) == ["tiltedkmeans0", "tiltedkmeans1", "tiltedkmeans2"]


@pytest.mark.parametrize(
    ("settings", "data", "weights", "words"),
    [
        ({}, [[0.0, np.nan]], None, "NaN in row 0, column 1"),
        ({}, [[0.0, 1.0], [np.inf, 2.0]], None, "infinite value in row 1, column 0"),
        ({"n_clusters": 2}, [[0.0], [1.0]], [1.0, -3.0], "-3.0 in row 1"),
        ({"n_clusters": 2}, [[0.0], [1.0]], [0.0, 0.0], "zero in every row"),
        ({"n_clusters": 2}, [[0.0], [1.0]], [1.0], "one weight for each of the 2 rows"),
        ({"n_clusters": 2}, [[0.0], [1.0]], [1.0, np.nan], "nan in row 1"),
        ({"n_clusters": 0}, [[0.0], [1.0]], None, "n_clusters"),
        ({"n_clusters": 3}, [[0.0], [1.0]], None, "only 2 residents"),
        ({"n_clusters": 1, "t": -0.1}, [[0.0], [1.0]], None, "t is -0.1"),
        ({"n_clusters": 1, "t": float("nan")}, [[0.0], [1.0]], None, "t"),
        ({"n_clusters": 1}, [0.0, 1.0], None, "1D array"),
        (
            {"n_clusters": 1, "fixed_centers": [[1.0, 2.0]]},
            [[0.0], [1.0]],
            None,
            "fixed_centers has 2 column",
        ),
        ({"n_clusters": 1, "fixed_centers": [[np.nan]]}, [[0.0], [1.0]], None, "fixed_centers has a NaN"),
        ({"n_clusters": 1, "solver": "sgd", "t": float("inf")}, [[0.0], [1.0]], None, "infinity"),
        ({"n_clusters": 1, "solver": "adam"}, [[0.0], [1.0]], None, "solver"),
    ],
)
def test_bad_input_gets_a_sentence(settings, data, weights, words):
    with pytest.raises(ValueError, match=words):
        TiltedKMeans(**settings).fit(data, sample_weight=weights)


def test_fewer_places_than_facilities_warns_and_answers():
    twice = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 distinct"):
        model = TiltedKMeans(4, t=1, random_state=0).fit(twice)
    assert model.city_cost_ == 0
    assert model.cluster_centers_.shape == (4, 2)


def test_max_iter_reached_warns():
    # a million steps may be needed; one is not enough
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltedKMeans(3, t=1, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TiltedKMeans(8, t=0, max_iter=1, tol=1e-12, n_init=1, random_state=0).fit(
            np.random.default_rng(1).uniform(size=(3000, 2))
        )


def test_large_coordinates_lose_no_digits():
    """Metres in a map projection lie millions from the origin."""
    far = X * 1000 + [500_000, 5_000_000]
    here = TiltedKMeans(3, t=0.5, random_state=0).fit(X)
    there = TiltedKMeans(3, t=0.5e-6, random_state=0).fit(far)
    moved = here.cluster_centers_ * 1000 + [500_000, 5_000_000]
    gap = np.abs(moved[:, None] - there.cluster_centers_[None]).max(axis=2).min(axis=1)
    assert gap.max() < 1e-2


def test_sgd_is_the_papers_algorithm():
    """One iteration, one epoch, the whole data as batch: c - eta gradient, written out."""
    small = X[:50]
    model = TiltedKMeans(
        3, t=0.7, solver="sgd", max_iter=1, n_epochs=1, batch_size=1000, learning_rate=0.3, random_state=0
    )
    after = model.fit(small).cluster_centers_
    from tkm_core.clustering import KMEANS_PP, seeds

    rng = np.random.default_rng(np.random.RandomState(0).randint(2**31 - 1))
    before = np.empty((3, 2))
    seeds(small, np.ones(50), before, 3, KMEANS_PP, int(rng.integers(2**31)))
    labels, f = slow_nearest(small, before)
    for j in range(3):
        e = np.exp(0.7 * f)
        bottom = sum(e[i] if labels[i] == j else 1.0 for i in range(50))
        top = sum(e[i] * -2 * (small[i] - before[j]) for i in range(50) if labels[i] == j)
        np.testing.assert_allclose(after[j], before[j] - 0.3 * top / bottom, rtol=1e-12)


def test_sgd_at_t_zero_approaches_kmeans():
    blobs, _ = make_blobs(500, centers=3, random_state=0)
    blobs = StandardScaler().fit_transform(blobs)
    nf = TiltedKMeans(3, t=0, solver="sgd", max_iter=1500, random_state=0).fit(blobs)
    plain = KMeans(3, n_init=5, random_state=0).fit(blobs)
    assert evaluate(blobs, nf.cluster_centers_).sse == pytest.approx(plain.inertia_ / 500, rel=0.05)


def test_a_few_very_far_residents_do_not_mislead_the_search():
    X = np.random.default_rng(10).standard_t(2, size=(3000, 2))
    X /= np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    best = TiltedKMeans(8, t=1, n_init=32, random_state=0).fit(X).tilted_sse_
    for seed in range(4):
        assert TiltedKMeans(8, t=1, random_state=seed).fit(X).tilted_sse_ <= best * 1.005
