"""The report on paper: no page that is mostly blank, one font, page numbers."""

import re

import numpy as np
import pytest
import shapely
from playwright.sync_api import Browser

from tests.browser.conftest import Visit, ready, settled
from tkm_core.figures import Look, html_report
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import Sites, Zones, load_sample
from tkm_core.stories import tell_plan

PIXELS = 96 / 25.4  # of a browser, for each millimetre
PAPERS = {"A4": (210, 297), "Letter": (216, 279)}
MARGINS = (30, 33)  # millimetres: left and right, above and below
LONG = "The Alderman William Featherstonehaugh Memorial Reference Library and Archive of the County, branch"


def ruled(long: bool) -> Plan:
    """A plan with every kind of thing that stands above or beside the map."""
    city = load_sample("sacramento")
    rows = np.random.default_rng(1).choice(len(city), 30, replace=False)
    name = LONG if long else "Library"
    return make_plan(
        city, 4, t=[0, 1, 10], fixed_lonlat=city.lonlat[rows[:10]], fixed_names=[f"{name} {n}" for n in range(10)],
        closed=[1, 2, 3], sites=Sites(city.lonlat[rows], tuple(f"{name} site {n}" for n in range(30))), capacity=200,
        not_in=Zones((shapely.box(-121.45, 38.5, -121.44, 38.51),), ("Airport",)),
    )  # fmt: skip


@pytest.mark.parametrize("paper", list(PAPERS))
@pytest.mark.parametrize("long", [False, True])
def test_the_first_page_holds_the_map(browser: Browser, paper: str, long: bool) -> None:
    plan = ruled(long)
    title = LONG if long else "Sacramento"
    look, story = Look(facility="library", people="homes"), tell_plan(plan, 1, people="homes")
    report = html_report(plan, 1, story, look, title=title, author=LONG if long else "")
    wide, high = (
        round((side - margin) * PIXELS) for side, margin in zip(PAPERS[paper], MARGINS, strict=True)
    )
    page = browser.new_page(viewport={"width": wide, "height": high})
    page.emulate_media(media="print")
    page.set_content(report)
    picture = page.locator("svg.map").bounding_box()
    legend = page.locator("figure .er-legend").first.bounding_box()
    assert legend["y"] + legend["height"] < high, "the map and its legend are on the first page"
    assert picture["x"] >= 0 and picture["x"] + picture["width"] <= wide + 1
    assert picture["height"] > high * 0.4, "and they are what one sees first"
    fonts = page.evaluate(
        "() => [...new Set([...document.querySelectorAll('body, h1, td, svg text')]"
        ".map(one => getComputedStyle(one).fontFamily))]"
    )
    assert len(fonts) == 1 and "system-ui" not in fonts[0]
    printed = page.pdf(format=paper, prefer_css_page_size=False)
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 3 <= pages <= 6
    assert "counter(page)" in report and "counter(pages)" in report
    page.close()


def test_the_report_uses_the_planners_words_and_its_file_says_what_it_is(visit: Visit) -> None:
    page = visit("/?k=2&t=1")
    ready(page)
    page.get_by_role("button", name="Download").click()
    for label, words in (("Each facility is a", "library"), ("Prepared by", "A. Lee")):
        field = page.get_by_role("textbox", name=label)
        field.fill(words)
        field.press("Enter")
        settled(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Report").click()
    report = saved.value.path().read_text()
    assert "2 libraries</h1>" in report and "prepared by <bdi>A. Lee</bdi>" in report
    assert saved.value.suggested_filename == "sacramento-homes-k2-t1.html"
