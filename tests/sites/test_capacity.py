"""Limited room: the transport problem against a linear program, plans against every choice of sites."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from tests.sites.truth import city, every_plan, slow_cost
from tkm_core import Capacity, capacity_path, site_path, tilted_path
from tkm_core.sites import plane
from tkm_core.sites.transport import assign


def by_linear_program(C, w, least, most):
    """The least cost of the transport problem, written out; infinite if it has no solution."""
    k, n = C.shape
    each, load = kron(np.ones((1, k)), eye_array(n)), kron(eye_array(k), np.ones((1, n)))
    found = linprog(
        np.where(np.isfinite(C), C, 0.0).ravel(),
        A_ub=csr_array(vstack([load, -load])),
        b_ub=np.concatenate([most, -least]),
        A_eq=csr_array(each),
        b_eq=w,
        bounds=[(0, None if np.isfinite(c) else 0) for c in C.ravel()],
    )
    return found.fun if found.status == 0 else np.inf


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["plain", "steep", "whole", "missing"]))
def test_transport_is_the_linear_program(seed, kind):
    rng = np.random.default_rng(seed)
    k, n = rng.integers(1, 6), rng.integers(1, 25)
    C = rng.random((k, n)) * 10
    if kind == "steep":
        C = np.exp(C)
    elif kind == "whole":
        C = np.round(C)
    elif kind == "missing":
        C[rng.random((k, n)) < 0.25] = np.inf
    w = rng.integers(1, 9, n).astype(float)
    most = w.sum() / k * rng.uniform(0.8, 2, k)
    least = np.where(rng.random(k) < 0.5, 0.0, most * rng.uniform(0, 0.7, k))
    truth = by_linear_program(C, w, least, most)
    for prices in (np.zeros(k), rng.normal(size=k) * 3):
        x = np.empty((k, n))
        assert assign(C, w, least, most, prices, x) == np.isfinite(truth)
        if np.isfinite(truth):
            assert (np.where(x > 0, C, 0) * x).sum() == pytest.approx(truth, rel=1e-9, abs=1e-9)
            assert x.min() >= 0
            assert x.sum(axis=0) == pytest.approx(w)
            assert (x.sum(axis=1) <= most * (1 + 1e-9)).all()
            assert (x.sum(axis=1) >= least * (1 - 1e-9)).all()
            # people at the optimum's prices are where it is cheapest
            cheapest = (C + prices[:, None]).min(axis=0)
            assert (np.where(x > 1e-9, C + prices[:, None] - cheapest, 0) <= 1e-8 * (1 + abs(cheapest))).all()


def least_cost(D, w, least, most, plan, t):
    """City-wide cost of a plan with limited room, by a linear program."""
    F = (D[:, plan] ** 2).T
    people = w.sum()
    if np.isinf(t):
        for top in np.unique(F):
            if np.isfinite(by_linear_program(np.where(top >= F, 0.0, np.inf), w, least[plan], most[plan])):
                return top
        return np.inf
    costs = F if t == 0 else np.expm1(t * F) / t
    unit = costs.min(axis=0).max() or 1.0  # older solvers give up on numbers of 1e80
    costs = np.where(costs > 1e15 * unit, np.inf, costs / unit)
    total = unit * by_linear_program(costs, w, least[plan], most[plan])
    return total / people if t == 0 else np.log1p(t * total / people) / t


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), t=st.sampled_from([0.0, 0.01, 0.3, 2.0, np.inf]))
def test_plans_with_limited_room_against_every_choice(seed, t):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 12), rng.integers(2, 7)
    D = rng.uniform(0, 3, (n, m))
    w = rng.integers(1, 9, n).astype(float)
    n_fixed = int(rng.integers(0, 2))
    fixed, k = rng.permutation(m)[:n_fixed], int(rng.integers(1, m - n_fixed + 1))
    most = w.sum() / (k + n_fixed) * rng.uniform(0.9, 2.0, m)
    least = np.where(rng.random(m) < 0.3, 0.3 * most, 0.0)
    truth = min(least_cost(D, w, least, most, plan, t) for plan in every_plan(m, k, fixed))
    if np.isinf(truth):
        with pytest.raises(ValueError, match=r"room|people"):
            site_path(
                D,
                k,
                t=[t],
                sample_weight=w,
                fixed_sites=fixed,
                capacity=Capacity(most, least),
                random_state=0,
            )
        return
    path = site_path(
        D, k, t=[t], sample_weight=w, fixed_sites=fixed, capacity=Capacity(most, least), random_state=0
    )
    assert path.city_cost[0] == pytest.approx(truth, rel=1e-7, abs=1e-10)  # few choices: all are tried
    assert path.bound[0] <= truth * (1 + 1e-9) + 1e-12
    sites, shares = path.sites[0], path.shares(0)
    load = w @ shares
    assert (load <= most[sites] * (1 + 1e-9)).all()
    assert (load >= least[sites] * (1 - 1e-9)).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(n))
    assert ((shares > 1e-9).sum(axis=1) > 1).sum() <= len(sites) - 1
    people, F = (w[:, None] * shares), D[:, sites] ** 2
    assert slow_cost(F[people > 0], people[people > 0], t) == pytest.approx(
        path.city_cost[0], rel=1e-7, abs=1e-10
    )


def test_room_is_kept_along_the_whole_dial():
    D, w = city(300, 25, seed=1)
    most = 1.1 * w.sum() / 4
    path = site_path(D, 4, t=[0, 0.1, 1, 10, 1e4, np.inf], sample_weight=w, capacity=most, random_state=0)
    free = site_path(D, 4, t=path.t, sample_weight=w, random_state=0)
    assert (path.bound <= path.city_cost).all()
    assert (path.city_cost >= free.bound).all()
    for i in range(len(path.t)):
        assert (w @ path.shares(i)).max() <= most * (1 + 1e-9)
        assert set(path.served_by(i)) <= set(path.sites[i])


def test_ample_room_changes_nothing():
    D, w = city(300, 25, seed=1)
    free = site_path(D, 3, t=[0, 1, np.inf], sample_weight=w, random_state=0)
    ample = site_path(D, 3, t=[0, 1, np.inf], sample_weight=w, capacity=w.sum(), random_state=0)
    assert ample.city_cost == pytest.approx(free.city_cost, rel=1e-6)


@pytest.mark.parametrize(
    ("capacity", "sentence"),
    [
        (10, "2 facilities can serve at most 20 people, but there are 30"),
        (Capacity(least=20), "2 facilities must serve at least 40 people, but there are only 30"),
        ([10, 20], "one for each of the 3 sites"),
        (-1, "0 or more"),
        (Capacity(5, 9), "at least 9 and at most 5"),
        ([np.nan, 1, 1], "0 or more"),
    ],
)
def test_bad_capacities_get_a_sentence(capacity, sentence):
    with pytest.raises(ValueError) as raised:
        site_path(np.ones((30, 3)), 2, t=[0], capacity=capacity)
    assert sentence in str(raised.value)


def test_the_plane_keeps_room_and_costs_what_it_says():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(120, 2)), rng.normal(size=(80, 2)) * 0.2 + 2])
    w = rng.integers(0, 9, len(X)).astype(float)
    most, fixed, dial = 1.1 * w.sum() / 4, [[0.0, 0.0]], [10.0, 0.0, 0.3, np.inf]
    path = capacity_path(X, 3, most, t=dial, sample_weight=w, fixed_centers=fixed, random_state=0)
    free = tilted_path(X, 3, t=dial, criterion="city", sample_weight=w, fixed_centers=fixed, random_state=0)
    for i, t in enumerate(dial):
        C, shares = path.centers[i], path.shares(i)
        assert C[3].tolist() == [0.0, 0.0]
        assert (w @ shares).max() <= most * (1 + 1e-9)
        people, F = w[:, None] * shares, ((X[:, None] - C[None]) ** 2).sum(axis=2)
        assert people.sum() == pytest.approx(w.sum())
        cost = slow_cost(F[people > 0], people[people > 0], t)
        assert cost == pytest.approx(path.city_cost[i], rel=1e-6)
        # no assignment with room left is cheaper than this one
        truth = least_cost(np.sqrt(F), w, np.zeros(4), np.full(4, most), [0, 1, 2, 3], t)
        assert cost == pytest.approx(truth, rel=1e-6)
        assert cost >= free.city_cost[i] * (1 - 1e-3)


def test_ample_room_in_the_plane_is_the_free_plan():
    X = np.random.default_rng(0).normal(size=(200, 2))
    free = tilted_path(X, 3, t=[0.0, 1.0], criterion="city", random_state=0)
    ample = capacity_path(X, 3, 200, t=[0.0, 1.0], random_state=0)
    assert (ample.city_cost <= free.city_cost * (1 + 1e-4)).all()


def test_limits_for_each_facility_in_the_plane():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    path = capacity_path(X, 2, Capacity([1, 3], [1, 0]), t=[0.0], random_state=0)
    assert path.shares(0).sum(axis=0) == pytest.approx([1, 3])
    with pytest.raises(ValueError, match="2 facilities can serve at most 3 people, but there are 4"):
        capacity_path(X, 2, [1, 2])


def test_far_strays_at_a_steep_tilt_do_not_lead_astray():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(700, 2)) * 0.3, rng.normal(size=(270, 2)) * 1.2, rng.uniform(-4, 4, (30, 2))]
    )
    path = capacity_path(X, 8, 138, t=[5.0, 100.0], random_state=0)
    for i, t in enumerate(path.t):
        shares, F = path.shares(i), ((X[:, None] - path.centers[i][None]) ** 2).sum(axis=2)
        assert shares.sum(axis=0).max() <= 138 * (1 + 1e-9)
        assert slow_cost(F[shares > 0], shares[shares > 0], t) == pytest.approx(path.city_cost[i], rel=1e-6)


def test_a_dial_walked_on_stand_ins_ends_where_one_walked_on_all_residents_does(monkeypatch):
    X = np.random.default_rng(5).normal(size=(2_500, 2))
    dial = [0.0, 0.5, 3.0]
    quick = capacity_path(X, 3, 900, t=dial, random_state=0)
    monkeypatch.setattr(plane, "WALK", len(X))
    slow = capacity_path(X, 3, 900, t=dial, random_state=0)
    np.testing.assert_allclose(quick.city_cost, slow.city_cost, rtol=5e-3)
    for i in range(3):
        assert quick.shares(i).sum(axis=0).max() <= 900 + 1e-6
