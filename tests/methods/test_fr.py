"""FR and SFR: the program against scipy's, the bound against every plan, the rounding against its factors."""

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.truth import (
    cost,
    distances,
    fair_plans,
    fair_program,
    farthest_in_radii,
    radii,
    residents,
)
from tkm_core.methods import run_method, service_lp
from tkm_core.methods.cover import ball_filter
from tkm_core.methods.fr import _open, representatives, round_service
from tkm_core.methods.service_lp import FairService, fair_service


def quiet(fraction, text):
    """A reporter that listens to nobody."""


def record(seen, function):
    """The same method, which also writes down whose it was."""

    def recorded(self, *arguments):
        seen.append(self)
        return function(self, *arguments)

    return recorded


def serve(points, openings):
    """Cost share of each resident, filling up from the nearest opening."""
    shares = []
    for row in distances(points, points):
        left, share = 1.0, 0.0
        for u in np.argsort(row, kind="stable"):
            part = min(left, openings[u])
            share += part * row[u] ** 2
            left -= part
            if left <= 1e-12:
                break
        shares.append(share)
    return np.array(shares)


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 7])
@pytest.mark.parametrize("seed", range(4))
def test_program_has_the_value_of_the_one_written_out(seed, k, lattice):
    points, weights = residents(seed, n=45, d=1 + seed % 3, lattice=lattice)
    radius = radii(points, weights, k)
    found = fair_service(points, weights, k, radius, quiet)
    truth = fair_program(points, weights, k, radius)
    assert found.value == pytest.approx(truth, rel=1e-6, abs=1e-9)
    assert found.openings.sum() <= k + 1e-6
    assert (found.openings >= 0).all() and (found.openings <= 1).all()
    within = distances(points, points) <= radius[:, None] * (1 + 1e-9)
    assert (within @ found.openings >= 1 - 1e-6).all()
    assert float(weights @ found.shares) == pytest.approx(truth, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(found.shares, serve(points, found.openings), rtol=1e-5, atol=1e-6)


def test_program_is_below_every_plan_that_serves_all_within_their_radius():
    plans = 0
    for seed in range(12):
        points, weights = residents(seed, n=14, lattice=seed % 2 == 0)
        k = 2 + seed % 3
        radius = radii(points, weights, k)
        bound = run_method("fr", points, k, sample_weight=weights).details["lower_bound"] * weights.sum()
        for chosen in fair_plans(points, radius, k):
            plans += 1
            assert bound <= cost(points, weights, points[chosen]) * (1 + 1e-7) + 1e-9
    assert plans > 100


@pytest.mark.parametrize("method", ["fr", "sfr"])
@pytest.mark.parametrize("seed", range(8))
def test_rounded_plan_keeps_the_published_factors(seed, method):
    points, weights = residents(seed, n=70, d=1 + seed % 3, lattice=seed % 2 == 1)
    k = 2 + seed % 5
    found = run_method(method, points, k, sample_weight=weights)
    radius = radii(points, weights, k)
    assert len(found.centers) <= k
    if method == "fr":
        assert cost(points, weights, found.centers) <= 16 * found.details["lower_bound"] * weights.sum()
        assert farthest_in_radii(points, radius, found.centers) <= 8
    else:
        # a resident is 0.3 radii from a representative, whose own radius grew by at most 2 · 0.3
        assert farthest_in_radii(points, radius, found.centers) <= 0.3 + 8 * 1.6


@pytest.mark.parametrize("seed", range(20))
def test_rounding_of_openings_that_no_single_facility_can_follow(seed):
    """More towns than facilities, each holding most of a facility: the half-integral part has to decide."""
    rng = np.random.default_rng(seed)
    towns = int(rng.integers(12, 30))
    middles = rng.normal(size=(towns, 3)) * 100
    home = np.concatenate([np.arange(towns), rng.integers(0, towns, 60)])
    points = middles[home] + rng.normal(size=(len(home), 3)) * 0.01
    weights = rng.integers(1, 6, len(points)).astype(float)
    k = towns - int(rng.integers(1, max(2, towns // 12)))
    held = 1 - rng.dirichlet(np.full(towns, 50.0)) * (towns - k)
    openings = np.zeros(len(points))
    for town in range(towns):
        inside = np.flatnonzero(home == town)
        openings[inside] = held[town] * rng.dirichlet(np.ones(len(inside)))
    assert openings.sum() == pytest.approx(k)
    radius = np.full(len(points), distances(points, points).max())
    shares = serve(points, openings)
    service = FairService(openings, shares, float(weights @ shares), 0)
    chosen = round_service(points, weights, k, radius, service)
    assert len(set(chosen.tolist())) == k
    assert len({int(home[row]) for row in chosen}) == k
    assert cost(points, weights, points[chosen]) <= 16 * service.value


@pytest.mark.parametrize(("opened", "count"), [(0.874, 1), (0.876, 2)])
def test_a_town_is_merged_up_to_twice_the_root_of_twice_its_share(opened, count):
    """Town 1 is served 1 away but for `opened`: its share is 1 - opened, and 1 is 2·sqrt(2·share) at 7/8."""
    points = np.array([[0.0], [1.0], [1000.0]])
    openings = np.array([1.0, opened, 1 - opened])
    found = representatives(points, np.full(3, 1000.0), serve(points, openings))
    assert len(found.chosen) == count


@pytest.mark.parametrize("seed", range(12))
def test_representatives_have_half_an_opening_each_and_are_near_everyone(seed):
    points, weights = residents(seed, n=60, d=1 + seed % 3, lattice=seed % 2 == 1)
    k = 2 + seed % 5
    radius = radii(points, weights, k)
    service = fair_service(points, weights, k, radius, quiet)
    ball = np.minimum(radius, np.sqrt(2 * service.shares)) * (1 + 1e-6)
    chosen = representatives(points, radius, service.shares).chosen
    away = distances(points, points)
    inside = away[chosen] <= ball[chosen, None]
    assert (inside.sum(axis=0) <= 1).all(), "the balls do not meet"
    assert (inside @ service.openings >= 0.5 - 1e-6).all()
    assert (away[:, chosen] <= 2 * ball[:, None]).any(axis=1).all()


@given(st.integers(2, 14), st.integers(0, 10_000), st.booleans())
@settings(max_examples=300, deadline=None)
def test_whoever_closes_has_their_nearest_alternative_open(n, seed, lattice):
    rng = np.random.default_rng(seed)
    sites = rng.permutation(49)[:n] if lattice else rng.normal(size=2 * n)[:n] * 9
    apart = distances(*[np.column_stack([sites // 7, sites % 7]) if lattice else sites[:, None]] * 2)
    np.fill_diagonal(apart, np.inf)
    other = apart.argmin(axis=1)
    whole = rng.random(n) < rng.random()
    k = int(np.ceil(whole.sum() + (~whole).sum() / 2))
    opened = _open(whole, other, rng.random(n), k)
    assert opened.sum() <= k
    assert opened[whole].all()
    assert opened[other[~opened]].all()


@pytest.mark.parametrize("seed", range(4))
def test_sfr_that_thins_nothing_is_fr(seed):
    points, weights = residents(seed, n=60)
    whole = run_method("fr", points, 4, sample_weight=weights)
    for delta in (0.0, 1e-9):
        thinned = run_method("sfr", points, 4, sample_weight=weights, delta=delta)
        assert thinned.rows.tolist() == whole.rows.tolist()
        assert thinned.details["lp_value"] == pytest.approx(whole.details["lower_bound"])
    assert run_method("sfr", points, 4, sample_weight=weights).details["representatives"] < len(points)


@pytest.mark.parametrize(("seed", "d"), [(5, 1), (9, 1), (12, 2), (13, 3)])
def test_sfr_has_a_solution_where_the_plain_radius_has_none(seed, d):
    """Whom a representative stands for may lie within its radius, and the representatives beyond it."""
    points, weights = residents(seed, n=60, d=d)
    radius = radii(points, weights, 5)
    cover = ball_filter(points, radius, 0.9)
    population = np.bincount(cover.owner, weights)
    with pytest.raises(ValueError, match="Infeasible"):
        fair_service(points[cover.chosen], population, 5, radius[cover.chosen], quiet)
    assert len(run_method("sfr", points, 5, sample_weight=weights, delta=0.9).centers) <= 5


def test_metres_and_millions_of_people_give_the_same_plan():
    points, weights = residents(3, n=60)
    plain = run_method("fr", points, 4, sample_weight=weights)
    scaled = run_method("fr", points * 2**13 + 2**22, 4, sample_weight=weights * 1e6)
    assert scaled.rows.tolist() == plain.rows.tolist()
    assert scaled.details["lower_bound"] == pytest.approx(plain.details["lower_bound"] * 2**26, rel=1e-6)


def test_cancelling_inside_the_linear_program(monkeypatch):
    """The reporter is heard while the solver runs, not only between its runs."""
    monkeypatch.setattr(service_lp, "HEARTBEAT", 0.0)
    points, weights = residents(1, n=200)
    said, programs = [], []
    monkeypatch.setattr(service_lp._Master, "require_cost", record(programs, service_lp._Master.require_cost))

    def stop(fraction, text):
        said.append(text)
        if said.count("Linear program, round 1") == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_method("fr", points, 4, sample_weight=weights, progress=stop)
    assert programs[0].highs.getModelStatus() == highspy.HighsModelStatus.kInterrupt


def test_negative_delta_is_refused():
    with pytest.raises(ValueError, match="delta is -1"):
        run_method("sfr", [[0.0], [1.0]], 1, delta=-1)
