"""Numbers that were made to break the solver: it ends, and answers right or with a sentence."""

import subprocess
import sys

import numpy as np
import pytest

from tests.clustering.hostile import problem, solve
from tests.clustering.problems import enclosing_ball
from tkm_core import METHODS, Residents, TiltedKMeans, evaluate, make_plan, run_method, tilted_path
from tkm_core.clustering import path
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.descent import Problem, descend
from tkm_core.clustering.search import Search

RNG = np.random.default_rng(0)
PLACES = RNG.normal(size=(4, 2))[RNG.integers(4, size=60)]
NOISY = PLACES + 1e-9 * RNG.normal(size=PLACES.shape)
CITY = RNG.normal(size=(80, 2))


@pytest.mark.parametrize("seed", [1, 101, 201])
@pytest.mark.nightly
def test_a_hundred_hostile_problems(seed):
    """In a process of their own, which ends itself when a problem takes too long: a hang fails, and holds up nobody."""
    command = [sys.executable, "-m", "tests.clustering.hostile", "--count", "100", "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "100 problems: 0 failed" in done.stdout


@pytest.mark.parametrize("seed", [411, 492, 952, 1216, 10610])
def test_problems_that_longer_runs_found(seed):
    """A row without weight far away, a cost that was all rounding, a unit too large to square, a Gini above 1."""
    assert solve(problem(seed))


@pytest.mark.parametrize("criterion", ["cluster", "city"])
@pytest.mark.parametrize("t", [0.5, 10.0, 1e4])
def test_places_with_a_little_noise_and_a_facility_for_each(t, criterion):
    """The cost is so small that it used to round below zero, and a search never stopped finding a lower one."""
    model = TiltedKMeans(8, t=t, criterion=criterion, random_state=0).fit(NOISY)
    assert 0 <= model.city_cost_ < 1e-17
    assert 0 <= model.tilted_sse_ < 1e-16
    found = tilted_path(NOISY, 6, t=[0.0, 0.5, t], criterion=criterion, random_state=0)
    assert (found.city_cost >= 0).all() and (found.tilted_sse >= 0).all()


@pytest.mark.parametrize("t", [1.0, 1e6])
def test_many_residents_at_few_places_cost_what_the_definition_says(t):
    """The logarithm of a long sum is rounded more coarsely than these costs are small."""
    rng = np.random.default_rng(2)
    many = rng.normal(size=(5, 2))[rng.integers(5, size=70_000)] + 1e-9 * rng.normal(size=(70_000, 2))
    model = TiltedKMeans(5, t=t, scale=1.0, random_state=0, n_init=1).fit(many)
    judged = evaluate(many, model.cluster_centers_, t=t)
    assert model.city_cost_ == pytest.approx(judged.city_cost, rel=1e-6)
    assert model.tilted_sse_ == pytest.approx(judged.tilted_sse, rel=1e-6)


@pytest.mark.parametrize("t", [0.0, 1.0, 1e6, np.inf])
@pytest.mark.parametrize("d", [2, 20])
def test_a_descent_does_not_chase_the_last_digit(d, t):
    """Four places whose residents differ in the last digit: a step there is rounding, and there is always one more."""
    rng = np.random.default_rng(4)
    places = rng.normal(size=(4, d))[rng.integers(4, size=40)] + 1e-16 * rng.normal(size=(40, d))
    found = descend(Problem.of(places, np.ones(40), 3), places[:3], t)
    assert found.n_iter <= 20
    assert found.left <= 1e-6


@pytest.mark.parametrize("noise", [1e-16, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize("d", [2, 3, 5, 20])
def test_the_ball_around_crowds_is_that_around_their_places(d, noise):
    """Points close to each other make flat simplices: the walk went in circles there, and ended anywhere."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        places = rng.normal(size=(rng.integers(1, 5), d))
        moved = noise * rng.normal(size=(len(places) * 8, d))
        crowds = np.repeat(places, 8, axis=0) + moved
        radius, at_places = (
            np.sqrt(((points - enclosing_ball(points, points[-1])) ** 2).sum(axis=1).max())
            for points in (crowds, places)
        )
        most = np.sqrt((moved**2).sum(axis=1).max())
        assert radius <= at_places + most + 1e-15 * np.sqrt(d)


@pytest.mark.parametrize(("places", "k", "seed"), [(4, 8, 0), (4, 4, 2), (5, 6, 3)])
def test_a_plan_for_few_places_with_a_little_noise(places, k, seed):
    rng = np.random.default_rng(seed)
    homes = ([1.4, 43.6] + 0.05 * rng.normal(size=(places, 2)))[np.arange(60) % places]
    plan = make_plan(Residents.from_lonlat(homes + 1e-9 * rng.normal(size=homes.shape)), k)
    assert max(plan.evaluation(i).largest_distance for i in range(len(plan))) < 0.01


def test_lower_means_by_more_than_a_share_and_more_than_rounding():
    assert clearly_lower(0.9, 1.0, 0.05, 0.0)
    assert not clearly_lower(0.96, 1.0, 0.05, 0.0)
    assert not clearly_lower(-2e-17, -1e-17, 1e-6, 1e-15), "a negative cost is rounding, not a gain"
    assert not clearly_lower(0.0, 1e-16, 1e-6, 1e-15)


def test_a_search_ends_even_if_every_move_counts_as_a_gain(monkeypatch):
    monkeypatch.setattr(Problem, "noise", lambda *_: -np.inf)
    search = Search(Problem.of(CITY, np.ones(len(CITY)), 3), np.zeros((0, 2)), "city")
    found = search.candidates(1.0, np.random.default_rng(0), 1)
    assert (np.abs(found) <= np.abs(CITY).max()).all()


def test_the_path_ends_even_if_every_plan_counts_as_lower(monkeypatch):
    handed = []
    monkeypatch.setattr(path, "clearly_lower", lambda *_: True)
    monkeypatch.setattr(path, "descend", lambda *a, **b: handed.append(1) or descend(*a, **b))
    tilted_path(CITY, 2, t=[0.0, 0.1, 1.0, 10.0], random_state=0)
    assert len(handed) <= 2 * (path.ROUNDS * 2 * 3 + 4 * path.SEARCHES) + 4 * 3


def test_where_every_cost_overflows_a_search_hands_out_facilities_and_no_old_memory():
    far = CITY * 1e200
    fixed = far[:1] * 2
    with np.errstate(over="ignore", invalid="ignore"):
        search = Search(Problem.of(far, np.ones(len(far)), 2), fixed, "city")
        found = search.candidates(1.0, np.random.default_rng(0), 3)
    assert (found[:, 2:] == fixed).all()
    assert np.isfinite(found).all()
    assert (np.abs(found[:, :2]) <= np.abs(far).max()).all()


@pytest.mark.parametrize("scale", [1e-160, 1e-40, 2.0**-30, 2.0**40, 1e140, 1e150])
@pytest.mark.parametrize("t", [0.0, 0.3, 30.0, np.inf])
def test_scale_makes_no_difference(scale, t):
    here = TiltedKMeans(3, t=t, random_state=0).fit(CITY)
    # t has the unit 1 / X²: where that cannot be written, only 0 and infinity can be compared
    there_t = t if t in (0.0, np.inf) else t / scale / scale
    if not np.isfinite(there_t) or (0 < there_t < 1e-300):
        there_t, here = 0.0, TiltedKMeans(3, t=0.0, random_state=0).fit(CITY)
    there = TiltedKMeans(3, t=there_t, random_state=0).fit(CITY * scale)
    np.testing.assert_allclose(there.cluster_centers_ / scale, here.cluster_centers_, rtol=1e-7, atol=1e-9)
    assert there.city_cost_ == pytest.approx(here.city_cost_ * scale * scale, rel=1e-6, abs=1e-315)


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_only_ratios_of_weights_matter(factor):
    weights = np.random.default_rng(3).random(len(CITY)) + 0.1
    here = TiltedKMeans(3, t=1.0, random_state=0).fit(CITY, sample_weight=weights)
    there = TiltedKMeans(3, t=1.0, random_state=0).fit(CITY, sample_weight=weights * factor)
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-9)
    judged = evaluate(CITY, here.cluster_centers_, t=1.0, sample_weight=weights * factor)
    usual = evaluate(CITY, here.cluster_centers_, t=1.0, sample_weight=weights)
    assert judged.gini == pytest.approx(usual.gini)
    assert judged.city_cost == pytest.approx(usual.city_cost)


def test_a_resident_who_counts_little_still_decides_at_infinite_t():
    weights = np.array([1.0, 1.0, 1e-300])
    model = TiltedKMeans(1, t=np.inf, random_state=0).fit([[0.0], [1.0], [9.0]], sample_weight=weights)
    assert model.cluster_centers_[0, 0] == pytest.approx(4.5)


@pytest.mark.parametrize("far", [1e12, 1e100, 1e300])
def test_fixed_facilities_however_far_do_not_move_and_disturb_nobody(far):
    fixed = np.array([[far, -far / 3], CITY[5]])
    model = TiltedKMeans(2, t=0.3, fixed_centers=fixed, random_state=0).fit(CITY)
    assert model.cluster_centers_[2:].tobytes() == fixed.tobytes()
    alone = TiltedKMeans(2, t=0.3, fixed_centers=CITY[5:6], random_state=0).fit(CITY)
    np.testing.assert_allclose(model.cluster_centers_[:2], alone.cluster_centers_[:2], rtol=1e-6)
    assert model.city_cost_ == pytest.approx(alone.city_cost_)
    found = tilted_path(CITY, 2, t=[0.0, 1.0], fixed_centers=fixed, random_state=0)
    assert all(centers[2:].tobytes() == fixed.tobytes() for centers in found.centers)


def test_a_town_far_from_the_origin_costs_what_its_facilities_cost():
    """At 1e9 a coordinate has steps of 1e-7: the costs are those of the facilities as they can be written."""
    town = CITY * 1e-6 + 1e9
    model = TiltedKMeans(3, t=0.0, random_state=0).fit(town)
    judged = evaluate(town, model.cluster_centers_)
    assert model.city_cost_ == pytest.approx(judged.sse, rel=1e-9)
    assert (model.cluster_centers_ >= town.min(axis=0)).all() and (
        model.cluster_centers_ <= town.max(axis=0)
    ).all()


@pytest.mark.parametrize("t", [1e6, 1e30, 1e300])
def test_points_on_a_line_in_space_at_a_strong_tilt(t):
    """The Hessian is singular to the last digit there: it used to end in a raw LinAlgError."""
    line = np.linspace(-1, 1, 30)[:, None] * np.ones((1, 4))
    model = TiltedKMeans(2, t=t, scale=1.0, random_state=0).fit(line)
    assert model.city_cost_ == pytest.approx(4 * (14.5 / 29 - 1 / 58) ** 2, rel=0.1)


def test_identical_points_at_infinite_t_are_answered_without_a_warning():
    with pytest.warns(match="Only 1 distinct") as said:
        model = TiltedKMeans(2, t=np.inf, random_state=0).fit(np.ones((9, 2)))
    assert len(said) == 1
    assert model.city_cost_ == 0
    assert (tilted_path(np.ones((9, 2)), 2, t=[0.0, np.inf], random_state=0).city_cost == 0).all()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("scale", [1e-160, 1e140])
def test_every_method_at_every_scale(name, scale):
    options = {"tkm": {"t": 0.0}, "fasttkm": {"t": 0.0, "max_iter": 30}, "nf": {"max_iter": 30}}.get(name, {})
    here = run_method(name, CITY, 4, random_state=0, **options)
    there = run_method(name, CITY * scale, 4, random_state=0, **options)
    # who is served from where; rounding may give facilities other numbers
    away = there.centers[there.labels] / scale
    np.testing.assert_allclose(away, here.centers[here.labels], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("option", ["dilation", "ball", "min_gain"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_mv_says_which_option_makes_no_sense(option, value):
    """A negative dilation used to fill the memory with facilities."""
    with pytest.raises(ValueError, match=f"{option} is {value}; it must be a number from 0 upwards"):
        run_method("mv", CITY, 3, **{option: value})


def test_a_wild_learning_rate_stays_in_the_city():
    model = TiltedKMeans(3, solver="sgd", learning_rate=1e300, max_iter=20, random_state=0).fit(CITY)
    assert np.isfinite(model.history_).all()
    assert (np.abs(model.cluster_centers_) <= np.abs(CITY).max()).all()


def test_distances_are_measured_at_every_scale():
    usual = evaluate(CITY, CITY[:3], t=0.5)
    tiny = evaluate(CITY * 1e-160, CITY[:3] * 1e-160)
    assert tiny.mean_distance == pytest.approx(usual.mean_distance * 1e-160)
    assert tiny.gini == pytest.approx(usual.gini)
    assert evaluate(CITY, [*CITY[:3], [1e300, 1e300]], t=0.5).city_cost == pytest.approx(usual.city_cost)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (
            lambda: TiltedKMeans(2).fit(CITY * 1e200),
            "X reaches from .* in column 1: squared distances would be",
        ),
        (lambda: tilted_path(CITY * 1e200, 2), "Check the coordinates, or divide them by a constant"),
        (lambda: evaluate(CITY * 1e120, CITY[:2] * 1e120), "A measure of the distances would be larger than"),
        (lambda: evaluate([[0.0], [1e200]], [[0.0]]), "squared distances would be larger than"),
        (
            lambda: TiltedKMeans(2).fit([[0.0], [1.0], [2.0]], sample_weight=[1e-308, 1.0, 1e300]),
            "1e-308 in row 0",
        ),
        (lambda: TiltedKMeans(2).fit([[0.0], [1.0]], sample_weight=[1e308, 1e308]), "adds up to more than"),
        (
            lambda: TiltedKMeans(1, scale=1.0).fit([[0.0], [1e9]], sample_weight=[1e300, 1e300]),
            "sum of squared distances",
        ),
    ],
)
def test_what_cannot_be_represented_gets_a_sentence(work, words):
    with pytest.raises(ValueError, match=words):
        work()
