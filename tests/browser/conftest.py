"""One server and one browser for all browser tests; helpers that wait for what a person would wait for."""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from benchmarks.serving import Server
from tests.browser import chromium
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import load_sample

expect.set_options(timeout=60_000)  # a busy machine is not a broken page
PHONE = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server(plain=True) as running:
        yield running


@pytest.fixture(scope="session")
def maps() -> Iterator[str]:
    """The address of a server with nothing but live maps."""
    with Server(plain=True, script="tests/browser/live_map_page.py") as running:
        yield running.url


@pytest.fixture(scope="session")
def plan() -> Plan:
    """What the live maps show."""
    return make_plan(load_sample("sacramento"), 6, with_t=0.25)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    assert path, "no Chromium: run python -m tests.browser.chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=chromium.ARGS)
        yield opened
        opened.close()


Visit = Callable[..., Page]


@dataclass
class Watched:
    """Pages in browsers of their own, and what must never happen in one."""

    browser: Browser
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, url: str, home: str, width: int, height: int, theme: str, refused: str) -> Page:
        phone = {"user_agent": PHONE, "is_mobile": True, "has_touch": True} if width < 500 else {}
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, accept_downloads=True, **phone
        )
        page = context.new_page()
        page.set_default_timeout(40_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((home, "data:", "blob:", "ws"))
                else self.outside.append(request.url)
            ),
        )
        if refused:
            page.route(refused, lambda route: route.abort())
        page.goto(url)
        return page

    def check(self) -> None:
        outside, errors = self.outside[:3], self.errors[:3]
        self.outside.clear()
        self.errors.clear()
        assert not outside, f"requests to the outside: {outside}"
        assert not errors, f"errors in the browser: {errors}"


@pytest.fixture(scope="module")
def kept(browser: Browser) -> Iterator[dict[tuple[object, ...], tuple[Watched, Page]]]:
    """Pages that tests of a file share, because the first look at one takes longer than what is tried on it."""
    pages: dict[tuple[object, ...], tuple[Watched, Page]] = {}
    yield pages
    for _, page in pages.values():
        page.context.close()


@pytest.fixture
def visit(
    server: Server,
    browser: Browser,
    kept: dict[tuple[object, ...], tuple[Watched, Page]],
    request: pytest.FixtureRequest,
) -> Iterator[Visit]:
    """Opens a page in a browser of its own; at the end no page may have had an error or called outside.

    With `keep` it stays open for the next test of the file that asks for the same, which finds it as it was left.
    """
    own = Watched(browser)
    pages: list[Page] = []
    asked: list[Watched] = [own]
    again = getattr(request.node, "execution_count", 1) > 1

    def go(
        path: str = "/",
        *,
        width: int = 1440,
        height: int = 900,
        theme: str = "light",
        base: str = "",
        refused: str = "",
        keep: bool = False,
    ) -> Page:
        home = base or server.url
        look = (home + path, home, width, height, theme, refused)
        if not keep:
            pages.append(own.open(*look))
            return pages[-1]
        if look in kept and (again or kept[look][1].is_closed()):  # what failed gets a new one
            kept.pop(look)[1].context.close()
        if look not in kept:
            watched = Watched(browser)
            kept[look] = watched, watched.open(*look)
        asked.append(kept[look][0])
        return kept[look][1]

    yield go
    for page in pages:
        page.context.close()
    for watched in asked:
        watched.check()


def settled(page: Page) -> None:
    """Until the script has run and nothing on the page is stale."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator("[data-stale=true]")).to_have_count(0)


def headline(page: Page) -> Locator:
    return page.locator(".st-key-hero h1")


def close_window(page: Page) -> None:
    """Close the window over the page; Escape would only close a tooltip that is open over it."""
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


LIVE, DECK = ".live-map[data-ground=laid] .map", "[data-testid=stDeckGlJsonChart]"


def ready(page: Page) -> None:
    """Until the Plan page is complete: sentence, both charts, and the live map at rest after its first drawing."""
    expect(headline(page)).to_contain_text("average trip")
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    settled(page)
    expect(page.locator(LIVE).first).to_be_visible()


def picture(page: Page, where: str = LIVE) -> np.ndarray:
    """The pixels of a map: the live one, or one that is only looked at (`DECK`)."""
    return np.asarray(Image.open(io.BytesIO(page.locator(where).first.screenshot())).convert("RGB"))


def drawn(page: Page, where: str = LIVE, colours: int = 40) -> np.ndarray:
    """Until a map shows more than its ground."""
    page.locator(where).first.wait_for(timeout=60_000)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pixels = picture(page, where)
        if len(np.unique(pixels.reshape(-1, 3), axis=0)) > colours:
            return pixels
        time.sleep(0.2)
    msg = "the map stayed empty"
    raise AssertionError(msg)


def laid(page: Page, count: int = 1) -> None:
    expect(page.locator(".live-map[data-ground=laid]")).to_have_count(count)


def state(page: Page, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = page.locator(".live-map").nth(number).evaluate("node => node.liveMap.state()")
    return found


def heard(page: Page) -> dict[str, Any]:
    """What the server has understood."""
    found: dict[str, Any] = json.loads(page.locator("[data-testid=stCode] code").inner_text())
    return found


def drag(page: Page, j: int, by: tuple[int, int], *, drop: bool = True) -> None:
    """Take a facility with the mouse and move it."""
    box = page.locator(".live-map .site").nth(j).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=6)
    if drop:
        page.mouse.up()


def leave(page: Page, back: str) -> None:
    """Go from a page of live maps to another and back, as quickly as a hand can."""
    for name, there in (("Other", 0), (back, 1)):
        box = page.get_by_role("link", name=name, exact=True).bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.wait_for_timeout(60)
        page.mouse.up()
        expect(page.locator(".live-map[data-ground=laid]")).to_have_count(there)
    settled(page)
