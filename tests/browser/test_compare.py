"""Compare and Lab as a planner uses them, in a real browser."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, settled
from tkm_core.methods import FOR_ANYONE, METHODS

pytestmark = pytest.mark.nightly

SMALL = "/compare?compare=methods&dataset=san-francisco&k=4"


def compared(page: Page, methods: int = len(FOR_ANYONE)) -> None:
    """Until table, charts and maps of so many methods are there."""
    expect(page.locator(".er-methods tbody tr")).to_have_count(methods, timeout=40_000)
    expect(page.locator(".js-plotly-plot")).to_have_count(4, timeout=40_000)
    expect(page.locator(".er-maps img")).to_have_count(methods, timeout=40_000)
    settled(page)


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found]


def test_every_method_then_on_the_trade_off(visit: Visit) -> None:
    page = visit(SMALL)
    compared(page)
    expect(page.locator(".st-key-hero h1")).to_contain_text(
        re.compile(r"Of \w+ methods, tilted k-means has the")
    )
    expect(page.locator(".st-key-hero")).to_contain_text("may build only where one of the")
    drawn = page.locator(".er-maps img").evaluate_all(
        "all => all.map(one => one.naturalWidth > 0 && one.alt.length > 40)"
    )
    assert all(drawn), "every small map is a picture with words"
    assert violations(page) == []
    page.get_by_role("link", name="Plan").click()
    expect(page.locator(".st-key-tradeoff")).to_contain_text("JKL", timeout=40_000)


def test_phone_and_dark(visit: Visit) -> None:
    page = visit(SMALL, width=390, height=844, theme="dark")
    compared(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    maps = [page.locator(".er-maps img").nth(n).bounding_box() for n in (0, 1)]
    assert maps[0] and maps[1] and maps[0]["y"] == pytest.approx(maps[1]["y"], abs=30), (
        "two maps side by side"
    )
    assert violations(page) == []


def test_long_run_can_be_stopped_and_keeps_what_is_finished(visit: Visit) -> None:
    page = visit("/compare?compare=methods&dataset=generated-2k&k=3")
    page.get_by_role("button", name="Stop").wait_for(timeout=40_000)
    expect(page.locator("[class*=st-key-long_work]")).to_contain_text(
        f"method 6 of {len(METHODS)}, FR", timeout=40_000
    )
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped:")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Not run yet: FR")).to_be_visible()
    compared(page, methods=5)


def test_lab_compares_solvers_and_runs_an_experiment(visit: Visit) -> None:
    page = visit("/lab?dataset=san-francisco&k=3")
    expect(page.locator(".st-key-hero h1")).to_contain_text("Newton ends lower than SGD", timeout=40_000)
    expect(page.locator(".st-key-solvers_chart .js-plotly-plot")).to_be_visible()
    settled(page)
    assert violations(page) == []
    page.locator(".st-key-experiment").get_by_role("combobox").click()
    page.get_by_role("option", name="Where facilities go as t grows").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="What the numbers say")).to_be_visible(timeout=40_000)
    expect(page.locator(".js-plotly-plot")).to_have_count(1)


def test_stopped_experiment_shows_what_is_finished(visit: Visit) -> None:
    page = visit("/lab?dataset=san-francisco&k=3")
    page.locator(".st-key-experiment").get_by_role("combobox").click()
    page.get_by_role("option", name="What each method costs on average").click()
    page.get_by_text("As in the paper", exact=True).click()
    expect(page.get_by_text("Not run yet with these settings")).to_be_visible(timeout=40_000)
    settled(page)
    page.get_by_role("button", name="Run").click()
    expect(page.locator("[class*=st-key-long_work]")).to_contain_text("k = 4", timeout=40_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"Stopped after \d+ of \d+ runs"))).to_be_visible(timeout=20_000)
