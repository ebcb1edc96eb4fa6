"""Long work beside the plan: files of many rows and experiments, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pages.session.background import LOOK
from tests.browser.conftest import LIVE, Visit, close_window, ready, settled

pytestmark = pytest.mark.nightly


def test_another_window_may_follow_the_downloads_of_a_large_city(visit: Visit) -> None:
    page = visit("/?dataset=generated-12k&k=3")
    ready(page)
    page.get_by_role("button", name="Download", exact=True).click()
    expect(page.get_by_role("button", name="Who goes where: make the file")).to_be_visible()
    close_window(page)
    settled(page)
    page.get_by_role("button", name="Share", exact=True).click()
    window = page.get_by_role("dialog")
    expect(window).to_contain_text("This link shows the same plan elsewhere.")
    page.wait_for_timeout(3_000 * LOOK)  # what was left of the first window would redraw itself meanwhile
    expect(window).to_contain_text("This link shows the same plan elsewhere.")
    expect(page.locator(".st-key-hero")).to_be_visible()


def test_a_large_file_is_made_while_the_dial_goes_on(visit: Visit, request: pytest.FixtureRequest) -> None:
    # At a second try the first one's file may be there already.
    k = 2 + getattr(request.node, "execution_count", 1)
    page = visit(f"/?dataset=generated-150k&k={k}")
    ready(page)
    page.get_by_role("button", name="Download").click()
    make = page.get_by_role("button", name="Who goes where: make the file")
    make.click()
    bar = page.locator(".st-key-background_bar")
    expect(bar).to_contain_text("Who goes where at t = 0.25: ")
    bar.get_by_role("button", name="Stop").click()
    expect(make).to_be_visible()
    make.click()
    expect(bar).to_be_visible()
    close_window(page)
    page.locator(".st-key-t input[type=range]").focus()
    top = page.locator(LIVE).evaluate("map => map.getBoundingClientRect().y")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-hero")).not_to_contain_text("dial is at t = 0.25.")
    now = page.locator(LIVE).evaluate("map => map.getBoundingClientRect().y")
    assert now == pytest.approx(top, abs=1), "a shorter sentence does not move what lies below"
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".st-key-hero")).to_contain_text("dial is at t = 0.25.")
    page.get_by_role("button", name="Download").click()
    save = page.get_by_role("button", name="Who goes where", exact=True)
    expect(save).to_be_visible()
    settled(page)
    with page.expect_download() as saved:
        save.click()
    assert saved.value.suggested_filename.endswith(f"k{k}-t0.25-allocations.geojson")
    assert len(re.findall(rb'"resident"', Path(saved.value.path()).read_bytes())) == 150_000


def test_a_stopped_experiment_shows_what_is_finished(visit: Visit) -> None:
    page = visit("/lab?dataset=sacramento&k=8")
    page.locator(".st-key-experiment").get_by_role("combobox").click()
    page.get_by_role("option", name="How unequal each cluster is").click()
    page.get_by_text("As in the paper").click()
    expect(page.get_by_text("Not run yet with these settings")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Run").click()
    expect(page.locator("[class*=st-key-long_work]")).to_contain_text("repeat 2")
    page.locator("[class*=st-key-long_work]").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped: How unequal each cluster is")).to_be_visible()
    expect(page.get_by_role("heading", name="What the numbers say")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Stopped after \d+ of \d+ runs"))).to_be_visible()
