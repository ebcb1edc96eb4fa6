"""Two plans side by side: which facilities are the same under other numbers."""

import numpy as np

from tkm_core.planning import Plan, make_plan, one_setting, same_facilities
from tkm_core.residents import Residents
from tkm_core.stories import tell_numbers

TOWNS = np.array([[1.0, 43.0], [1.5, 43.0], [2.0, 43.0]])


def plan_for(k: int, existing: int) -> Plan:
    rng = np.random.default_rng(2)
    homes = np.repeat(TOWNS, [60, 40, 30], axis=0) + rng.normal(scale=0.01, size=(130, 2))
    kept = {"fixed_lonlat": TOWNS[:existing]} if existing else {}
    return one_setting(make_plan(Residents.from_lonlat(homes), k, t=[0.0], **kept), 0)


def test_facilities_that_are_the_same_are_named_with_both_numbers() -> None:
    two, three = plan_for(2, 0), plan_for(3, 0)
    told = tell_numbers(two, three, first="A", second="B")
    pairs = {
        int(two.numbers[one]): int(three.numbers[other])
        for other, one in enumerate(same_facilities(two, three))
        if one >= 0
    }
    differing = {one: other for one, other in pairs.items() if one != other}
    assert (told == "") == (not differing)
    for one, other in differing.items():
        assert f"{one} in A is {other} in B" in told or f"{one} is {other}" in told


def test_the_same_plan_and_existing_facilities_need_no_words() -> None:
    assert tell_numbers(plan_for(2, 0), plan_for(2, 0), first="A", second="B") == ""
    assert tell_numbers(plan_for(1, 2), plan_for(1, 2), first="A", second="B") == ""
