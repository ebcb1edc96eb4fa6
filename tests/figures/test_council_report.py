"""What a council reads in the report: title, names, closed facilities, units, and the plan itself."""

import math
import re
from datetime import date
from html import unescape

import numpy as np
import pytest
import shapely

from tkm_core.figures import Look, comparison_report, html_report
from tkm_core.figures.labels import overlap, text_width
from tkm_core.planning import AVERAGE, Plan, make_plan
from tkm_core.residents import Residents, Sites, Zones, load_sample
from tkm_core.stories import portfolio_story, tell_plan, tell_setting

NAMES = ("Main", "Mill Lane", "“Facility” of the Arts", "Harbour")


@pytest.fixture(scope="module")
def town() -> Residents:
    rng = np.random.default_rng(4)
    return Residents.from_lonlat(rng.uniform([1.0, 43.0], [1.2, 43.2], (120, 2)))


@pytest.fixture(scope="module")
def plan(town: Residents) -> Plan:
    sites = Sites(
        np.array([[1.02, 43.02], [1.18, 43.17], [1.05, 43.15]]), ("Old school", "Depot", "Fire hall")
    )
    return make_plan(
        town, 1, fixed_lonlat=[[1.1, 43.1], [1.15, 43.05], [1.05, 43.1], [1.12, 43.16]], fixed_names=NAMES, closed=[1],
        sites=sites, not_in=Zones((shapely.box(1.0, 43.19, 1.01, 43.2),), ("Airport",)), capacity=60,
    )  # fmt: skip


def written(plan: Plan, i: int = 0, look: Look | None = None, **told: str) -> str:
    look = look or Look(facility="library")
    story = tell_plan(plan, i, unit=plan.shown_unit(look.unit), people=look.people)
    return html_report(plan, i, story, look, title="Springfield", today=date(2026, 11, 18), **told)


def words(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.split("</style>")[1])).split())


def test_the_title_says_place_date_author_and_noun(plan: Plan) -> None:
    page = written(plan, author="A. Lee")
    assert "<title>Springfield: 1 new library, 1 closed</title>" in page
    assert "<h1><bdi>Springfield</bdi>: 1 new library, 1 closed</h1>" in page
    assert "18 November 2026 · prepared by <bdi>A. Lee</bdi>" in page
    assert "prepared by" not in written(plan)


def test_every_sentence_has_the_planners_word(plan: Plan) -> None:
    text = words(written(plan))
    for name in NAMES:
        text = text.replace(name, "")
    assert "facilit" not in text.lower()
    assert "Each library serves at most 60 residents." in text and "new library" in text


@pytest.mark.parametrize(
    ("k", "closed", "fixed", "said"),
    [
        (2, [], 0, "2 libraries"),
        (1, [], 0, "1 library"),
        (2, [], 3, "2 new libraries"),
        (0, [1], 3, "1 library closed"),
        (0, [0, 1], 3, "2 libraries closed"),
        (0, [], 3, "libraries today"),
    ],
)
def test_the_title_counts(town: Residents, k: int, closed: list[int], fixed: int, said: str) -> None:
    given = {"fixed_lonlat": town.lonlat[:fixed], "closed": closed} if fixed else {}
    assert f"<title>Springfield: {said}</title>" in written(
        make_plan(town, k, t=[0, 1] if k else None, **given)
    )


def test_a_closed_facility_is_named_and_crossed_out(plan: Plan) -> None:
    """In a sentence, on the map and in the table, whatever the plan is compared with."""
    for one in (plan, plan.against(AVERAGE)):
        page = written(one)
        assert "Closed library: Mill Lane (2)." in re.sub("</?bdi>", "", page)
        assert "<s>2 (closed: <bdi>Mill Lane</bdi>)</s>" in page
        drawn = page[page.index("<svg") : page.index("</svg>")]
        assert re.search(r'<g text-decoration="line-through"><text[^>]*>Mill Lane</text></g>', drawn)


def test_the_map_names_facilities_sites_and_zones(plan: Plan) -> None:
    page = written(plan)
    drawn = page[page.index("<svg") : page.index("</svg>")]
    named = set(map(unescape, re.findall(r"<text[^>]*>([^<]+)</text>", drawn)))
    chosen = plan.rules.sites.names[plan.site_of(0)[0]]
    assert {*NAMES, "Old school", "Depot", "Fire hall"} <= named
    assert f"New library: <bdi>{chosen}</bdi> (5)." in page and f"5 (new: <bdi>{chosen}</bdi>)" in page
    assert 'stroke-dasharray="7 3"' in drawn
    for said in ("closed library", "candidate site", "zone where no library may stand"):
        assert said in words(page)


def test_names_on_the_map_never_overlap_and_missing_ones_are_mentioned() -> None:
    city = load_sample("sacramento")
    rows = np.random.default_rng(1).choice(len(city), 40, replace=False)
    names = [f"Library of number {n} and its very long name" for n in range(40)]
    page = written(make_plan(city, 1, t=[0, 1], fixed_lonlat=city.lonlat[rows], fixed_names=names))
    drawn = page[page.index("<svg") : page.index("</svg>")]
    found = re.findall(r'<g stroke=[^>]*><text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text></g>', drawn)
    boxes = []
    for x, y, name in found:
        wide = text_width(name)
        boxes.append((float(x) - wide / 2, float(y) - 10, float(x) + wide / 2, float(y) + 3))
    assert 5 < len(boxes) < 40 and all(len(name) <= 28 for _, _, name in found)
    assert not any(overlap(boxes[a], boxes[b]) for a in range(len(boxes)) for b in range(a))
    assert "Names for which there is no room on the map" in page


@pytest.mark.parametrize("unit", ["km", "mi"])
def test_no_figure_is_in_squares(plan: Plan, unit: str) -> None:
    page = written(plan, look=Look(unit=unit))
    assert not re.search("[²³⁴]", page.split("</style>")[1])
    metres, found = {"km": 1000, "mi": 1609.344}[unit], plan.evaluation(0)
    mean = np.average(found.distance, weights=plan.residents.weights)
    spread = math.sqrt(np.average((found.distance - mean) ** 2, weights=plan.residents.weights)) / metres
    said = re.search(rf"standard deviation of the distance\), {unit}</td><td><b>([\d.]+)", page)
    assert float(said[1]) == pytest.approx(spread, abs=0.051)


def test_the_plan_of_the_report_is_among_those_to_discuss(town: Residents) -> None:
    plan = make_plan(town, 3)
    few = portfolio_story(plan).settings
    for i in range(len(plan)):
        told = portfolio_story(plan, also=i)
        assert set(told.settings) == {*few, i} and list(told.settings) == sorted(told.settings)
        assert told.sentences == tuple(tell_setting(plan, j).headline_text for j in told.settings)
    other = next(i for i in range(len(plan)) if i not in few)
    page = written(plan, other)
    own = page[page.index("The plans to discuss") :]
    assert own.count("<b>this report</b>") == 1
    assert "The current plan is listed with them." in own
    assert "The current plan is listed" not in written(plan, few[0])


def test_nothing_breaks_out_of_the_page_or_its_style(town: Residents) -> None:
    bad = "</style><script>alert(1)</script>\"'\\"
    plan = make_plan(town, 1, t=[0, 1], fixed_lonlat=town.lonlat[:2], fixed_names=[bad, bad], closed=[1])
    story, look = tell_plan(plan, 1), Look(facility=bad, people=bad)
    pages = [
        html_report(plan, 1, story, look, title=bad, author=bad, source=bad, link=bad),
        comparison_report([bad], [""], [bad], plan.to_frame().iloc[:0], [], title=bad, author=bad),
    ]
    for page in pages:
        assert "<script" not in page and page.count("</style>") == 1 and page.count("<style>") == 1
        foot = re.search(r"@bottom-left \{ content: (.*?); font", page)[1]
        assert re.fullmatch(r'"[^"<>]*"', foot)
