"""Two plans for the same residents: which facilities are the same, and who is served by another."""

from itertools import permutations

import numpy as np
import pytest

from tkm_core.planning import Plan, make_plan, moves, one_setting, same_facilities
from tkm_core.residents import Residents, load_sample

SITES = [[-27.1, 45.05], [-26.9, 44.95], [-27.0, 45.1]]


@pytest.fixture(scope="module")
def town() -> Residents:
    return load_sample("generated", n=400)


def at(town: Residents, k: int, t: float = 0.0, **more) -> Plan:
    return one_setting(make_plan(town, k, t=[t], **more), 0)


def test_one_setting_measures_what_the_whole_plan_measures(town: Residents) -> None:
    plan = make_plan(town, 3, t=[0.0, 0.4, 2.0])
    alone = one_setting(plan, 1)
    assert alone.t.tolist() == [0.4]
    assert alone.evaluation(0).mean_distance == plan.evaluation(1).mean_distance
    assert alone.curve.mean_distance[0] == plan.curve.mean_distance[1]
    np.testing.assert_array_equal(alone.centers_lonlat(0), plan.centers_lonlat(1))


def test_existing_facilities_are_themselves_and_the_rest_is_paired_at_least_distance(town: Residents) -> None:
    before = at(town, 3, fixed_lonlat=SITES)
    after = at(town, 3, 5.0, fixed_lonlat=SITES, closed=[0])
    pairs = same_facilities(before, after)
    assert after.numbers[3:].tolist() == before.numbers[pairs[3:]].tolist() == [2, 3]
    # the closed one is no new one, so three stand against three
    one, two = before.centers_xy(0)[:3], after.centers_xy(0)[:3]
    best = min(permutations(range(3)), key=lambda order: np.linalg.norm(one[list(order)] - two, axis=1).sum())
    assert tuple(pairs[:3]) == best


def test_moves_are_those_of_a_count_by_hand(town: Residents) -> None:
    before, after = at(town, 3), at(town, 4, 2.0)
    pairs = same_facilities(before, after)
    then, now = before.evaluation(0), after.evaluation(0)
    counted: dict[tuple[str, str], list[float]] = {}
    for one, other, near, far, people in zip(
        then.labels, now.labels, now.distance, then.distance, town.weights, strict=True
    ):
        if pairs[other] != one:
            sums = counted.setdefault((before.title(int(one)), after.title(int(other))), [0.0, 0.0])
            sums[0] += people
            sums[1] += people * (near - far)
    found = moves(before, after)
    assert {(move.before, move.after): move.people for move in found} == {
        way: people for way, (people, _) in counted.items()
    }
    for move in found:
        people, metres = counted[move.before, move.after]
        assert move.change == pytest.approx(metres / people)
    assert [move.people for move in found] == sorted((move.people for move in found), reverse=True)


def test_nobody_moves_between_a_plan_and_itself(town: Residents) -> None:
    plan = at(town, 2, fixed_lonlat=SITES)
    assert moves(plan, plan) == []


def test_those_of_a_closed_facility_move_to_others(town: Residents) -> None:
    today, after = at(town, 0, fixed_lonlat=SITES), at(town, 0, fixed_lonlat=SITES, closed=[2])
    found = moves(today, after)
    left = today.evaluation(0).population[2]
    assert sum(move.people for move in found) == pytest.approx(left)
    assert {move.before for move in found} == {"Existing facility 3"}
    assert all(move.change >= 0 for move in found)
