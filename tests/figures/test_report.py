"""The report names places, and its style keeps headings with their tables."""

import re
from datetime import date
from html import escape, unescape

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from tkm_core.figures import Look, comparison_report, html_report, scenarios_svg
from tkm_core.figures.report import ANYWHERE, CHOICE, STRAIGHT
from tkm_core.figures.report_page import STYLE
from tkm_core.planning import Reference, make_plan
from tkm_core.residents import Residents, Sites, load_residents, load_sample
from tkm_core.sites import TravelTable
from tkm_core.stories import tell_plan

TEXT = r'<text x="(?!0\.0)([-\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]*)'  # at 0 are those that are turned


def test_the_report_names_new_sites_winners_and_losers() -> None:
    rows, columns = np.divmod(np.arange(36), 6)
    squares = [
        shapely.box(x, y, x + 0.01, y + 0.01) for x, y in zip(1 + columns / 100, 43 + rows / 100, strict=True)
    ]
    names = [f"Part <{number}>" for number in range(36)]
    town = load_residents(
        gpd.GeoDataFrame({"name": names, "population": range(1, 37)}, geometry=squares, crs=4326)
    )
    plan = make_plan(town, 2, t=[0, 1], fixed_lonlat=[[1.005, 43.005]], fixed_names=["Library"])
    page = html_report(plan, 1, tell_plan(plan, 1), Look(), title="Town")
    inside = [
        next(
            name for name, square in zip(names, squares, strict=True) if square.contains(shapely.Point(site))
        )
        for site in plan.centers_lonlat(1)[:2]
    ]
    assert "<p>New facilities: " in page
    assert all(f" in <bdi>{name.replace('<', '&lt;').replace('>', '&gt;')}</bdi>" in page for name in inside)
    gains = plan.change(1)
    best = names[int(np.argmax(gains))].replace("<", "&lt;").replace(">", "&gt;")
    listed = page[page.index("Places that gain most") : page.index("Places that lose most")]
    assert best in listed
    assert "No place loses compared with today." in page, "with two more facilities nobody travels farther"


def test_the_report_says_what_the_plan_had_to_follow() -> None:
    """Nothing about straight lines in a plan by a travel table, nor about land on sites that were chosen for it."""
    rng = np.random.default_rng(1)
    homes, sites = (
        rng.uniform([1.0, 43.0], [1.1, 43.1], (40, 2)),
        rng.uniform([1.0, 43.0], [1.1, 43.1], (5, 2)),
    )
    town = Residents.from_lonlat(homes)
    free = make_plan(town, 2, t=[0, 1])
    table = TravelTable(rng.uniform(1, 20, (40, 5)), "min", 0, np.empty(0, int), ())
    ruled = make_plan(town, 2, t=[0, 1], travel=table, sites=Sites(sites), capacity=30)
    pages = [html_report(plan, 1, tell_plan(plan, 1), Look(), title="Town") for plan in (free, ruled)]
    for sentence, shown in {STRAIGHT: [True, False], ANYWHERE: [True, False], CHOICE: [True, True]}.items():
        assert [sentence in page for page in pages] == shown
    for sentence in [*ruled.rules.sentences("residents"), ruled.proof(1)]:
        assert [escape(sentence) in page for page in pages] == [False, True]


def test_the_report_on_today_compares_nothing() -> None:
    town = load_sample("sacramento")
    plan = make_plan(town, 0, fixed_lonlat=town.lonlat[:3])
    page = html_report(plan, 0, tell_plan(plan, 0), Look(), title="Town")
    assert "<th>Today</th>" in page and "<title>Town: facilities today</title>" in page
    for word in (
        "This plan",
        "Trade-off",
        "Places that gain",
        "t = ",
        "Change</th>",
        "new facility",
    ):
        assert word not in page, word


def test_no_word_in_a_chart_is_cut_off() -> None:
    """Every text of the charts stands within its picture, wherever the budget ends."""
    town = load_sample("sacramento")
    plan = make_plan(town, 4, t=[0, 1, 10], fixed_lonlat=town.lonlat[:3])
    for budget in (0, 5, 20, 50):
        page = html_report(plan, 1, tell_plan(plan, 1), Look(), title="Town", budget=budget)
        for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            width = float(re.search(r'viewBox="0 0 (\d+)', picture)[1])
            for x, anchor, told in re.findall(TEXT, picture):
                wide = 6.2 * len(told)
                left = float(x) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
                assert left > -8 and left + wide < width + 8, (budget, told)


def test_headings_stay_with_their_tables_and_long_words_wrap() -> None:
    assert "h2 { font-size: 15px; margin: 26px 0 6px; break-after: avoid; }" in STYLE
    assert "overflow-wrap: anywhere" in STYLE and "background:" not in STYLE.replace("background: #fff", "")


def test_a_comparison_report_is_one_file_in_which_nothing_runs() -> None:
    city = load_sample("generated", n=200)
    before, after = (make_plan(city, k, t=[0, 1]) for k in (3, 5))
    towards = after.against(Reference("saved", "A<script>", before.centers_lonlat(1)))
    story = tell_plan(towards, 1)
    table = pd.DataFrame(
        {
            "Measure": ["Average, km"],
            **{
                name: [plan.evaluation(1).mean_distance / 1000]
                for name, plan in (("A<script>", before), ("B", after))
            },
        }
    )
    measured = [
        {name: getattr(plan.evaluation(1), name) for name in ("mean_distance", "largest_distance")}
        for plan in (before, after)
    ]
    curves = [
        {name: getattr(plan.curve, name).tolist() for name in ("mean_distance", "largest_distance")}
        for plan in (before, after)
    ]
    drawn = scenarios_svg(measured, curves, Look())
    page = comparison_report(
        ["A<script>", "B"], ["<svg onload='x'/>", ""], ["<b>why</b>", ""], table, [[False, True]],
        title="Town <i>", change=("A<script>", "B", story), today=date(2026, 11, 17),
        chart=(drawn, "A<script> and B"),
    )  # fmt: skip
    for curve, spot in zip(
        re.findall(r'points="([^"]+)" fill="none" stroke="#[^"]+" stroke-width="2"', drawn),
        re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn),
        strict=True,
    ):
        end = [float(value) for value in curve.split()[-1].split(",")]
        assert end == pytest.approx([float(value) for value in spot], abs=0.06), "setting 1 ends its curve"
    assert (
        drawn in page
        and "<bdi>1 A&lt;script&gt;</bdi>" in page
        and "A&lt;script&gt; and B The numbers" in page
    )
    assert page.count("<img") == 1 and "<script" not in page and "onload" not in page and "<b>why" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "From A&lt;script&gt; to B" in page and "17 November 2026" in page
    assert f'<td class="better"><b>{after.evaluation(1).mean_distance / 1000:,.2f}' in page.replace(",", ",")
    assert story.headline_text.split(";")[0] in unescape(re.sub("<[^>]+>", "", page))
