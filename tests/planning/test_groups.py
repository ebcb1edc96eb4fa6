import numpy as np
import pytest

from tkm_core.cli.main import main
from tkm_core.planning import make_plan
from tkm_core.planning.groups import by_group
from tkm_core.residents import Residents
from tkm_core.residents.samples import load_sample


@pytest.fixture(scope="module")
def plan():
    return make_plan(load_sample("generated", n=800), 4, t=[0, 0.5, 5])


@pytest.mark.parametrize(("unit", "metres"), [("km", 1000), ("mi", 1609.344)])
def test_groups_are_the_plain_definition(plan, unit, metres):
    home = plan.residents
    after = np.linalg.norm(home.xy[:, None] - plan.centers_xy(1), axis=2).min(axis=1) / metres
    before = np.linalg.norm(home.xy[:, None] - plan.baseline_xy, axis=2).min(axis=1) / metres
    groups = by_group(plan, 1, unit=unit)
    assert {group.name for group in groups} == set(home.groups)
    assert sum(group.people for group in groups) == len(home)
    for group in groups:
        mine = home.groups == group.name
        half = 0.5 * 10.0**-group.average.decimals
        assert group.average.plan == pytest.approx(after[mine].mean(), abs=half)
        assert group.average.reference == pytest.approx(before[mine].mean(), abs=half)
        assert group.farthest.plan == pytest.approx(after[mine].max(), abs=half)
        assert group.losers == pytest.approx((after - before >= half)[mine].mean())
    averages = [group.average.plan for group in groups]
    assert averages == sorted(averages, reverse=True)


def test_weights_count_and_nobody_does_not():
    labels = ["a", "a", "b", None, float("nan"), "empty"]
    lonlat = [[1.40, 43.6], [1.45, 43.6], [1.50, 43.6], [1.55, 43.6], [1.60, 43.6], [1.65, 43.6]]
    town = Residents.from_lonlat(lonlat, [1, 3, 2, 1, 1, 0], groups=labels)
    plan = make_plan(town, 1, t=[0])
    groups = {group.name: group for group in by_group(plan, 0)}
    assert {name: group.people for name, group in groups.items()} == {"a": 4, "b": 2, "(no group)": 2}
    trips = plan.evaluation(0).distance / 1000
    assert groups["a"].average.plan == pytest.approx((trips[0] + 3 * trips[1]) / 4, abs=0.05)
    assert groups["a"].farthest.plan == pytest.approx(max(trips[:2]), abs=0.05)


def test_residents_without_groups_have_none():
    assert by_group(make_plan(load_sample("toulouse"), 2, t=[0]), 0) == []


def test_command_line_tells_them(capsys):
    assert main(["plan", "generated-300", "-k", "3"]) == 0
    shown = capsys.readouterr().out
    assert "travel farther" in shown
    assert all(f"\n{name} " in shown for name in ("centre", "suburb", "village", "farm"))
