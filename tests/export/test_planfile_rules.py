"""Plans that follow rules in plan files and tables."""

import json
from dataclasses import replace

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan, table
from tkm_core.planning import ByTable, make_plan
from tkm_core.residents import Residents, Sites, Zones

MIDDLE = (1.44, 43.6)


def town() -> tuple[Residents, Sites, np.ndarray]:
    rng = np.random.default_rng(0)
    home = Residents.from_lonlat(
        MIDDLE + rng.normal(0, 0.02, (30, 2)), rng.integers(1, 9, 30), keep_suspect=True
    )
    sites = Sites(MIDDLE + rng.normal(0, 0.02, (7, 2)), ("Depot\n<b>", *"bcdefg"), [1e6] * 6 + [np.inf])
    return home, sites, rng.uniform(1, 30, (30, 7))


def test_a_plan_under_rules_comes_back_the_same() -> None:
    home, sites, _ = town()
    zone = Zones((shapely.box(1, 43, 1.45, 44),), ("West",))
    plan = make_plan(
        home, 2, sites=sites, only_in=zone, capacity=tkm.Capacity(1e6, 1), t=[0, 1, np.inf], random_state=3
    )
    again = restore_plan(read_plan_file(plan_json(plan, 1, residents=True)))
    assert again.same_data
    assert again.plan.rules == plan.rules
    assert again.plan.rules.sentences() == plan.rules.sentences()
    assert np.allclose(again.plan.path.centers, plan.path.centers)
    assert again.plan.evaluation(1).mean_distance == pytest.approx(plan.evaluation(1).mean_distance)
    assert json.loads(plan_json(make_plan(home, 2, t=[0.0]), 0))["format_version"] == 2


def test_a_plan_by_a_table_says_which_table_it_needs() -> None:
    home, sites, minutes = town()
    travel = ByTable(minutes, "min", sites.lonlat, "walks.csv")
    plan = make_plan(home, 2, rules=tkm.Rules(travel, sites), t=[0.0, 1.0])
    saved = read_plan_file(plan_json(plan, 0))
    with pytest.raises(ValueError, match=r"taken from your table “walks.csv”"):
        restore_plan(saved, home)
    with pytest.raises(ValueError, match="not what the distances of the plan were measured by"):
        restore_plan(saved, home, travel=ByTable(minutes + 1, "min", sites.lonlat, "walks.csv"))
    assert restore_plan(saved, home, travel=travel).plan.evaluation(0).mean_distance == pytest.approx(
        plan.evaluation(0).mean_distance
    )
    rows = table(plan, 0)
    assert {"mean_distance_min", "max_distance_min", "name"} <= set(rows.columns)
    assert "distance_min" in table(plan, 0, "allocations").columns


@pytest.mark.parametrize(
    ("part", "value"),
    [("travel", {"kind": "magic", "unit": "m"}), ("only_in", {"shapes": ["zz"], "names": [], "name": ""}), ("most", -3),
     ("sites", {"lonlat": [[999, 0]], "names": [], "capacity": None, "cost": None, "name": ""}), ("equal_groups", 7)],
)  # fmt: skip
def test_forged_rules_get_a_sentence(part: str, value: object) -> None:
    home, sites, _ = town()
    document = json.loads(plan_json(make_plan(home, 2, sites=sites, t=[0.0]), 0))
    document["rules"][part] = value
    with pytest.raises(PlanFileError, match="damaged"):
        read_plan_file(json.dumps(document).encode())


def test_a_proof_gets_better_with_time() -> None:
    home, sites, minutes = town()
    plan = make_plan(
        home, 3, rules=tkm.Rules(ByTable(minutes, "min", sites.lonlat), sites), t=[0.0, 1.0, np.inf]
    )
    better = plan.improved(10.0)
    assert better.gap is not None
    assert plan.gap is not None
    assert (better.gap <= plan.gap + 1e-12).all()
    assert better.proof(2) == "No plan on these sites is better."


def test_of_two_proofs_the_better_bound_stays_and_no_plan_gets_worse() -> None:
    home, sites, minutes = town()
    rules = tkm.Rules(ByTable(minutes, "min", sites.lonlat), sites)
    plan = make_plan(home, 3, rules=rules, t=[0.0, 1.0, np.inf])
    assert plan.grounds is not None
    assert plan.grounds.cost is not None
    dearer = replace(
        plan, grounds=replace(plan.grounds, cost=1.1 * plan.grounds.cost, bound=plan.grounds.cost)
    )
    kept = plan.with_proof_of(dearer)
    assert kept.path is plan.path
    assert kept.gap is not None
    assert not kept.open_proof
    assert (dearer.with_proof_of(plan).grounds.cost == plan.grounds.cost).all()
