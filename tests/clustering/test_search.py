"""The search: its ranking of swaps against the definition, and its plans against the true optimum on a line."""

import numpy as np
import pytest

from tests.clustering.problems import slow_city_cost, slow_nearest, slow_tilted_sse, tilted_mean
from tkm_core import TiltedKMeans
from tkm_core.clustering.compiled.records import City, frozen
from tkm_core.clustering.compiled.starts import KMEANS_PP, RESIDENTS
from tkm_core.clustering.compiled.swaps import rank_swaps
from tkm_core.clustering.descent import Problem, descend_all, seeds
from tkm_core.clustering.search import COLUMN, Search


@pytest.mark.parametrize("criterion", ["city", "cluster"])
@pytest.mark.parametrize("t", [0.0, 0.3, 4.0])
def test_swaps_are_ranked_by_what_they_cost(criterion, t):
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(40, 2)), rng.random(40)
    centers, n_free = rng.normal(size=(4, 2)), 3  # the last one is fixed
    rows = np.array([0, 7, 21])
    costs = np.empty((len(rows), n_free))
    rank_swaps(City(frozen(X), frozen(w)), centers, t, n_free, COLUMN[criterion], rows, costs)
    truth = np.empty_like(costs)
    for r, row in enumerate(rows):
        for closed in range(n_free):
            swapped = centers.copy()
            swapped[closed] = X[row]
            labels, f = slow_nearest(X, swapped)
            cluster = criterion == "cluster"
            truth[r, closed] = slow_tilted_sse(f, labels, w, 4, t) if cluster else slow_city_cost(f, w, t)
    assert np.array_equal(np.argsort(costs, axis=None), np.argsort(truth, axis=None))


def best_on_a_line(x, k, t):
    """The least city-wide cost of k facilities on a line: the cheapest way to cut the sorted residents into k runs."""
    x = np.sort(x)
    n = len(x)
    run = np.full((n, n + 1), np.inf)
    for a in range(n):
        for b in range(a + 1, n + 1):
            part = x[a:b, None]
            f = (part - tilted_mean(part, np.ones(b - a), part.mean(axis=0), t, 1e-9)) ** 2
            run[a, b] = np.exp(np.minimum(t * f, 700)).sum() if t else f.sum()
    least = run[0].copy()
    for _ in range(k - 1):
        least = np.array([np.inf, *((least[:b] + run[:b, b]).min() for b in range(1, n + 1))])
    return np.log(least[n] / n) / t if t else least[n] / n


@pytest.mark.parametrize("t", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("k", [2, 5])
def test_nothing_on_a_line_is_better(k, t):
    rng = np.random.default_rng(k)
    x = np.concatenate([rng.normal(size=25), rng.uniform(-6, 6, size=20)])
    truth = best_on_a_line(x, k, t)
    for seed in range(3):
        model = TiltedKMeans(k, t=t, scale=1, criterion="city", random_state=seed).fit(x[:, None])
        f = ((x[:, None] - model.cluster_centers_.T) ** 2).min(axis=1)
        assert slow_city_cost(f, np.ones(len(x)), t) == pytest.approx(truth, rel=1e-6)


def test_a_crossing_takes_each_facility_from_one_of_two_plans():
    X = np.random.default_rng(0).normal(size=(50, 2))
    search = Search(Problem.of(X, np.ones(50), 4), X[:1], "city")
    plans = np.concatenate(
        [np.random.default_rng(1).normal(size=(3, 4, 2)), np.tile(X[:1], (3, 1, 1))], axis=1
    )
    values = np.array([2.0, 1.0, 1.0])
    children = search.crossed(plans, values, 1.0, np.random.default_rng(2), 5)
    assert len(children) == 5
    for child in children:
        assert np.array_equal(child[4:], X[:1])
        mine, theirs = plans[1, :4].tolist(), plans[0, :4].tolist()
        assert all(place in mine or place in theirs for place in child[:4].tolist())
    assert search.crossed(plans[1:], values[1:], 1.0, np.random.default_rng(2), 5) is None  # nothing to cross


def test_no_seed_ends_above_hundreds_of_restarts():
    X = np.random.default_rng(0).normal(size=(1000, 6))  # round: many plans cost nearly the same
    k, t, w = 4, 0.01, np.ones(1000)
    starts = np.empty((400, k, 6))
    for i, start in enumerate(starts):
        seeds(X, w, start, k, (KMEANS_PP, RESIDENTS)[i % 2], i)
    best = descend_all(Problem.of(X, w, k), starts, t)[1][:, 1].min()
    for seed in range(4):
        assert TiltedKMeans(k, t=t, scale=1, random_state=seed).fit(X).tilted_sse_ <= best * 1.001
