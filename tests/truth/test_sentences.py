"""The Plan page: headline, detail and table say what is true of residents and facilities, under every rule."""

import re

import pytest

from tests.truth import slowly
from tests.truth.cities import CASES, SETTINGS
from tests.truth.claims import Sentences
from tests.truth.recomputed import METRES, recomputed
from tkm_core.measures import MEASURES
from tkm_core.stories import tell_plan, tell_setting

BOTH = [(case, i, unit) for case, i in SETTINGS for unit in (("km", "mi") if case.unit == "m" else ("min",))]
IDS = [f"{case.name} at {i} in {unit}" for case, i, unit in BOTH]


def story_of(case, i, unit):
    truth = recomputed(case, i)
    told = tell_plan(truth.plan, i, unit=unit, standard=truth.standard, people="homes")
    return truth, told, Sentences(truth, unit, told.rows[0].decimals)


@pytest.mark.parametrize(("case", "i", "unit"), BOTH, ids=IDS)
def test_every_sentence_is_true(case, i, unit):
    truth, told, sentences = story_of(case, i, unit)
    assert told.rows[0].key == "largest_distance"
    sentences.headline(told.headline_text)
    sentences.detail(told.detail_text)
    least = sentences.step
    if not truth.plan.is_today:
        assert told.losers == pytest.approx(sum(one.people for one in truth.losing(least * (1 - 1e-9))))
        assert told.gainers == pytest.approx(sum(one.people for one in truth.gaining(least * (1 - 1e-9))))


@pytest.mark.parametrize(("case", "i", "unit"), BOTH, ids=IDS)
def test_every_figure_of_the_table_is_true(case, i, unit):
    truth, told, _ = story_of(case, i, unit)
    after, before = truth.figures
    keys = [row.key for row in (*told.rows, *told.more)]
    assert set(keys) == set(after), "a figure that nobody recomputes"
    for row in (*told.rows, *told.more):
        measure = MEASURES[row.key]
        size = 0.01 if measure.percent else METRES[unit] ** measure.power
        step = 0.5 * 10.0**-row.decimals * 1.0001
        assert row.plan == pytest.approx(after[row.key] / size, abs=step, rel=1e-5)
        assert row.reference == pytest.approx(before[row.key] / size, abs=step, rel=1e-5)
        assert row.change == pytest.approx(row.plan - row.reference, abs=1e-9)
        better = (row.change > 0) == measure.more_is_better
        assert row.tone == ("same" if row.change == 0 else "better" if better else "worse")


@pytest.mark.parametrize(("case", "i", "unit"), BOTH, ids=IDS)
def test_what_gets_worse_is_named_and_a_verdict_agrees_with_the_table(case, i, unit):
    truth, told, _ = story_of(case, i, unit)
    tones = {row.key: row.tone for row in told.rows}
    others = [tone for key, tone in tones.items() if key not in ("largest_distance", "mean_distance")]
    if truth.plan.is_today:
        return
    still = told.headline_text.startswith("Nothing changes")
    assert ("Also worse" in told.detail_text) == ("worse" in others)
    none_better = "better" not in tones.values() and "worse" in tones.values() and not still
    assert ("None of these figures is better" in told.detail_text) == none_better
    found = re.search(r"Also worse: (.+?)\.(?= [A-Z]|$)", told.detail_text)
    if found:
        assert len(re.split(r", | and (?=the )", found[1])) >= others.count("worse")
    lone = truth.plan.dominated(i)
    if lone is not None and "Take t" not in told.detail_text:
        step = 0.5 * 10.0 ** -told.rows[0].decimals * METRES[unit]
        assert (
            truth.figures[0]["mean_distance"] - recomputed(case, lone).figures[0]["mean_distance"]
            <= step * 1.01
        )


@pytest.mark.parametrize(("case", "i", "unit"), BOTH, ids=IDS)
def test_what_the_context_says_is_true(case, i, unit):
    truth, told, _ = story_of(case, i, unit)
    homes = f"{round(truth.people):,} home"
    assert homes in told.context
    kept = (
        len(case.existing) - case.pinned - len([number for number in case.closed if number < len(case.today)])
    )
    for count, kind in ((case.k, "new"), (kept, "existing"), (case.pinned, "pinned")):
        if len(case.existing):
            assert (f"{count} {kind}" in told.context) == (count > 0)
    assert (f"({len(case.closed)} closed)" in told.context) == bool(case.closed)
    setting = tell_setting(truth.plan, i, unit=unit, people="homes").headline_text
    figures = [float(one.replace(",", "")) for one in re.findall(r"([\d,.]+) (?:km|mi|min)", setting)]
    digits = [len(one.partition(".")[2]) for one in re.findall(r"([\d,.]+) (?:km|mi|min)", setting)]
    for said, many, key in zip(figures, digits, ("largest_distance", "mean_distance"), strict=True):
        assert said == pytest.approx(truth.figures[0][key] / METRES[unit], abs=0.5001 * 10.0**-many, rel=1e-6)


@pytest.mark.parametrize("case", [case for case in CASES if len(case.today)], ids=lambda case: case.name)
def test_today_is_the_same_whatever_the_rules(case):
    plan = case.make()
    now = slowly.measures(
        slowly.to_the_nearest(case.far(case.residents.lonlat, case.today), case.residents.weights), 1.0
    )
    for key in ("largest_distance", "mean_distance", "gini", "p95_distance"):
        assert getattr(plan.today, key) == pytest.approx(now[key], rel=1e-5)
