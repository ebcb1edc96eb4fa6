"""The proof of a plan whose facilities may stand anywhere."""

import numpy as np
import pandas as pd
import pytest

import tkm_core as tkm
from tkm_core.planning import Rules


@pytest.fixture(scope="module")
def town():
    return tkm.load_sample("san-francisco")


def test_every_setting_is_proved_at_its_own_cost(town):
    existing = town.lonlat[[3, 70]]
    plan = tkm.make_plan(town, 3, t=[0, 0.3, np.inf], fixed_lonlat=existing)
    for i in range(len(plan)):
        found = plan.prove(i, 20)
        assert found.cost / plan.scale**2 == pytest.approx(plan.cost_at(i, float(plan.t[i])), rel=1e-9)
        assert (found.n_new, found.n_existing) == (3, 2)
        assert found.gap < 1e-3
        assert "3 new facilities anywhere" in found.sentence


def test_groups_that_count_the_same_are_weighted_in_the_proof():
    few = np.random.default_rng(0).random(300) < 0.2
    table = pd.DataFrame(
        {
            "x": 500_000 + 100 * (np.arange(300) % 17),
            "y": 4_800_000 + 100 * (np.arange(300) // 17),
            "kind": np.where(few, "few", "many"),
        }
    )
    grouped = tkm.load_residents(table, x="x", y="y", group="kind", crs="EPSG:32631")
    plan = tkm.make_plan(grouped, 3, t=[0.3], rules=Rules(equal_groups=True))
    found = plan.prove(0, 20)
    assert found.cost / plan.scale**2 == pytest.approx(plan.cost_at(0, 0.3), rel=1e-9)
    assert found.gap < 1e-3


def test_rules_it_does_not_know_are_refused(town):
    plan = tkm.make_plan(town, 2, t=[0], capacity=500_000)
    with pytest.raises(
        ValueError, match=r"may stand anywhere can be proven this way\. Each facility serves at most"
    ):
        plan.prove(0)
    plan = tkm.make_plan(town, 2, t=[0], sites=tkm.Sites(town.lonlat[:20]))
    with pytest.raises(ValueError, match="candidate sites"):
        plan.prove(0)


def test_nothing_new_is_proved_at_once(town):
    plan = tkm.make_plan(town, 0, t=[0], fixed_lonlat=town.lonlat[:2])
    assert plan.prove(0).proved
