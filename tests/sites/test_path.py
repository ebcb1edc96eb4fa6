"""The dial over sites against every choice of sites, and at its edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sites.truth import DIAL, brute_force, city, site_problems, slow_cost
from tkm_core import UnreachableError, site_path


@settings(max_examples=200, deadline=None)
@given(problem=site_problems(), dials=st.sets(st.sampled_from(DIAL), min_size=1, max_size=3))
def test_bound_is_below_and_cost_above_the_optimum_and_the_proof_closes(problem, dials):
    D, w, k, fixed = problem
    dials = sorted(dials)
    truth = np.array([brute_force(D, w, k, fixed, t) for t in dials])
    if np.isinf(truth).any():
        with pytest.raises(UnreachableError):
            site_path(D, k, t=dials, sample_weight=w, fixed_sites=fixed, random_state=0)
        return
    path = site_path(D, k, t=dials, sample_weight=w, fixed_sites=fixed, random_state=0)
    noise = 1e-9 * truth + 1e-12
    assert (path.bound <= truth + noise).all()
    assert (path.city_cost >= truth - noise).all()
    better = path.improve(20.0)
    assert (better.bound <= truth + noise).all()
    assert better.city_cost == pytest.approx(truth, rel=1e-8, abs=1e-12)
    assert better.proved.all()
    assert (better.gap >= 0).all()


@settings(max_examples=60, deadline=None)
@given(problem=site_problems())
def test_costs_and_assignments_are_those_of_the_sites(problem):
    D, w, k, fixed = problem
    try:
        path = site_path(D, k, t=DIAL, sample_weight=w, fixed_sites=fixed, random_state=1)
    except UnreachableError:
        return
    live = w > 0
    for i, t in enumerate(DIAL):
        sites = path.sites[i]
        assert len(set(sites)) == k + len(fixed)
        assert list(sites[k:]) == list(fixed)
        served = path.served_by(i)
        d = D[:, sites].min(axis=1)
        assert (D[live, served[live]] == d[live]).all()
        assert np.array_equal(served == -1, np.isinf(d))
        assert path.city_cost[i] == pytest.approx(slow_cost(d[live] ** 2, w[live], t), rel=1e-9, abs=1e-12)


def test_the_same_seed_gives_the_same_path():
    D, w = city()
    one, two = (site_path(D, 4, sample_weight=w, random_state=3) for _ in range(2))
    assert np.array_equal(one.sites, two.sites)
    assert np.array_equal(one.bound, two.bound)


def test_float32_and_any_memory_order_give_the_same_plan():
    D, w = city()
    small = D.astype(np.float32)
    expected = site_path(small.astype(np.float64), 3, sample_weight=w, random_state=0)
    for table in (small, np.asfortranarray(small)):
        path = site_path(table, 3, sample_weight=w, random_state=0)
        assert np.array_equal(path.sites, expected.sites)
        assert path.city_cost == pytest.approx(expected.city_cost)


@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e9, 1e150])
def test_units_do_not_matter(unit):
    D, w = city()
    t = np.array([0.0, 0.1, 3.0, np.inf])
    plain = site_path(D, 3, t=t, sample_weight=w, random_state=0)
    scaled = site_path(D * unit, 3, t=t / unit / unit, sample_weight=w * 1e-200, random_state=0)
    assert np.array_equal(plain.sites, scaled.sites)
    assert scaled.city_cost / unit / unit == pytest.approx(plain.city_cost)


def test_an_unsorted_dial_is_answered_in_its_order():
    D, w = city()
    t = [3.0, 0.0, np.inf, 0.1]
    path = site_path(D, 3, t=t, sample_weight=w, random_state=0)
    assert path.t.tolist() == t
    order = np.argsort(t)
    assert (np.diff(path.city_cost[order]) >= 0).all()


def test_a_facility_keeps_its_number_while_it_keeps_its_site():
    D, w = city()
    path = site_path(D, 5, sample_weight=w, random_state=0)
    for before, here in zip(path.sites[:-1], path.sites[1:], strict=True):
        stayed = np.intersect1d(before, here)
        assert all(list(before).index(site) == list(here).index(site) for site in stayed)


def test_progress_is_told_and_may_stop_the_work():
    D, w = city()
    told = []
    site_path(D, 3, sample_weight=w, random_state=0, progress=lambda done, text: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1.0
    path = site_path(D, 3, sample_weight=w, random_state=0)
    before = path.bound.copy()

    def stop(done, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        path.improve(10.0, progress=stop)
    assert (path.improve(5.0).bound >= before * (1 - 1e-12)).all()


@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (1, 5, 2), (5, 1, 1), (3, 3, 3), (200, 2, 2)], ids=str)
def test_one_resident_one_site_all_sites(n, m, k):
    D = np.random.default_rng(0).uniform(1, 2, (n, m))
    path = site_path(D, k, t=[0, 1, np.inf], random_state=0).improve(5)
    assert path.proved.all()
    assert path.city_cost == pytest.approx([brute_force(D, np.ones(n), k, [], t) for t in path.t])


def test_everyone_at_a_site_costs_nothing():
    path = site_path(np.zeros((4, 3)), 2, t=[0, 1, np.inf], random_state=0)
    assert path.city_cost.tolist() == [0, 0, 0]
    assert path.proved.all()
    assert (
        path.in_words(0) == "No plan on these sites has a lower city-wide cost at this setting of the dial."
    )


def test_the_gap_in_words():
    D, w = city()
    path = site_path(D, 4, t=[1.0], sample_weight=w, random_state=0)
    percent = 100 * path.gap[0]
    assert percent > 0
    assert f"{percent:.2g} %" in path.in_words(0)


@pytest.mark.parametrize(
    ("distances", "k", "more", "sentence"),
    [
        ([[1.0, np.nan]], 1, {}, "row 0, column 1"),
        ([[1.0, -1.0]], 1, {}, "a distance is 0 or more"),
        ([1.0, 2.0], 1, {}, "one row for each resident"),
        ([["a", "b"]], 1, {}, "table of numbers"),
        ([[1.0, 2.0]], 3, {}, "only 2 sites"),
        ([[1.0, 2.0]], 0, {}, "1 or more"),
        ([[1.0, 2.0]], 2, {"fixed_sites": [0]}, "of which 1 exists already"),
        ([[1.0, 2.0]], 1, {"fixed_sites": [2]}, "column numbers from 0 to 1"),
        ([[1.0, 2.0]], 1, {"t": [-1]}, "0 or more"),
        (
            [[1.0, 2.0], [np.inf, np.inf]],
            1,
            {},
            "1 resident (row 1; 1 of 2 people) cannot reach any of the 2 sites",
        ),
        ([[1.0, np.inf], [np.inf, 1.0]], 1, {}, "No choice of 1 new site can reach everyone"),
    ],
)
def test_bad_input_gets_a_sentence(distances, k, more, sentence):
    with pytest.raises(ValueError) as raised:
        site_path(distances, k, **more)
    assert sentence in str(raised.value)


def test_residents_whom_nobody_reaches_are_named():
    with pytest.raises(UnreachableError) as raised:
        site_path([[1.0], [np.inf], [2.0], [np.inf]], 1)
    assert raised.value.rows.tolist() == [1, 3]
