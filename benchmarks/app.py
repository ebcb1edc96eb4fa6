"""How quickly the app answers, in a real browser: key press to new figures and to the new map, page to first map."""

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.serving import Server

CASES = (("sacramento", 20), ("generated", 20), ("generated-1m", 8))
TARGETS: dict[str, dict[str, float]] = {
    "sacramento": {"again": 6.0},
    "generated": {"again": 6.0, "figures": 0.3, "map": 1.0},
    "generated-1m": {"figures": 1.0},
}
# Notes when the sentence changed, and when the map was last given something new to draw.
WATCH = """() => {
  const hero = document.querySelector('.st-key-hero');
  window.said = hero.innerText; window.figuresAt = 0; window.mapAt = 0;
  new MutationObserver(() => { if (hero.isConnected && hero.innerText !== window.said) {
    window.said = hero.innerText; window.figuresAt = performance.now(); } })
    .observe(hero, {subtree: true, childList: true, characterData: true});
  const draw = WebGL2RenderingContext.prototype;
  for (const name of ['bufferData', 'bufferSubData', 'texSubImage2D', 'texImage2D']) {
    const plain = draw[name];
    draw[name] = function (...given) { window.mapAt = performance.now(); return plain.apply(this, given); };
  }
}"""


def _first_map(page: Any, address: str) -> float:
    """Seconds from opening the page to a map with something on it."""
    begun = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".st-key-hero h1", timeout=600_000)
    page.wait_for_selector("[data-testid=stDeckGlJsonChart] canvas", timeout=120_000)
    page.wait_for_timeout(50)
    return time.perf_counter() - begun


def _press(page: Any, key: str) -> tuple[float, float]:
    """Seconds from a key press on the dial to the new figures and to the map's last new data."""
    page.locator(".st-key-t input[type=range]").focus()
    page.evaluate("() => { window.figuresAt = 0; window.mapAt = 0; window.pressedAt = performance.now(); }")
    page.keyboard.press(key)
    page.wait_for_function("() => window.figuresAt > 0 && window.mapAt > window.pressedAt", timeout=30_000)
    last = -1.0
    while True:  # the map is done when it has been given nothing new for a while
        page.wait_for_timeout(350)
        now = page.evaluate("() => window.mapAt")
        if now == last:
            break
        last = now
    figures, drawn = page.evaluate(
        "() => [window.figuresAt - window.pressedAt, window.mapAt - window.pressedAt]"
    )
    return figures / 1000, drawn / 1000


def _rows(
    dataset: str, first: float, again: float, figures: list[float], drawn: list[float]
) -> list[dict[str, Any]]:
    """The measurements of one data set as rows; targets are those of the issue, where it names one."""
    goals = TARGETS.get(dataset, {})
    many = f"95th percentile of {len(figures)}, median {statistics.median(figures):.2f} s"
    shown = f"95th percentile of {len(drawn)}, median {statistics.median(drawn):.2f} s"
    measured = {
        "first": (f"{dataset}: first page of a new server to first map (path included)", first),
        "again": (f"{dataset}: fresh page to first map", again),
        "figures": (f"{dataset}: key press on the dial to new figures, {many}", _p95(figures)),
        "map": (f"{dataset}: key press on the dial to new map, {shown}", _p95(drawn)),
    }
    return [
        {"case": case, "measured": round(value, 3), "unit": "s", "target": goals.get(name)}
        for name, (case, value) in measured.items()
    ]


def _p95(values: list[float]) -> float:
    return float(np.quantile(values, 0.95))


def run() -> list[dict[str, Any]]:
    """Measure every case in a browser of its own.

    Returns
    -------
    list of dict
        With case, measured (seconds), unit and target (None where nothing was promised).
    """
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium

    rows: list[dict[str, Any]] = []
    with Server(plain=True) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.ARGS)
        for dataset, presses in CASES:
            address = f"{server.url}/?dataset={dataset}&t=0.2"
            pages = [browser.new_page(viewport={"width": 1440, "height": 900}) for _ in range(2)]
            first, again = (_first_map(page, address) for page in pages)
            pages[0].close()
            page = pages[1]
            page.wait_for_timeout(2500)
            page.evaluate(WATCH)
            measured = [_press(page, "ArrowRight" if n % 2 == 0 else "ArrowLeft") for n in range(presses)]
            figures, drawn = (list(part) for part in zip(*measured, strict=True))
            rows += _rows(dataset, first, again, figures, drawn)
            page.close()
        browser.close()
    return rows
