"""The classic problems, limited room and later calls: bounds against every choice of sites."""

import csv
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import optima
from tests.sites.test_capacity import least_cost
from tests.sites.truth import city, every_plan, site_problems, slow_cost
from tkm_core import Capacity, UnreachableError, capacity_path, site_path


@settings(max_examples=100, deadline=None)
@given(problem=site_problems(), t=st.sampled_from([0.0, 0.2, 5.0, np.inf]))
def test_plain_distances_against_every_choice(problem, t):
    D, w, k, fixed = problem
    live = w > 0
    costs = [
        slow_cost(d, w[live], t)
        for d in (D[live][:, plan].min(axis=1) for plan in every_plan(D.shape[1], k, fixed))
        if np.isfinite(d).all()
    ]
    if not costs:
        with pytest.raises(UnreachableError):
            site_path(D, k, t=[t], sample_weight=w, fixed_sites=fixed, power=1, random_state=0)
        return
    truth = min(costs)
    path = site_path(D, k, t=[t], sample_weight=w, fixed_sites=fixed, power=1, random_state=0)
    assert path.bound[0] <= truth * (1 + 1e-9) + 1e-12
    better = path.improve(20.0)
    assert better.bound[0] <= truth * (1 + 1e-9) + 1e-12
    assert better.city_cost[0] == pytest.approx(truth, rel=1e-8, abs=1e-12)
    assert better.proved[0]


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), t=st.sampled_from([0.0, 0.01, 0.3, 2.0, np.inf]), whole=st.booleans())
def test_bounds_with_limited_room_stay_below_every_choice(seed, t, whole):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 12), rng.integers(2, 7)
    D = rng.integers(0, 4, (n, m)).astype(float) if whole else rng.uniform(0, 3, (n, m))
    w = rng.integers(1, 9, n).astype(float)
    n_fixed = int(rng.integers(0, 2))
    fixed, k = rng.permutation(m)[:n_fixed], int(rng.integers(1, m - n_fixed + 1))
    most = w.sum() / (k + n_fixed) * rng.uniform(0.9, 1.5, m)
    least = np.where(rng.random(m) < 0.4, 0.6 * most, 0.0)
    truth = min(least_cost(D, w, least, most, plan, t) for plan in every_plan(m, k, fixed))
    if np.isinf(truth):
        return
    path = site_path(
        D, k, t=[t], sample_weight=w, fixed_sites=fixed, capacity=Capacity(most, least), random_state=0
    ).improve(0.5)
    assert path.bound[0] <= truth * (1 + 1e-7) + 1e-9


def test_bounds_know_the_room():
    D, w = city(150, 20, seed=4)
    most = 1.05 * w.sum() / 4
    tight = site_path(D, 4, t=[0.0, 0.1], sample_weight=w, capacity=most, random_state=0).improve(8)
    free = site_path(D, 4, t=[0.0, 0.1], sample_weight=w, random_state=0).improve(8)
    assert free.proved.all()
    assert (tight.bound > free.city_cost * 1.05).all()
    assert (tight.gap < 0.05).all()


def test_improve_takes_its_time_and_goes_on():
    D = np.random.default_rng(5).integers(1, 1000, (150, 150)).astype(float)
    path = site_path(D, 12, t=[0.0], power=1, random_state=0)
    for _ in range(2):
        start, before = perf_counter(), path
        path = path.improve(1.5)
        assert path.proved.all() or perf_counter() - start > 1.4
        assert path.bound[0] > before.bound[0]
        assert path.city_cost[0] <= before.city_cost[0]


def test_the_first_bound_of_the_farthest_resident_says_something():
    D, w = city(200, 60, seed=3)
    assert site_path(D, 5, t=[np.inf], sample_weight=w, random_state=0).gap[0] < 0.6


def test_paths_are_told_compared_and_tabled():
    D, w = city(60, 12)
    path = site_path(D, 3, t=[0.0, 1.0], sample_weight=w, random_state=0)
    assert len(repr(path)) < 120
    assert path == path
    assert path != site_path(D, 3, t=[0.0, 1.0], sample_weight=w, random_state=0)
    frame = path.to_frame()
    assert frame.loc[1.0, "site"].tolist() == path.sites[1].tolist()
    limited = capacity_path(D[:, :2], 3, 25, t=[0.0, 1.0], random_state=0)
    assert len(repr(limited)) < 120
    assert limited != capacity_path(D[:, :2], 3, 25, t=[0.0, 1.0], random_state=0)
    assert limited.to_frame().loc[1.0, ["x0", "x1"]].to_numpy().tolist() == limited.centers[1].tolist()
    for each in (path, limited):
        assert each.plot().data[0].name == "city-wide cost"
        with pytest.raises(ValueError, match="picture costs"):
            each.plot("map")


def test_a_power_other_than_1_and_2_is_refused():
    with pytest.raises(ValueError, match="power is 3"):
        site_path([[1.0, 2.0]], 1, power=3)


def test_the_table_of_published_optima(tmp_path, capsys):
    rng = np.random.default_rng(1)
    edges = [(i, i + 1, rng.integers(1, 9)) for i in range(1, 9)] + [
        (1, 5, 3),
        (2, 8, 4),
        (9, 3, 2),
        (1, 5, 6),
    ]
    text = f"9 {len(edges)} 2\n" + "\n".join(" ".join(map(str, edge)) for edge in edges)
    (tmp_path / "pmed1.txt").write_text(text)
    D = np.full((9, 9), np.inf)
    np.fill_diagonal(D, 0)
    for i, j, length in edges:
        D[i - 1, j - 1] = D[j - 1, i - 1] = length
    for via in range(9):
        D = np.minimum(D, D[:, [via]] + D[[via]])
    X = rng.integers(0, 50, (8, 2))
    points = "\n".join(f"{i + 1} {x} {y}" for i, (x, y) in enumerate(X))
    (tmp_path / "a8.tsp").write_text(f"EDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n{points}\nEOF\n")
    apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    truth = [
        ("pmed1", "median", min(D[:, plan].min(axis=1).sum() for plan in every_plan(9, 2, []))),
        ("pmed1", "center", min(D[:, plan].min(axis=1).max() for plan in every_plan(9, 2, []))),
        ("a8", "median", min(np.floor(apart)[:, plan].min(axis=1).sum() for plan in every_plan(8, 2, []))),
        ("a8", "center", min(np.rint(apart)[:, plan].min(axis=1).max() for plan in every_plan(8, 2, []))),
    ]
    with (tmp_path / "optima.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["instance", "problem", "p", "optimum"])
        writer.writerows([name, problem, 2, int(value)] for name, problem, value in truth)
    optima.main([str(tmp_path), "--seconds", "10"])
    told = capsys.readouterr().out.splitlines()
    assert told[0].split() == ["instance", "problem", "p", "published", "ours", "bound", "proved", "seconds"]
    assert told[-1] == "4 of 4 published optima reached, 4 of 4 proved"
    for line, (name, problem, value) in zip(told[1:-1], truth, strict=True):
        assert line.split()[:5] == [name, problem, "2", f"{value:.0f}", f"{value:.0f}"]
