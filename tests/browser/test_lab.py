"""The Lab's figures on narrow screens and in the dark, in a real browser."""

import itertools
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit, settled
from tests.browser.test_visit import violations
from tkm_core.figures.palette import contrast

pytestmark = pytest.mark.nightly


def run(page: Page, experiment: str) -> None:
    """Choose an experiment at the side and run it on the city."""
    expect(page.locator(".st-key-hero h1")).to_contain_text("Newton ends lower than SGD")
    if page.viewport_size and page.viewport_size["width"] < 500:
        page.locator("[data-testid=stExpandSidebarButton]").click()
    page.locator(".st-key-experiment").get_by_role("combobox").click()
    page.get_by_role("option", name=experiment).click()
    expect(page.get_by_role("heading", name=experiment)).to_be_attached()
    if page.viewport_size and page.viewport_size["width"] < 500:
        page.locator("[data-testid=stSidebarCollapseButton] button").click()
    settled(page)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="What the numbers say")).to_be_visible()
    settled(page)


def colour(where: Locator, name: str = "fill") -> tuple[int, int, int]:
    said = where.evaluate(f"node => getComputedStyle(node).{name}")
    red, green, blue = map(int, re.findall(r"\d+", said)[:3])
    return red, green, blue


def test_dark_and_1024_wide_everything_can_be_read(visit: Visit) -> None:
    page = visit("/lab?dataset=san-francisco&k=3", width=1024, theme="dark")
    run(page, "How unequal each cluster is")
    legend = page.locator(".js-plotly-plot .legend").bounding_box()
    title = page.locator(".js-plotly-plot .annotation-text").first.bounding_box()
    assert legend and title
    assert legend["y"] + legend["height"] <= title["y"] + 2, "the legend may not lie over the title"
    for number in range(2):
        button = page.locator(".updatemenu-button").nth(number)
        ground = colour(button.locator(".updatemenu-item-rect"))
        assert contrast(colour(button.locator("text")), ground) > 4.5
    assert violations(page) == []


def test_on_a_phone_the_panels_stand_one_below_another(visit: Visit) -> None:
    page = visit("/lab?dataset=san-francisco&k=3", width=390, height=844)
    run(page, "Where facilities go as t grows")
    boxes = [one.bounding_box() for one in page.locator(".js-plotly-plot .nsewdrag").all()]
    titles = [one.bounding_box() for one in page.locator(".js-plotly-plot .annotation-text").all()]
    assert len(boxes) >= 2
    for above, below in itertools.pairwise(boxes):
        assert above and below and above["y"] + above["height"] < below["y"]
    assert all(box and box["width"] > 200 for box in boxes)
    assert all(title and title["x"] >= 0 and title["x"] + title["width"] <= 390 for title in titles)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
