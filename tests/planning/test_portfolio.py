"""The portfolio: the fewest plans that stand for all, against every choice of plans."""

from itertools import combinations

import numpy as np
import pytest

from tkm_core.evaluation import evaluate
from tkm_core.planning import Plan, make_plan, short_portfolio
from tkm_core.planning.portfolio import excesses, smallest_cover
from tkm_core.residents.samples import load_sample
from tkm_core.stories import portfolio_story, tell_portfolio


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_sample("generated", n=400), 4, t=[0, 0.05, 0.1, 0.3, 1, 3, 10, np.inf])


def slow_excess(plan: Plan, i: int, j: int) -> float:
    """What plan j costs at the t of i, over what plan i costs there, by the general measure."""
    home, t = plan.residents, plan.t[i] / plan.residents.scale**2
    own, other = (
        evaluate(home.xy, plan.centers_xy(a), t=t, sample_weight=home.weights).city_cost for a in (i, j)
    )
    return max(other / own - 1, 0.0)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.05, 0.3])
def test_no_fewer_plans_would_do(plan: Plan, tolerance: float) -> None:
    m = len(plan)
    excess = np.array([[slow_excess(plan, i, j) for j in range(m)] for i in range(m)])
    np.testing.assert_allclose(excesses(plan), excess, atol=1e-9)
    few = plan.portfolio(tolerance)
    for choice in few:
        assert choice.excess <= tolerance + 1e-9
        assert choice.excess == pytest.approx(max(excess[i, choice.i] for i in choice.stands_for), abs=1e-9)
    assert sorted(i for choice in few for i in choice.stands_for) == list(range(m))
    for chosen in combinations(range(m), len(few) - 1):
        assert not chosen or (excess[:, chosen].min(axis=1) > tolerance).any(), "fewer would do"


def test_a_cover_is_the_smallest_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        covers = (rng.random((7, 7)) < 0.3) | np.eye(7, dtype=bool)
        chosen = smallest_cover(covers, rng.random((7, 7)))
        assert covers[:, chosen].any(axis=1).all()
        fewest = next(
            size
            for size in range(1, 8)
            if any(covers[:, list(some)].any(axis=1).all() for some in combinations(range(7), size))
        )
        assert len(chosen) == fewest


def test_distances_in_bins_tell_the_same(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = excesses(plan)
    monkeypatch.setattr("tkm_core.planning.portfolio.BINS", 300)
    np.testing.assert_allclose(excesses(plan), whole, atol=2e-3)


def test_it_is_told_in_a_sentence_each(plan: Plan) -> None:
    lines = tell_portfolio(plan, 0.05, people="homes")
    assert len(lines) == 1 + len(plan.portfolio(0.05))
    assert "all you need to discuss" in lines[0] and "within 5 %" in lines[0]
    assert all("The farthest home is" in line for line in lines[1:])


def test_coarser_until_four_are_enough(plan: Plan) -> None:
    tolerance, few = short_portfolio(plan)
    assert few == plan.portfolio(tolerance)
    assert len(few) <= 4
    coarser = (0.01, 0.02, 0.05, 0.1, 0.2)
    assert all(len(plan.portfolio(finer)) > 4 for finer in coarser[: coarser.index(tolerance)])
    told = portfolio_story(plan, people="homes")
    assert told.settings == tuple(choice.i for choice in few)
    assert f"within {100 * tolerance:g} %" in told.heading


def test_one_plan_is_its_own_portfolio() -> None:
    alone = make_plan(load_sample("generated", n=100), 2, t=[0.3])
    assert [choice.stands_for for choice in alone.portfolio()] == [(0,)]
    with pytest.raises(ValueError, match="tolerance is -1"):
        alone.portfolio(-1)


def test_a_portfolio_asks_only_how_far_people_go(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other measure of every setting would take minutes with millions of residents."""
    for i in range(len(plan)):
        found = plan.evaluation(i)
        np.testing.assert_array_equal(plan.trips(i).distance, found.distance)
        np.testing.assert_array_equal(plan.trips(i).facility, found.labels)
    np.testing.assert_array_equal(plan.reference_trips().distance, plan.reference_evaluation().distance)
    truth = excesses(plan)
    monkeypatch.setattr(Plan, "evaluation", None)
    np.testing.assert_array_equal(excesses(plan), truth)
