"""Every measure against its definition, written out slowly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clustering.problems import TILTS, problems, slow_city_cost, slow_nearest, slow_tilted_sse
from tkm_core import evaluate, evaluate_distances, neighbourhood_radius


@settings(max_examples=80, deadline=None)
@given(problems(max_n=40, max_d=4), TILTS)
def test_every_measure_is_its_definition(problem, t):
    X, w, k = problem
    C = X[:k] + 0.25
    found = evaluate(X, C, t=t, sample_weight=w, standard=1.0)
    _, f = slow_nearest(X, C)
    d = np.sqrt(f)
    np.testing.assert_allclose(found.distance, d, rtol=1e-12, atol=1e-12)
    W = w.sum()
    assert found.sse == pytest.approx(sum(w * f) / W)
    assert found.mean_distance == pytest.approx(sum(w * d) / W)
    assert found.city_cost == pytest.approx(slow_city_cost(f, w, t), rel=1e-6)
    assert found.tilted_sse == pytest.approx(slow_tilted_sse(f, found.labels, w, k, t), rel=1e-6, abs=1e-9)
    assert found.largest_distance == pytest.approx(max(d[w > 0]))
    assert found.share_within == pytest.approx(sum(w[d <= 1.0]) / W)
    assert found.population.sum() == pytest.approx(W)
    for j in range(k):
        mine = found.labels == j
        weights, squared, plain = w[mine], f[mine], d[mine]
        if weights.sum() > 0:
            mean = np.average(squared, weights=weights)
            assert found.variance[j] == pytest.approx(
                np.average((squared - mean) ** 2, weights=weights), rel=1e-9, abs=1e-12
            )
            mean = np.average(plain, weights=weights)
            assert found.variance_of_distance[j] == pytest.approx(
                np.average((plain - mean) ** 2, weights=weights), rel=1e-9, abs=1e-12
            )
            assert found.max_distance[j] == pytest.approx(plain[weights > 0].max())
        else:
            assert found.variance[j] == found.max_distance[j] == 0
    mean = sum(w * d) / W
    if mean > 0:
        gini = sum(w[a] * w[b] * abs(d[a] - d[b]) for a in range(len(X)) for b in range(len(X))) / (
            2 * W * W * mean
        )
        assert found.gini == pytest.approx(gini, rel=1e-9, abs=1e-9)
        kappa = -sum(w * d) / sum(w * d * d)
        ede = -np.log(sum(w * np.exp(-kappa * d)) / W) / kappa
        assert found.kolm_pollak_ede == pytest.approx(ede, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(0, 999))
def test_quantiles_and_worst_decile_are_those_of_repeated_people(counts, seed):
    X = np.random.default_rng(seed).normal(size=(len(counts), 2))
    found = evaluate(X, [[0.0, 0.0]], sample_weight=counts)
    people = np.sort(np.repeat(np.sqrt((X**2).sum(axis=1)), counts))
    n = len(people)
    for q, value in ((0.5, found.median_distance), (0.9, found.p90_distance), (0.95, found.p95_distance)):
        assert value == pytest.approx(people[int(np.ceil(q * n - 1e-9)) - 1])
    tenfold = np.repeat(people, 10)  # so that a tenth of the people is a whole number
    assert found.worst_decile_mean == pytest.approx(tenfold[-n:].mean())


def test_fairness_ratio_is_the_worst_resident():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    radius = neighbourhood_radius(X, 2)
    assert radius.tolist() == [1.0, 1.0, 1.0, 8.0]
    found = evaluate(X, [[0.0], [6.0]], neighbourhood=radius)
    assert found.fairness_ratio == 2.0  # the third resident: 2 away, with a neighbour at 1


@settings(max_examples=40, deadline=None)
@given(problems(max_n=40, max_d=3), st.integers(1, 4))
def test_neighbourhood_radius_is_the_smallest_ball_with_a_kth_of_the_people(problem, k):
    X, w, _ = problem
    radius = neighbourhood_radius(X, k, w)
    for i in range(len(X)):
        d = np.sqrt(((X - X[i]) ** 2).sum(axis=1))
        enough = [r for r in sorted(d) if w[d <= r * (1 + 1e-12) + 1e-15].sum() >= w.sum() / k * (1 - 1e-9)]
        assert radius[i] == pytest.approx(enough[0], abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(problems(max_n=60, max_d=4), st.floats(1e-6, 1e3))
def test_tilted_sse_is_at_least_the_sse(problem, t):
    """Jensen, the paper's first lemma; and as t falls to 0 the SSE is recovered."""
    X, w, k = problem
    C = X[:k]
    sse = evaluate(X, C, sample_weight=w).sse
    assert evaluate(X, C, t=t, sample_weight=w).tilted_sse >= sse * (1 - 1e-9)
    assert evaluate(X, C, t=1e-12, sample_weight=w).tilted_sse == pytest.approx(sse, rel=1e-6, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(problems(max_n=40, max_d=4), st.floats(1e-3, 5.0))
def test_hessian_is_at_least_twice_the_share_of_the_cluster(problem, t):
    """Strong convexity: the Hessian of phi_j, by finite differences, is at least 2 |S_j| / n."""
    X, _, k = problem
    n, d = X.shape
    C = X[:k] + 0.1
    labels, f = slow_nearest(X, C)
    t = min(t, 20 / max(f.max(), 1e-9))
    w = np.ones(n)
    mine = labels == 0
    if not mine.any():
        return

    def phi(c):
        g = np.where(mine, ((X - c) ** 2).sum(axis=1), 0.0)
        return slow_city_cost(g, w, t)

    h = 1e-3
    for axis in np.eye(d):
        second = (phi(C[0] + h * axis) - 2 * phi(C[0]) + phi(C[0] - h * axis)) / h**2
        assert second >= 2 * mine.sum() / n * (1 - 1e-3) - 1e-3


def test_on_unit_norm_data_tilted_sse_rises_and_tilted_variance_falls_with_t():
    """The paper's theorems on fairness and monotonicity: k = 1, every point of norm 1."""
    from tests.clustering.problems import tilted_mean

    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(loc=[1.0, 0.0, 0.0], size=(30, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        w = np.ones(30)
        costs, variances = [], []
        for t in np.geomspace(0.01, 30, 15):
            f = ((X - tilted_mean(X, w, X.mean(axis=0), t, 1e-12)) ** 2).sum(axis=1)
            costs.append(slow_city_cost(f, w, t))
            p = np.exp(0.5 * f) / np.exp(0.5 * f).sum()  # tau = 0.5
            variances.append(p @ (f - p @ f) ** 2)
        assert (np.diff(costs) >= -1e-12).all()
        assert (np.diff(variances) <= 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": [[0.0, 1.0]], "centers": [[0.0]]}, "centers has 1 column"),
        ({"X": [[0.0]], "centers": []}, "1 dimension"),
        ({"X": [[0.0]], "centers": [[0.0]], "t": -1}, "t is -1"),
        ({"X": [[0.0]], "centers": [[0.0]], "neighbourhood": [1.0, 2.0]}, "one for each of the 1"),
        ({"X": [["a"]], "centers": [[0.0]]}, "table of numbers"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words):
    X, centers = arguments.pop("X"), arguments.pop("centers")
    with pytest.raises(ValueError, match=words):
        evaluate(X, centers, **arguments)


def test_one_resident_and_everyone_at_the_door():
    found = evaluate([[1.0, 2.0]], [[1.0, 2.0]], t=5.0, standard=0.0)
    assert found.largest_distance == found.gini == found.kolm_pollak_ede == found.worst_decile_mean == 0
    assert found.share_within == 1


def test_distances_of_any_kind_are_measured_as_those_of_the_plane():
    rng = np.random.default_rng(0)
    X, C, w = rng.normal(size=(80, 2)), rng.normal(size=(4, 2)), rng.integers(0, 9, 80).astype(float)
    near = neighbourhood_radius(X, 4, w)
    plane = evaluate(X, C, t=0.7, sample_weight=w, standard=0.8, neighbourhood=near)
    table = evaluate_distances(
        plane.distance, plane.labels, t=0.7, sample_weight=w, n_facilities=4, standard=0.8, neighbourhood=near
    )
    assert plane.split is table.split is None
    for name, value in vars(plane).items():
        if name == "split":
            continue
        assert np.asarray(getattr(table, name), float) == pytest.approx(np.asarray(value, float)), name


@pytest.mark.parametrize(
    ("distance", "labels", "more", "sentence"),
    [
        ([1.0, -1.0], [0, 0], {}, "0 or more"),
        ([1.0, np.inf], [0, 0], {}, "infinite"),
        ([1.0, 2.0], [0], {}, "number of a facility for each of the 2"),
        ([1.0, 2.0], [0.0, 1.0], {}, "number of a facility"),
        ([1.0, 2.0], [0, -1], {}, "from -1 to 0"),
        ([1.0, 2.0], [0, 2], {"n_facilities": 2}, "from 0 to 1"),
    ],
)
def test_bad_distances_get_a_sentence(distance, labels, more, sentence):
    with pytest.raises(ValueError) as raised:
        evaluate_distances(distance, labels, **more)
    assert sentence in str(raised.value)
