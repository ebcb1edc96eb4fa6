"""What would have been planned by straight lines, measured along the streets: two banks of a river with one bridge."""

import numpy as np
import pytest

import tkm_core as tkm
from tests.streets.cities import STEP, Way, as_xml
from tkm_core.figures import Look, methods_charts
from tkm_core.planning import (
    BY_STRAIGHT_LINES,
    FREE,
    Plan,
    Rules,
    by_straight_lines,
    compare_methods,
    judge_by_rules,
    put_where_allowed,
    solve,
)
from tkm_core.residents import Sites
from tkm_core.stories import rules_apply, tell_plan, tell_straight_lines

SIDE = 9
SPEED = 80.0  # metres a minute on foot


def river() -> tuple[dict[int, tuple[float, float]], list[Way]]:
    """Two quays along the river, a little apart, with streets away from it, and a bridge at the eastern end."""
    kind = {"highway": "residential"}
    nodes = {c + 1: (c * STEP, 0.0) for c in range(SIDE)} | {c + 101: (c * STEP, STEP) for c in range(SIDE)}
    ways: list[Way] = [([first + c for c in range(SIDE)], kind) for first in (1, 101)]
    for number, (lon, lat) in list(nodes.items()):
        if lon > 0:
            nodes[number + 1000] = (lon, lat + (0.5 if lat else -0.5) * STEP)
            ways.append(([number, number + 1000], kind))
    return nodes, [*ways, ([SIDE, SIDE + 100], kind)]


@pytest.fixture(scope="module")
def town() -> tkm.Residents:
    """Most people live in the west of the southern quay, some in its east, and some right across the river."""
    south = [[c * STEP, 0.0] for c in range(SIDE)]
    north = [[c * STEP, STEP] for c in range(SIDE)]
    people = [100.0, 60, 20, 1, 1, 1, 5, 20, 30, 40, 20, 10, 1, 1, 1, 1, 1, 1]
    return tkm.Residents.from_lonlat(np.array(south + north), people, keep_suspect=True)


@pytest.fixture(scope="module")
def plan(town: tkm.Residents) -> Plan:
    return tkm.make_plan(town, 2, streets=tkm.load_streets(as_xml(*river())), t=[0, 1, 10])


def slow_minutes(town: tkm.Residents, site: np.ndarray) -> np.ndarray:
    """On foot to a junction: along the quay, or over the bridge."""
    metres = [111.3195 * 1000 * STEP, 110.5743 * 1000 * STEP]
    home, there = np.round(town.lonlat / STEP), np.round(site / STEP)
    along = np.abs(home[:, 0] - there[0])
    around = (SIDE - 1 - home[:, 0]) + (SIDE - 1 - there[0])
    same = home[:, 1] == there[1]
    return np.where(same, along * metres[0], around * metres[0] + metres[1]) / SPEED


def test_it_is_measured_along_the_streets(plan: Plan, town: tkm.Residents) -> None:
    other = by_straight_lines(plan)
    for i in range(len(plan)):
        sites = other.lonlat(i)
        assert np.allclose(sites / STEP, np.round(sites / STEP), atol=1e-6)  # on junctions
        slowly = np.min([slow_minutes(town, site) for site in sites], axis=0)
        np.testing.assert_allclose(other.evaluation(i).distance, slowly, rtol=1e-3, atol=1e-6)


def test_streets_know_of_the_river_and_straight_lines_do_not(plan: Plan) -> None:
    other = by_straight_lines(plan)
    assert other.straight.rules == FREE
    ours, theirs = plan.evaluation(0), other.evaluation(0)
    assert ours.mean_distance < theirs.mean_distance
    assert plan.evaluation(2).largest_distance <= other.evaluation(2).largest_distance
    with pytest.raises(ValueError, match="is itself measured in straight lines"):
        by_straight_lines(other.straight)


def test_what_straight_lines_cost_is_said(plan: Plan) -> None:
    other = by_straight_lines(plan)
    ours, theirs = plan.evaluation(0), other.evaluation(0)
    story = tell_straight_lines(other, 0, people="homes")
    assert story.headline_text == (
        f"Planned by straight lines at the same setting, the farthest home would be {theirs.largest_distance:.1f} min "
        f"away instead of {ours.largest_distance:.1f}, and the average trip would be {theirs.mean_distance:.1f} min "
        f"instead of {ours.mean_distance:.1f}, on foot along the streets."
    )
    assert story.reference.heading == "By straight lines"


def test_kmeans_by_straight_lines_is_a_reference_that_everything_follows(plan: Plan) -> None:
    against = plan.against(BY_STRAIGHT_LINES)
    usual = tkm.make_plan(plan.residents, 2, t=[0]).baseline_lonlat
    moved = put_where_allowed(usual, plan.residents, plan.rules)
    np.testing.assert_allclose(np.sort(against.reference_lonlat, axis=0), np.sort(moved, axis=0), atol=1e-9)
    found = plan.serving.evaluate(plan.residents.lonlat_to_xy(moved))
    assert against.reference_evaluation().mean_distance == pytest.approx(found.mean_distance)
    story = tell_plan(against, 0, unit="min")
    assert "in the plan by straight lines" in story.text
    assert "k-means++, moved to the nearest junctions" in story.context
    with pytest.raises(ValueError, match="is itself measured in straight lines"):
        tkm.make_plan(plan.residents, 2, t=[0]).against(BY_STRAIGHT_LINES)


def test_methods_are_compared_along_the_streets(plan: Plan, town: tkm.Residents) -> None:
    rules = plan.rules
    found = compare_methods(town, 2, t=1.0, methods=["tkm", "kmeans++", "jkl"], rules=rules)
    own, usual, _ = found
    assert own.evaluation.largest_distance == pytest.approx(
        plan.evaluation(plan.index(1.0)).largest_distance, rel=0.05
    )
    for one in found:
        lonlat = town.to_lonlat(town.to_xy(one.solution.centers))
        assert np.allclose(lonlat / STEP, np.round(lonlat / STEP), atol=1e-6)
        slowly = np.min([slow_minutes(town, site) for site in lonlat], axis=0)
        np.testing.assert_allclose(one.evaluation.distance, slowly, rtol=1e-3, atol=1e-6)
    assert "min" in found._repr_html_()
    assert "min" in plan._repr_html_()
    assert "km" not in plan._repr_html_()
    assert "k-means++ and JKL plan by straight lines" in rules_apply(found, rules)
    page = methods_charts.method_table(found, Look(unit="min"), plan=plan)
    assert page.count("2, on junctions") == 3
    alone = judge_by_rules(plan, solve(town, "kmeans++", 2, t=1.0, patience=10), t=1.0)
    assert alone.evaluation.mean_distance == pytest.approx(usual.evaluation.mean_distance)


def test_what_cannot_be_moved_stays(town: tkm.Residents) -> None:
    here = np.array([[0.0005, 0.0]])
    assert put_where_allowed(here, town, FREE) is here
    two = Rules(sites=Sites(np.array([[0.0, 0.0], [0.01, 0.0]])))
    near = np.array([[0.0001, 0.0], [0.0, 0.0], [0.0002, 0.0]])
    assert put_where_allowed(near, town, two).tolist() == [[0.0, 0.0]] * 3  # more facilities than sites
