"""Plans that follow rules in plan files and tables."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan, table
from tkm_core.planning import AlongStreets, ByTable, make_plan
from tkm_core.residents import Residents, Sites, Zones

MIDDLE = (1.44, 43.6)


def town() -> tuple[Residents, Sites, np.ndarray]:
    rng = np.random.default_rng(0)
    home = Residents.from_lonlat(
        MIDDLE + rng.normal(0, 0.02, (30, 2)),
        rng.integers(1, 9, 30),
        groups=["a", "b", "b"] * 10,
        keep_suspect=True,
    )
    sites = Sites(MIDDLE + rng.normal(0, 0.02, (7, 2)), ("Depot\n<b>", *"bcdefg"), [1e6] * 6 + [np.inf])
    return home, sites, rng.uniform(1, 30, (30, 7))


def streets_of(home: Residents) -> AlongStreets:
    """A grid of streets over the town."""
    low, high = home.lonlat.min(axis=0) - 0.01, home.lonlat.max(axis=0) + 0.01
    xs, ys = np.linspace(low[0], high[0], 9), np.linspace(low[1], high[1], 9)
    lines = [shapely.LineString([(x, y) for y in ys]) for x in xs]
    lines += [shapely.LineString([(x, y) for x in xs]) for y in ys]
    return AlongStreets(tkm.load_streets(shapely.to_geojson(shapely.MultiLineString(lines)).encode()))


def under(what: str) -> tuple[Residents, dict[str, Any]]:
    """The town, and rules of a kind as `make_plan` takes them."""
    home, sites, minutes = town()
    west = Zones((shapely.box(1, 43, 1.45, 44),), ("West",))
    fixed = {"fixed_lonlat": [[1.43, 43.61], [1.45, 43.59]], "pinned": 1}
    rules: dict[str, dict[str, Any]] = {
        "sites, a zone and room": {"sites": sites, "only_in": west, "capacity": tkm.Capacity(1e6, 1)},
        "sites": {"sites": replace(sites, capacity=None), **fixed, "closed": [0]},
        "a zone": {"not_in": west},
        "a zone and room": {"only_in": west, "capacity": 120.0},
        "room": {"capacity": 120.0, **fixed},
        "streets": {"streets": streets_of(home), **fixed},
        "streets and sites": {"streets": streets_of(home), "sites": replace(sites, capacity=None)},
        "a table": {"rules": tkm.Rules(ByTable(minutes, "min", sites.lonlat), replace(sites, capacity=None))},
        "equal groups": {"equal_groups": True},
    }
    return home, rules[what]


KINDS = ["sites, a zone and room", "sites", "a zone", "a zone and room", "room", "streets", "streets and sites",
         "a table", "equal groups"]  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
def test_a_plan_under_rules_comes_back_the_same_without_being_solved(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, told = under(what)
    plan = make_plan(home, 2, t=[0, 1, np.inf], random_state=3, **told).with_stop(0.4)
    i = plan.index(0.4)
    content = plan_json(plan, i)
    monkeypatch.setattr("tkm_core.export.planfile_restoring.make_plan", lambda *_, **__: 1 / 0)
    again = restore_plan(read_plan_file(content), home, travel=plan.rules.travel, proven=True)
    back = again.plan
    assert again.same_data and again.i == i
    assert back.rules == plan.rules and back.rules.sentences() == plan.rules.sentences()
    assert back.existing.pinned == plan.existing.pinned and back.closed == plan.closed
    for part in ("t", "centers", "tilted_sse", "sse", "city_cost", "arrangement"):
        np.testing.assert_allclose(
            getattr(back.path, part), getattr(plan.path, part), rtol=1e-9, err_msg=part
        )
    for j in range(len(plan)):
        np.testing.assert_allclose(back.evaluation(j).distance, plan.evaluation(j).distance, rtol=1e-9)
        assert (back.evaluation(j).labels == plan.evaluation(j).labels).all()
        assert (back.site_of(j) == plan.site_of(j)).all()
        assert back.proof(j) == plan.proof(j)
    assert back.baseline_evaluation().mean_distance == plan.baseline_evaluation().mean_distance
    assert (back.remarks, back.reference, back.average.made) == (
        plan.remarks,
        plan.reference,
        plan.average.made,
    )
    assert plan_json(back, i) == content, "saved once more, it is the same file"
    assert back.with_stop(5.0).t.tolist() == plan.with_stop(5.0).t.tolist()


def test_a_file_of_a_version_that_kept_no_grounds_is_solved_again() -> None:
    home, told = under("sites")
    plan = make_plan(home, 2, t=[0, 1], **told)
    document = json.loads(plan_json(plan, 1))
    del document["grounds"]
    again = restore_plan(read_plan_file(json.dumps(document).encode()), home)
    assert again.same_data
    np.testing.assert_allclose(again.plan.path.centers, plan.path.centers)
    assert json.loads(plan_json(make_plan(home, 2, t=[0.0]), 0))["format_version"] == 2


def test_nothing_is_proven_by_what_a_file_says() -> None:
    home, told = under("a table")
    document = json.loads(plan_json(make_plan(home, 2, t=[0, 1], **told), 1))
    document["grounds"]["bound"] = document["grounds"]["cost"] = [0.0, 0.0]
    back = restore_plan(read_plan_file(json.dumps(document).encode()), home, travel=told["rules"].travel).plan
    assert "not known yet" in back.proof(1) and back.open_proof
    assert (
        back.improved(1.0).proof(1)
        == "No plan on these sites has a lower city-wide cost at this setting of the dial."
    )


def forged(document: dict[str, Any], what: str) -> None:
    """Change a plan on sites so that it claims what is not so."""
    grounds, settings = document["grounds"], document["settings"]
    if what == "a place that is no site":
        grounds["known"]["lonlat"][0][0] += 0.001
    elif what == "a site that does not exist":
        grounds["known"]["number"][0] = 99
    elif what == "a facility beside its place":
        document["path"]["centers"][0][0][0] += 0.01
    elif what == "an existing facility that moved":
        settings["fixed_lonlat"][1][0] += 0.01
    elif what == "no place at all":
        grounds["known"] = grounds["places"] = None
    elif what == "existing facilities for new ones":
        grounds["places"] = [[len(grounds["known"]["number"]) - 1] * 3] * 2
    elif what == "another average":
        document["figures_in_metres"]["plan"]["mean_distance"] *= 1.1


@pytest.mark.parametrize(
    "what",
    ["a place that is no site", "a site that does not exist", "a facility beside its place",
     "an existing facility that moved", "no place at all", "existing facilities for new ones", "another average"],
)  # fmt: skip
def test_a_forged_plan_under_rules_is_refused(what: str) -> None:
    home, told = under("sites")
    document = json.loads(plan_json(make_plan(home, 2, t=[0, 1], **told), 1))
    forged(document, what)
    with pytest.raises(PlanFileError, match="changed"):
        restore_plan(read_plan_file(json.dumps(document).encode()), home, proven=True)


@pytest.mark.parametrize(("what", "lonlat"), [("a zone", (1.43, 43.6)), ("room", (2.5, 43.6))])
def test_a_forged_facility_where_none_may_stand_is_refused(what: str, lonlat: tuple[float, float]) -> None:
    home, told = under(what)
    plan = make_plan(home, 2, t=[0, 1], **told)
    document = json.loads(plan_json(plan, 1))
    spot = (home.lonlat_to_xy(np.array([lonlat])) - home.origin) / home.scale
    document["path"]["centers"][1][0] = spot[0].tolist()
    with pytest.raises(PlanFileError, match="new facility"):
        restore_plan(read_plan_file(json.dumps(document).encode()), home)


@pytest.mark.parametrize(
    ("part", "value"),
    [("scale", 0), ("places", [[0, 1]]), ("places", [[0, 99, 1]] * 2), ("places", [[0.5, 1, 2]] * 2), ("cost", [-1, 1]),
     ("bound", "x"), ("remarks", ["x" * 5000]), ("remarks", ["x"] * 100), ("made", 7),
     ("known", {"lonlat": [[999, 1]]})],
)  # fmt: skip
def test_damaged_grounds_get_a_sentence(part: str, value: object) -> None:
    home, told = under("sites")
    document = json.loads(plan_json(make_plan(home, 2, t=[0, 1], **told), 1))
    document["grounds"][part] = value
    with pytest.raises(PlanFileError, match="damaged"):
        read_plan_file(json.dumps(document).encode())


def test_a_plan_by_a_table_says_which_table_it_needs() -> None:
    home, sites, minutes = town()
    travel = ByTable(minutes, "min", sites.lonlat, "walks.csv")
    plan = make_plan(home, 2, rules=tkm.Rules(travel, sites), t=[0.0, 1.0])
    saved = read_plan_file(plan_json(plan, 0))
    with pytest.raises(ValueError, match=r"taken from your table “walks.csv”"):
        restore_plan(saved, home)
    with pytest.raises(ValueError, match="not the streets or the table the plan was measured by"):
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
    assert better.proof(2) == "No plan on these sites has a lower city-wide cost at this setting of the dial."


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
