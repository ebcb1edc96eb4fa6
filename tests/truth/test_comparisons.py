"""Portfolios, two plans, straight lines and How many?: what is said of several plans, recomputed."""

import math
import re

import numpy as np
import pytest

from tests.truth import slowly
from tests.truth.cities import CASES, DIAL, Case, places, straight, town
from tests.truth.recomputed import METRES, exported_trips, recomputed
from tkm_core.planning import by_straight_lines, compare_counts, moves, one_setting
from tkm_core.stories import one_more, tell_moves, tell_portfolio, tell_straight_lines

TURNED = [case for case in CASES if case.k]


@pytest.mark.parametrize("case", TURNED, ids=lambda case: case.name)
def test_the_plans_to_discuss_are_within_what_is_said(case):
    plan = case.make()
    heading, *lines = tell_portfolio(plan, None, unit="km", people="homes")
    percent = float(re.search(r"within ([\d.]+) % of that setting", heading)[1])
    chosen = [_setting(re.match(r"t = ([\d.,∞]+)", line)[1], plan) for line in lines]
    trips = [exported_trips(case, plan, i) for i in range(len(plan))]
    for i in range(len(plan)):
        t = float(plan.t[i]) / plan.scale**2
        own = slowly.cost(trips[i], t)
        assert min(slowly.cost(trips[j], t) for j in chosen) <= own * (1 + percent / 100) * (1 + 1e-6)
    for line, j in zip(lines, chosen, strict=True):
        after, _ = recomputed(case, j).figures
        said = re.findall(r"([\d,.]+) (km|mi|min)\b", line)
        for (number, unit), key in zip(said, ("largest_distance", "mean_distance"), strict=True):
            digits = len(number.partition(".")[2])
            true = after[key] / METRES[unit]
            assert float(number.replace(",", "")) == pytest.approx(true, abs=0.5001 * 10.0**-digits, rel=1e-5)


def _setting(text, plan):
    t = math.inf if text == "∞" else float(text.replace(",", ""))
    return next(i for i, one in enumerate(plan.t) if one == t or math.isclose(one, t, rel_tol=1e-5))


@pytest.mark.parametrize("case", TURNED, ids=lambda case: case.name)
def test_who_changes_facility_between_two_settings(case):
    plan = case.make()
    first, last = (one_setting(plan, i) for i in (0, len(plan) - 1))
    found = moves(first, last)
    changed = slowly.changes(exported_trips(case, plan, 0), exported_trips(case, plan, len(plan) - 1))
    named = {}
    for one in changed:
        named.setdefault((first.title(one.was), last.title(one.now)), []).append(one)
    for move in found:
        mine = named[move.before, move.after]
        people = math.fsum(one.people for one in mine)
        assert move.people == pytest.approx(people)
        longer = -math.fsum(one.people * one.gain for one in mine) / people
        assert move.change == pytest.approx(longer, rel=1e-5, abs=1e-3)
    total = float(case.residents.weights.sum())
    told = tell_moves(found, total, before="A", after="B", people="homes")
    said = re.search(r"([\d,]+) homes? of ([\d,]+) \((under 1|\d+) %\)", told)
    moving = sum(move.people for move in found)
    if said:
        assert int(said[1].replace(",", "")) == pytest.approx(moving, abs=0.5001)
        assert int(said[2].replace(",", "")) == round(total)
        assert said[3] == "under 1" or int(said[3]) == pytest.approx(100 * moving / total, abs=0.5001)
    else:
        assert round(moving) == 0


@pytest.mark.parametrize("case", [case for case in TURNED if case.unit == "min"], ids=lambda case: case.name)
def test_what_planning_by_straight_lines_would_mean(case):
    plan = case.make()
    other = by_straight_lines(plan)
    for i in range(len(plan)):
        told = tell_straight_lines(other, i, unit="min", people="homes").headline_text
        far = case.far(case.residents.lonlat, other.lonlat(i))
        if case.limited:
            continue
        there = slowly.measures(slowly.to_the_nearest(far, case.residents.weights))
        here, _ = recomputed(case, i).figures
        said = [float(one) for one in re.findall(r"\b(\d+\.\d+)\b", told)]
        true = [side[key] for key in ("largest_distance", "mean_distance") for side in (there, here)]
        assert said == pytest.approx(true, abs=0.0501)


@pytest.mark.parametrize("existing", [np.empty((0, 2)), places(2, 2)], ids=["nothing today", "two today"])
@pytest.mark.parametrize("capacity", [None, 130.0])
def test_what_one_more_facility_brings(existing, capacity):
    home = town()
    limits = (math.inf, 0.0) if capacity is None else (capacity, 0.0)
    options = {} if capacity is None else {"capacity": capacity}
    enough = [
        k for k in range(1, 6) if capacity is None or (k + len(existing)) * capacity >= home.weights.sum()
    ]
    cities = {
        k: Case(f"{k}", home, k, options, straight(home), capacity=limits, existing=existing) for k in enough
    }
    counts = compare_counts(home, enough, 0.3, plan_for=lambda k, _: cities[k].make())
    at = DIAL.index(0.3)
    ways = {"mean_distance": r"average trip ([\d.]+) (km|m) (shorter|longer)",
            "largest_distance": r"farthest home (?:comes|ends up) ([\d.]+) (km|m) (closer|farther)"}  # fmt: skip
    for k in enough[:-1]:
        told = one_more(counts, k, unit="km", people="homes", n_existing=len(existing))
        then, now = (slowly.measures(exported_trips(cities[n], cities[n].make(), at)) for n in (k, k + 1))
        for key, pattern in ways.items():
            said = re.search(pattern, told)
            gain = then[key] - now[key]
            if said is None:
                assert abs(gain) <= 5.01
                continue
            sign = 1 if said[3] in ("shorter", "closer") else -1
            step = 10.0 if said[2] == "m" else 1000.0 * 10.0 ** -len(said[1].partition(".")[2])
            metres = float(said[1]) * (1.0 if said[2] == "m" else 1000.0)
            assert metres == pytest.approx(sign * gain, abs=0.5001 * step)
        if "would make no trip longer" in told:
            assert capacity is None
