"""The dial: it spans the choice for every city and every k, and says where its end is dominated."""

import numpy as np
import pytest

from tkm_core.clustering import TiltedPath
from tkm_core.planning import Plan, make_plan
from tkm_core.planning.dial import STOPS, dial_stops, distinct
from tkm_core.residents import Residents, load_sample
from tkm_core.stories import tell_plan


@pytest.fixture(scope="module")
def city() -> Residents:
    return load_sample("sacramento")


def idle(plan: Plan) -> float:
    """Share of the dial's steps at which neither the average nor the longest trip changes by 0.2 % of its range."""
    steps = [
        np.abs(np.diff(values)) / np.ptp(values)
        for values in (plan.curve.mean_distance, plan.curve.largest_distance)
    ]
    return float((np.maximum(*steps) < 0.002).mean())


@pytest.mark.parametrize("k", [1, 4, 28])
def test_the_dial_goes_from_kmeans_to_the_shortest_longest_trip_for_every_k(city, k) -> None:
    plan = make_plan(city, k)
    assert plan.t[0] == 0
    assert plan.t[-1] == np.inf
    assert (np.diff(plan.t) > 0).all()
    assert 30 <= len(plan) <= STOPS
    assert plan.evaluation(0).sse <= plan.baseline_evaluation().sse * 1.02
    most = plan.curve.largest_distance
    assert most[-1] <= most.min() * 1.001, "the last stop is the plan that leaves nobody far behind"
    assert idle(plan) < 0.2, "there are no long stretches at which nothing happens"


def test_with_many_facilities_stops_lie_where_the_old_dial_ended(city) -> None:
    few, many = make_plan(city, 2), make_plan(city, 28)
    unit = [plan.evaluation(0).sse / city.scale**2 for plan in (few, many)]
    middle = [float(plan.t[len(plan) // 2]) * sse for plan, sse in zip((few, many), unit, strict=True)]
    assert unit[0] > 10 * unit[1]
    assert 0.1 < middle[0] / middle[1] < 10, "in units of the mean squared distance both dials are alike"


def test_the_same_seed_gives_the_same_dial(city) -> None:
    first, again = (make_plan(city, 3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.t, again.t)
    np.testing.assert_array_equal(first.path.centers, again.path.centers)


def test_an_asked_t_is_a_stop_and_any_other_gives_the_nearest(city) -> None:
    plan = make_plan(city, 3, with_t=0.3141)
    assert plan.t[plan.index(0.3141)] == 0.3141
    for t in (0.02, 0.3, 5.0, 77.0):
        ratio = [abs(np.log(t / stop)) for stop in plan.t[1:-1]]
        assert plan.index(t) == 1 + int(np.argmin(ratio))
    assert float(f"{plan.t[5]:g}") == plan.t[5], "a link holds t exactly"


def test_existing_facilities_narrow_the_choice_not_the_dial(city) -> None:
    sites = city.lonlat[np.random.default_rng(1).choice(len(city), 24, replace=False)]
    plan = make_plan(city, 4, fixed_lonlat=sites)
    assert plan.t[-1] == np.inf
    assert len(plan) >= 25
    np.testing.assert_allclose(plan.centers_lonlat(7)[4:], sites, atol=1e-9)


def test_residents_who_all_live_at_a_facility_have_nothing_to_turn() -> None:
    town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.60], [1.50, 43.60]])
    plan = make_plan(town, 3)
    assert plan.t.tolist() == [0.0]
    assert dial_stops(town, 0, town.scaled).tolist() == [0.0]


def test_stops_of_many_residents_are_those_of_their_cells(monkeypatch) -> None:
    city = load_sample("generated", n=4000)
    start = make_plan(city, 3, t=[0]).baseline
    all_of_them = (monkeypatch.setattr("tkm_core.planning.dial.CELLS", 10_000), dial_stops(city, 3, start))[1]
    monkeypatch.setattr("tkm_core.planning.dial.CELLS", 1500)
    cells = dial_stops(city, 3, start)
    inner = slice(5, 35)
    np.testing.assert_allclose(np.log(cells[inner]), np.log(all_of_them[inner]), atol=0.5)


def test_stops_at_which_nothing_moves_are_left_out() -> None:
    way = np.array([0.0, 0.0, 0.001, 0.003, 0.005, 0.2, 0.2])[:, None, None] * np.ones((7, 1, 2))
    asked = np.array([False] * 2 + [True] + [False] * 4)
    assert distinct(way, np.ones(7), asked).tolist() == [True, False, True, False, True, True, True]


def line(stops: list[list[float]], homes: list[float]) -> Plan:
    """A plan on a line: `stops` are the sites at each setting, both in kilometres."""
    zeros = np.zeros(len(stops))
    town = Residents.from_lonlat([[2.0 + home / 111.2, 0.0] for home in homes])

    def scaled(places: list[float]) -> np.ndarray:
        xy = town.lonlat_to_xy(np.array([[2.0 + place / 111.2, 0.0] for place in places]))
        return (xy - town.origin) / town.scale

    centers = np.array([scaled(each) for each in stops])
    path = TiltedPath(
        np.arange(len(stops)) * 1.0, centers, zeros, zeros, zeros, zeros, zeros.astype(np.int64)
    )
    return Plan(town, len(stops[0]), 0, "city", path, centers[0])


def test_a_dominated_setting_is_known_and_said() -> None:
    homes = [0.0] * 5 + [4.0, 20.0, 28.0]
    # the longest trip is 4 km at the last two; only the last leaves the crowd for nothing
    plan = line([[0.0, 20.0], [0.0, 24.0], [2.0, 24.0]], homes)
    far = [
        max(min(abs(home - site) for site in sites) for home in homes)
        for sites in ([0, 20], [0, 24], [2, 24])
    ]
    assert far == [8, 4, 4]
    assert [plan.dominated(i) for i in range(3)] == [None, None, 1]
    assert tell_plan(plan, 2).detail_text.endswith(
        "Take t = 1 instead: there the longest trip is no longer, and the average trip is 1.0 km shorter."
    )
    assert "Take t" not in tell_plan(plan, 1).detail_text


@pytest.mark.parametrize("t", [0.04567, 0.3021, 7.777, 1e5])
def test_any_t_can_be_made_a_stop_and_is_a_plan_of_its_own(city, t) -> None:
    plan = make_plan(city, 4)
    wider = plan.with_stop(t)
    i = wider.index(t)
    assert wider.t[i] == t
    np.testing.assert_array_equal(np.delete(wider.path.centers, i, axis=0), plan.path.centers)
    assert wider.with_stop(t) is wider
    assert plan.with_stop(t) is wider, "it is placed once"
    # nobody of its neighbours has a lower cost at this t, and every facility stands still
    costs = [make_cost(city, plan.path.centers[side], t) for side in (i - 1, i) if 0 <= side < len(plan)]
    assert make_cost(city, wider.path.centers[i], t) <= min(costs) * (1 + 1e-9)
    assert wider.path.error[i] < 1e-3


def make_cost(city: Residents, sites: np.ndarray, t: float) -> float:
    """The city-wide tilted cost, written out with the largest term taken out."""
    squared = ((city.scaled[:, None] - sites[None]) ** 2).sum(axis=2).min(axis=1)
    top = (t * squared).max()
    return float((top + np.log(np.average(np.exp(t * squared - top), weights=city.weights))) / t)


def test_the_curve_of_a_plan_with_one_more_stop_is_that_of_all_its_stops(city) -> None:
    plan = make_plan(city, 3, t=[0, 0.1, 1, 10])
    assert len(plan.curve.t) == 4
    wider = plan.with_stop(0.3)
    fresh = Plan(city, 3, 0, "city", wider.path, plan.baseline)
    for name in ("mean_distance", "largest_distance", "gini"):
        np.testing.assert_allclose(getattr(wider.curve, name), getattr(fresh.curve, name))
    assert plan.with_stop(1.0) is plan
    assert plan.with_stop(float("nan")) is plan
