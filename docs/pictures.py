"""Pictures of the app for the tutorial: ``make pictures`` takes them anew from a running app.

Each picture is one entry of PICTURES: an address, a size, and what a visitor does before it is taken. Colours are
reduced to 256, which halves the files and is not seen.
"""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.serving import Server
from tests.browser import chromium

HERE = Path(__file__).parent / "tutorial" / "pictures"
PATIENCE = 120_000  # milliseconds
QUIET = 1_500  # milliseconds without change before a map counts as drawn


def _nothing(_: Page) -> None:
    """What most pictures need."""


def _upload(page: Page) -> None:
    """Bring a small file, as a planner would."""
    draw = Random(0)
    spots = ((draw.gauss(-1.55, 0.04), draw.gauss(47.22, 0.02), draw.randrange(20, 110)) for _ in range(300))
    rows = "".join(f"{x:.5f};{y:.5f};{people}\n" for x, y, people in spots)
    table = f"longitude;latitude;residents\n{rows}unknown;unknown;12\n"
    page.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "our-city.csv", "mimeType": "text/csv", "buffer": table.encode()}
    )
    expect(page.get_by_text("rows read")).to_be_visible()


def _downloads(page: Page) -> None:
    page.get_by_role("button", name="Download").first.click()
    expect(page.get_by_role("button", name="Report").first).to_be_visible()


def _compare(page: Page) -> None:
    expect(page.locator(".er-maps img").first).to_be_visible()


@dataclass(frozen=True)
class Picture:
    """One picture: where, how large, and what is done before it is taken."""

    address: str
    first: Callable[[Page], None] = _nothing
    charts: bool = False
    width: int = 1280
    height: int = 800


PICTURES = {
    "plan": Picture("/?dataset=sacramento&k=8&t=0.3", charts=True),
    "plan-average": Picture("/?dataset=sacramento&k=8&t=0", charts=True),
    "plan-phone": Picture("/?dataset=sacramento&k=8&t=0.3", charts=True, width=390, height=844),
    "data": Picture("/data?dataset=toulouse"),
    "upload": Picture("/data?dataset=toulouse", _upload, height=1000),
    "downloads": Picture("/?dataset=sacramento&k=8&t=0.3", _downloads, charts=True),
    "how-many": Picture("/how_many?dataset=sacramento&k=8&t=0.3", charts=True),
    "compare": Picture("/compare?compare=methods&dataset=sacramento&k=8&t=0.3", _compare, height=1000),
}


def settle(page: Page) -> None:
    """Wait until the page has run and its pixels stay the same."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator("[data-stale=true]")).to_have_count(0)
    before = b""
    for _ in range(PATIENCE // QUIET):
        page.wait_for_timeout(QUIET)
        now = page.screenshot()
        if now == before:
            return
        before = now


def take(browser: Browser, home: str, name: str) -> Path:
    """Take one picture and keep it as a small PNG file."""
    wanted = PICTURES[name]
    context = browser.new_context(
        viewport={"width": wanted.width, "height": wanted.height}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(home + wanted.address)
    expect(page.locator("[data-testid=stApp]")).to_be_visible()
    if wanted.charts:
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
    settle(page)
    wanted.first(page)
    settle(page)
    file = HERE / f"{name}.png"
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    context.close()
    return file


def main(names: list[str]) -> None:
    """Take the pictures that are named, or all."""
    HERE.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    path = chromium.find()
    assert path, "no Chromium: run python -m tests.browser.chromium"
    with Server(plain=True) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=chromium.ARGS)
        for name in names or PICTURES:
            file = take(browser, server.url, name)
            print(f"{file.name:<20}{file.stat().st_size / 1000:>6.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
