"""The report: each number of its tables, captions and sentences is the one that is true."""

import math
import re
from html import unescape

import pytest

from tests.truth.cities import NAMES, SETTINGS
from tests.truth.claims import UNITS
from tests.truth.recomputed import METRES, exported_trips, recomputed, widest_area
from tkm_core.figures import Look, distances, html_report
from tkm_core.figures.maps import way_tips
from tkm_core.figures.report import SPREAD
from tkm_core.measures import MEASURES
from tkm_core.stories import tell_plan
from tkm_core.units import worded

NUMBER = r"[\d,]+(?:\.\d+)?"


def plain(html):
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


def rows_of(html, heading):
    """The cells of the table under a heading."""
    found = re.search(rf"<h2>{heading}</h2>.*?<tbody>(.*?)</tbody>", html, re.S)
    return [] if found is None else [
        [plain(cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
        for row in re.findall(r"<tr>(.*?)</tr>", found[1], re.S)
    ]  # fmt: skip


def near(text, true, unit):
    """Whether a length is the true one, to its last digit."""
    number, word = text.split()[:2]
    digits = len(number.partition(".")[2])
    size = UNITS[word]
    assert float(number.replace(",", "")) * size == pytest.approx(
        true, abs=0.5001 * 10.0**-digits * size, rel=1e-5
    )


def spread(said, after, before, unit):
    """Whether the standard deviations of plan and reference are those of these variances, to the last digit."""
    for text, variance in zip(said, (after, before), strict=False):
        near(f"{text} {unit}", math.sqrt(variance), unit)


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_every_number_of_the_report(case, i):
    truth = recomputed(case, i)
    unit = truth.units[-1]
    look = Look(unit=unit, people="homes", layers=("areas", "farthest"))
    story = tell_plan(truth.plan, i, unit=unit, standard=truth.standard, people="homes")
    html = html_report(truth.plan, i, story, look, title="City", standard=truth.standard)
    text = plain(html)
    after, before = truth.figures
    if truth.plan.is_today:
        before = after
    for heading, rows in (("Key figures", story.rows), ("Further figures", story.more)):
        cells = {row[0]: row[1:] for row in rows_of(html, heading)}
        for row in rows:
            if row.key == "overall_variance_of_distance":
                spread(cells.pop(f"{worded(SPREAD, unit)}, {unit}"), after[row.key], before[row.key], unit)
            elif MEASURES[row.key].power <= 1:
                said = cells.pop(row.label)
                assert said[0] == row.plan_text
                assert truth.plan.is_today or said[1:] == [row.reference_text, row.change_text]
        assert not cells, "every row of the report is one of the page"
    served = exported_trips(case, truth.plan, i)
    for j, row in enumerate(rows_of(html, "Facilities")):
        mine = [one for one in served if one.facility == j and one.people > 0]
        assert float(row[-2].replace(",", "")) == pytest.approx(sum(one.people for one in mine), abs=0.5001)
        near(row[-1], max((one.distance for one in mine), default=0.0), unit)
        assert (float(row[-4]), float(row[-3])) == pytest.approx(tuple(truth.spots[j][::-1]), abs=6e-6)
    caption = re.search(r"Share of homes within a distance, [^:]*: (.*?)\. ", text)[1]
    lengths = re.findall(rf"({NUMBER} (?:km|mi|min)\b)", caption)
    keys = [
        key
        for key in ("median_distance", "p95_distance", "largest_distance")
        for _ in range(len(lengths) // 3)
    ]
    sides = [after, before][: len(lengths) // 3] * 3
    for length, key, side in zip(lengths, keys, sides, strict=True):
        near(length, side[key], unit)
    said = re.search(rf"farthest (?:home|area) ({NUMBER} (?:km|mi|min)\b)", text)
    near(said[1], after["largest_distance"], unit)
    ends = re.findall(rf"all within ({NUMBER} (?:km|mi|min)\b)", text)
    for end in ends[:2]:
        value = float(end.split()[0].replace(",", "")) * METRES[unit]
        assert any(
            value == pytest.approx(side["largest_distance"], rel=0.06, abs=6.0) for side in (after, before)
        )
    assert ("The residents are areas" in text) == (case.residents.areas is not None)
    if case.residents.areas is not None:
        near(re.search(rf"are up to ({NUMBER} \w+) from that point", text)[1], widest_area(case), unit)
    for sentence in truth.plan.rules.sentences("homes"):
        assert sentence in text
    stand = {
        "new": case.k + case.pinned,
        "existing": len(case.today) - len(case.closed),
        "pinned": case.pinned,
    }
    for number, kind in re.findall(rf"({NUMBER}) (new|existing|pinned) facilit", text):
        assert int(number) == stand[kind]


@pytest.mark.parametrize(("case", "i"), SETTINGS[::3], ids=NAMES[::3])
def test_the_chart_of_distances_counts_people(case, i):

    truth = recomputed(case, i)
    unit = truth.units[0]
    plan = truth.plan
    figure = distances(
        plan.evaluation(i), plan.reference_evaluation(), plan.residents.weights, Look(unit=unit, people="homes"),
        heading="Before",
    )  # fmt: skip
    lines = [trace for trace in figure.to_dict()["data"] if trace["mode"] == "lines"]
    for trace, trips in zip(lines, (truth.before, truth.after), strict=True):
        for at in range(0, len(trace["y"]), 7):
            edge = at * trace["dx"] * METRES[unit]
            low, high = (
                100
                * sum(one.people for one in trips if one.distance <= edge * (1 + slack) + 100 * slack)
                / truth.people
                for slack in (-2e-3, 2e-3)
            )
            assert low - 0.051 <= trace["y"][at] <= high + 0.051


@pytest.mark.parametrize(("case", "i"), SETTINGS[::3], ids=NAMES[::3])
def test_the_map_says_of_each_place_how_far_it_is_to_which_facility(case, i):
    truth = recomputed(case, i)
    unit = truth.units[0]
    tips = way_tips(truth.plan, truth.plan.evaluation(i), Look(unit=unit, people="homes"))
    numbers = truth.plan.numbers.tolist()
    for resident, tip in enumerate(tips):
        mine = {numbers[one.facility]: one.distance for one in truth.after if one.resident == resident}
        said = dict(reversed(way.split(" to ")) for way in tip.split(", "))
        assert {int(number) for number in said} == set(mine)
        for number, length in said.items():
            near(length, mine[int(number)], unit)
