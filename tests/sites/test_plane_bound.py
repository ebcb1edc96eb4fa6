"""The bound for facilities anywhere: never above any plan, and closed where the optimum is known."""

import itertools
import math

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tkm_core as tkm
from tkm_core.sites.plane_bound.cells import Cells, Hull, TiltedSum

SETTINGS = (0.0, 0.03, 0.5, 3.0, 40.0, math.inf)


def cost(X, centers, t, weights=None):
    """The city-wide cost by its definition, in plain words."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    f = ((X[:, None] - np.asarray(centers)) ** 2).sum(axis=2).min(axis=1)[w > 0]
    w = w[w > 0] / w.sum()
    if t == 0:
        return float(w @ f)
    top = f.max()
    return float(top) if math.isinf(t) else float(top + np.log(w @ np.exp(t * (f - top))) / t)


def partitions(n, k):
    """Every way to put n things into at most k groups, once each, as labels."""

    def grow(labels):
        if len(labels) == n:
            yield labels
            return
        for group in range(min(max(labels, default=-1) + 2, k)):
            yield from grow([*labels, group])

    yield from grow([])


def optimum(X, k, t, weights=None, fixed=None):
    """The lowest cost of k facilities, by enumeration of all groups of residents.

    With existing facilities, one more group holds those whom they serve.
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    alone = {}
    best = math.inf
    for labels in partitions(len(X), k + (fixed is not None)):
        groups = [tuple(np.flatnonzero(np.array(labels) == g)) for g in range(max(labels) + 1)]
        for rest in range(len(groups)) if fixed is not None else [None]:
            new = [g for number, g in enumerate(groups) if number != rest]
            if len(new) > k:
                continue
            for g in new:
                if g not in alone:
                    alone[g] = center_of(X[list(g)], w[list(g)], t)
            centers = [alone[g] for g in new] + ([] if fixed is None else list(fixed))
            best = min(best, cost(X, centers, t, w))
        if fixed is not None and len(groups) <= k:
            best = min(
                best, cost(X, [center_of(X[list(g)], w[list(g)], t) for g in groups] + list(fixed), t, w)
            )
    return best


def center_of(X, w, t):
    """The optimum of one group: its mean, the middle of its smallest disc, or what a convex solver finds."""
    if t == 0:
        return np.average(X, axis=0, weights=w)
    if math.isinf(t):
        return smallest_disc(X)
    from scipy.optimize import minimize

    found = minimize(lambda c: cost(X, [c], t, w), np.average(X, axis=0, weights=w), method="BFGS", tol=1e-12)
    return found.x


def smallest_disc(X):
    """The middle of the smallest enclosing disc: of two points as a diameter, or of three on the edge."""
    if len(X) == 1:
        return X[0]
    middles = [(a + b) / 2 for a, b in itertools.combinations(X, 2)]
    for a, b, c in itertools.combinations(X, 3):
        A = 2 * np.array([b - a, c - a])
        if abs(np.linalg.det(A)) > 1e-12:
            middles.append(np.linalg.solve(A, [b @ b - a @ a, c @ c - a @ a]))
    return min(middles, key=lambda m: ((X - m) ** 2).sum(axis=1).max())


@pytest.mark.parametrize("t", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_small_sets_are_proved_optimal(t, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    weights = rng.integers(1, 9, 7) if seed else None
    best = optimum(X, 2, t, weights)
    found = tkm.prove(X, X[:2], t=t, sample_weight=weights, scale=1.0, seconds=3, random_state=0)
    assert found.bound <= best * (1 + 1e-9)
    # between the mild and the infinite t, the prices leave a gap that only branching could close
    assert found.bound == pytest.approx(best, rel=0.03 if t == 40 else 1e-6)
    assert found.cost == pytest.approx(cost(X, X[:2], t, weights))
    assert cost(X, found.centers, t, weights) == pytest.approx(found.best_cost)
    assert not found.proved
    again = tkm.prove(X, found.centers, t=t, sample_weight=weights, scale=1.0, seconds=3, random_state=0)
    assert again.proved or t == 40


@pytest.mark.parametrize("t", (0.0, 0.5, math.inf))
def test_existing_facilities_serve_too(t):
    rng = np.random.default_rng(5)
    X, fixed, weights = rng.normal(size=(6, 2)), rng.normal(size=(1, 2)), rng.integers(1, 5, 6)
    best = optimum(X, 2, t, weights, fixed)
    found = tkm.prove(
        X, X[:2], t=t, sample_weight=weights, fixed_centers=fixed, scale=1.0, seconds=10, random_state=0
    )
    assert found.bound <= best * (1 + 1e-9)
    assert found.bound == pytest.approx(best, rel=1e-4)
    assert (found.n_new, found.n_existing, len(found.centers)) == (2, 1, 3)
    np.testing.assert_array_equal(found.centers[-1:], fixed)
    listed = tkm.prove(
        X,
        np.vstack([X[:2], fixed]),
        t=t,
        sample_weight=weights,
        fixed_centers=fixed,
        scale=1.0,
        random_state=0,
    )
    assert (listed.n_new, listed.cost) == (2, found.cost)
    assert "2 new facilities" in found.sentence


def on_a_line(x, w, k):
    """The optimal k-means sum on a line, by dynamic programming over the sorted places."""
    order = np.argsort(x)
    x, w = x[order], w[order]
    n = len(x)

    def alone(a, b):
        middle = np.average(x[a:b], weights=w[a:b])
        return float(w[a:b] @ (x[a:b] - middle) ** 2)

    best = [0.0] + [math.inf] * n
    for _ in range(k):
        best = [min([best[b], *(best[a] + alone(a, b) for a in range(b))]) for b in range(n + 1)]
    return best[n] / w.sum()


@pytest.mark.parametrize("columns", (1, 2))
def test_places_on_a_line(columns):
    rng = np.random.default_rng(2)
    x, w = rng.exponential(size=30), rng.integers(1, 6, 30).astype(float)
    X = x[:, None] if columns == 1 else np.column_stack([x, -2 * x])
    best = on_a_line(x, w, 4) * (1 if columns == 1 else 5)
    found = tkm.prove(X, X[:4], sample_weight=w, seconds=10, random_state=0)
    assert found.bound <= best * (1 + 1e-9)
    assert found.bound == pytest.approx(best, rel=1e-6)
    assert found.centers.shape == (4, columns)


def test_the_petals_of_iris_reach_the_known_optimum():
    X = load_iris().data[:, 2:]
    model = tkm.TiltedKMeans(3, t=0, random_state=0).fit(X)
    found = tkm.prove(X, model.cluster_centers_, seconds=20, random_state=0)
    assert found.bound * len(X) == pytest.approx(31.3714, abs=1e-3)
    assert found.proved


@pytest.mark.parametrize("t", SETTINGS)
def test_no_method_lies_below_the_bound(t):
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(30, 2)) * 0.3 + 3, rng.normal(size=(5, 2)) * 4])
    weights = rng.integers(1, 20, len(X))
    found = tkm.prove(X, X[:4], t=t, sample_weight=weights, scale=1.0, seconds=3, random_state=0)
    for name in tkm.METHODS:
        options = {"t": t} if name == "tkm" else {}
        made = tkm.run_method(name, X, 4, sample_weight=weights, random_state=0, **options)
        assert cost(X, made.centers, t, weights) >= found.bound * (1 - 1e-12)
    for seed in range(3):
        model = tkm.TiltedKMeans(4, t=t, criterion="city", scale=1.0, random_state=seed).fit(
            X, sample_weight=weights
        )
        assert cost(X, model.cluster_centers_, t, weights) >= found.bound * (1 - 1e-12)
    assert found.bound > 0.5 * found.best_cost


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(12, 2)), rng.integers(0, 4, 12)
    repeated = np.repeat(X, weights, axis=0)
    one = tkm.prove(X, X[:3], t=0.7, sample_weight=weights, scale=1.0, seconds=10, random_state=0)
    other = tkm.prove(repeated, X[:3], t=0.7, scale=1.0, seconds=10, random_state=0)
    assert one.cost == pytest.approx(other.cost)
    assert one.bound == pytest.approx(other.bound, rel=1e-6)


@pytest.mark.parametrize("t", (0.0, 1.0, math.inf))
@pytest.mark.parametrize("unit", (1e-140, 1e-3, 1e6, 1e140))
def test_units_do_not_matter(t, unit):
    X = np.random.default_rng(4).normal(size=(40, 2))
    plain = tkm.prove(X + 5, X[:3] + 5, t=t, scale="auto", seconds=5, random_state=0)
    other = tkm.prove((X + 5) * unit, (X[:3] + 5) * unit, t=t, scale="auto", seconds=5, random_state=0)
    assert other.gap == pytest.approx(plain.gap, rel=1e-4)


@pytest.mark.parametrize("t", (0.0, 2.0, math.inf))
def test_as_many_facilities_as_places_cost_nothing(t):
    X = np.array([[0.0, 0], [1, 0], [1, 0], [0, 3]])
    exact = tkm.prove(X, X[[0, 1, 3]], t=t)
    assert (exact.cost, exact.bound, exact.proved) == (0.0, 0.0, True)
    poor = tkm.prove(X, X[[0, 0, 0, 1, 1]], t=t)
    assert (poor.bound, poor.best_cost, poor.gap) == (0.0, 0.0, 1.0)
    assert "not known yet" not in tkm.prove(X, X[[0, 1]], t=t, scale=1.0).sentence


@pytest.mark.parametrize("t", (0.0, 2.0, math.inf))
def test_one_place(t):
    found = tkm.prove([[3.0, 4.0]], [[0.0, 0.0]], t=t, scale=1.0)
    assert (found.cost, found.bound, found.best_cost) == (25.0, 0.0, 0.0)
    assert tkm.prove([[3.0, 4.0]] * 5, [[3.0, 4.0]], t=t, scale=1.0).proved


def test_nothing_new_has_nothing_to_prove():
    fixed = [[0.0, 0.0]]
    found = tkm.prove([[3.0, 4.0], [1, 1]], fixed, fixed_centers=fixed)
    assert (found.n_new, found.gap, found.proved) == (0, 0.0, True)


def test_many_residents_are_bounded_through_stand_ins():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(13_000, 2))
    for t in (0.0, 0.5):
        model = tkm.TiltedKMeans(3, t=t, criterion="city", random_state=0).fit(X)
        found = tkm.prove(X, model.cluster_centers_, t=t, seconds=15, random_state=0)
        assert found.bound <= cost(X, model.cluster_centers_, t) * (1 + 1e-9)
        assert found.gap < 0.02


@pytest.mark.parametrize("t", (0.0, 0.4, 5.0, 60.0))
def test_a_cell_bounds_every_cluster_whose_optimum_lies_in_it(t):
    rng = np.random.default_rng(11)
    for _ in range(60):
        S = rng.normal(size=(rng.integers(1, 9), 2))
        w = rng.dirichlet(np.ones(len(S)))
        c = np.asarray(center_of(S, w, t))
        value = cost(S, [c], t, w)
        total = TiltedSum.of(S, w, t, max(value, 1e-9) * 3, np.full(len(S), np.inf))
        half = rng.exponential(size=2) * 0.3
        cells = Cells((c + half * rng.uniform(-1, 1, 2))[None], half[None])
        for prices in (np.full(len(S), total.most), total.at(((S - c) ** 2).sum(axis=1)) * 1.5):
            V, rho = total.costs(cells, np.minimum(prices, total.most))
            true = total.at(((S - c) ** 2).sum(axis=1))
            assert V.sum() <= true.sum() * (1 + 1e-7) + 1e-12
            assert rho[0] == pytest.approx(np.minimum(V[0] - np.minimum(prices, total.most), 0).sum())


def test_cells_cover_the_hull():
    X = np.random.default_rng(1).normal(size=(50, 2))
    hull = Hull.of(X)
    cells = Cells.over(hull, 200).split(hull)
    inside = np.random.default_rng(2).dirichlet(np.ones(50) * 0.05, size=2_000) @ X
    apart = np.abs(inside[:, None] - cells.M) - cells.H * (1 + 1e-9)
    assert (apart.max(axis=2).min(axis=1) <= 0).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"X": np.zeros((3, 3)), "centers": np.zeros((1, 3))},
            "X has 3 columns; a proof needs places in the plane",
        ),
        ({"centers": [[0.0]]}, r"centers has 1 column\(s\)"),
        ({"t": -1}, "t is -1"),
        ({"seconds": 0}, "seconds is 0"),
        ({"sample_weight": [1, -1, 1]}, "cannot be negative"),
        ({"X": [[0.0, math.nan]]}, "NaN"),
    ],
)
def test_what_it_cannot_follow_is_refused(change, told):
    given = {"X": [[0.0, 0], [1, 1], [2, 5]], "centers": [[0.0, 0.0]]} | change
    with pytest.raises(ValueError, match=told):
        tkm.prove(given.pop("X"), given.pop("centers"), **given)


def test_progress_can_end_the_work():
    def stop(fraction, text):
        if fraction > 0.001:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tkm.prove(
            np.random.default_rng(0).normal(size=(2_000, 2)),
            np.eye(2),
            t=30,
            seconds=20,
            scale=1.0,
            progress=stop,
        )


def test_the_words():
    found = tkm.prove([[0.0, 0], [0, 1], [4, 0]], [[0.0, 0.0]], t=0)
    assert found.sentence.startswith("No plan with 1 facility anywhere has a city-wide cost more than ")
    assert repr(found).startswith("Proof(t=0, cost=5.66667, bound=")
    percent = float(found.sentence.split("more than ")[1].split(" %")[0])
    assert percent / 100 >= found.gap
