"""Response times of the app in a real browser: the live map, compared with pydeck drawn by the server.

Run it on an idle machine: without a graphics card, the browser draws with the processor.
"""

import time
from typing import Any

import numpy as np

from benchmarks.serving import Server

PRESSES = 30
CITY, LARGE, HUGE = "generated", "generated-100k", "generated-1m"  # 10,000 residents, 100,000, a million
PEER = "benchmarks/pydeck_page.py"
# Records when a key was pressed and when the frame that shows its setting has been painted.
LISTEN = """node => { const view = node.liveMap; window.times = [];
  view.dial.input.addEventListener('keydown', event => { const before = view.at;
    const wait = () => requestAnimationFrame(() => { const frame = new MessageChannel();
      frame.port1.onmessage = () => {
        if (view.at !== before) window.times.push(performance.now() - event.timeStamp); else wait(); };
      frame.port2.postMessage(0); });
    wait(); }); }"""
# Turns the dial at every frame for three seconds, and returns frames per second.
TURN = """node => new Promise(done => { const view = node.liveMap, { input } = view.dial; let at = 0;
  const begun = performance.now(), first = view.frames;
  const step = () => { at = (at + 1) % view.plan.t.length;
    input.value = String(at); input.dispatchEvent(new Event('input'));
    const seconds = (performance.now() - begun) / 1000;
    if (seconds < 3) requestAnimationFrame(step); else done((view.frames - first) / seconds); };
  requestAnimationFrame(step); })"""
PLAY = """node => new Promise(done => { const view = node.liveMap; const first = view.frames, begun = performance.now();
  view.dial.stand(0); view.dial.start();
  setTimeout(() => { view.dial.pause();
    done((view.frames - first) / (performance.now() - begun) * 1000); }, 3000); })"""
# For pydeck: records when the sentence changed, and when the map last received something to draw.
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


class Traffic:
    """Counts the bytes between a page and its server, over the websocket and as files."""

    def __init__(self, page: Any) -> None:
        self.bytes = 0
        line = page.context.new_cdp_session(page)
        line.send("Network.enable")
        for event in ("Network.webSocketFrameReceived", "Network.webSocketFrameSent"):
            line.on(event, lambda frame: self._add(len(frame["response"]["payloadData"]) * 0.75))  # base64
        line.on("Network.loadingFinished", lambda file: self._add(file["encodedDataLength"]))

    def _add(self, count: float) -> None:
        """Count bytes."""
        self.bytes += int(count)


def _first_map(page: Any, address: str, drawn: str) -> float:
    """Seconds from opening a page to a map with something on it."""
    begun = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".st-key-hero h1, [data-testid=stException]", timeout=300_000)
    if page.locator("[data-testid=stException]").count():
        msg = f"{address} shows an error instead of a plan"
        raise RuntimeError(msg)
    page.wait_for_selector(drawn, timeout=120_000)
    return time.perf_counter() - begun


def _live(browser: Any, url: str, dataset: str, presses: int) -> dict[str, Any]:
    """All measurements of the live map of one city."""
    pages = [browser.new_page(viewport={"width": 1440, "height": 900}) for _ in range(2)]
    first, again = (
        _first_map(page, f"{url}/?dataset={dataset}&t=0.2", ".live-map[data-drawn]") for page in pages
    )
    pages[0].close()
    page = pages[1]
    page.wait_for_selector(".live-map[data-ground=laid]", timeout=60_000)
    page.wait_for_timeout(2500)
    shown = page.locator(".live-map")
    shown.evaluate(LISTEN)
    traffic = Traffic(page)
    page.locator(".st-key-t input[type=range]").focus()
    for number in range(presses):
        page.keyboard.press("ArrowRight" if number % 2 == 0 else "ArrowLeft")
        page.wait_for_timeout(900)  # wait until the page has followed the dial
    times = np.array(page.evaluate("() => window.times")) / 1000
    sent = traffic.bytes / presses
    turning, playing = shown.evaluate(TURN), shown.evaluate(PLAY)
    page.close()
    return {
        "first": first,
        "again": again,
        "times": times,
        "bytes": sent,
        "turning": turning,
        "playing": playing,
    }


def _peer(browser: Any, url: str, presses: int) -> dict[str, Any]:
    """The same measurements with pydeck."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    address = f"{url}/?dataset={CITY}"
    _first_map(page, address, "[data-testid=stDeckGlJsonChart] canvas")
    again = _first_map(page, address, "[data-testid=stDeckGlJsonChart] canvas")
    page.wait_for_timeout(2500)
    page.evaluate(WATCH)
    traffic = Traffic(page)
    measured = [_press(page, "ArrowRight" if n % 2 == 0 else "ArrowLeft") for n in range(presses)]
    page.close()
    return {"again": again, "times": np.array(measured), "bytes": traffic.bytes / presses}


def _press(page: Any, key: str) -> float:
    """Seconds from a key press on the dial to the new figures and the map's last new data."""
    page.locator(".st-key-t input[type=range]").focus()
    page.evaluate("() => { window.figuresAt = 0; window.mapAt = 0; window.pressedAt = performance.now(); }")
    page.keyboard.press(key)
    page.wait_for_function("() => window.figuresAt > 0 && window.mapAt > window.pressedAt", timeout=30_000)
    last = -1.0
    while True:  # the map is complete when it has received nothing for a while
        page.wait_for_timeout(350)
        now = page.evaluate("() => Math.max(window.mapAt, window.figuresAt) - window.pressedAt")
        if now == last:
            return float(now / 1000)
        last = now


def _row(case: str, measured: float, unit: str, target: float | None = None, **more: Any) -> dict[str, Any]:
    """One row of the results."""
    return {"case": case, "measured": round(measured, 4), "unit": unit, "target": target, **more}


def run() -> list[dict[str, Any]]:
    """Measure the live map with 10,000 residents against pydeck, and with more residents alone.

    Returns
    -------
    list of dict
        With case, measured, unit and target (None if there is none).
    """
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.ARGS)
        with Server(plain=True, script=PEER) as server:
            old = _peer(browser, server.url, 10)
        with Server(plain=True) as server:
            new = _live(browser, server.url, CITY, PRESSES)
            large = _live(browser, server.url, LARGE, 4)
            huge = _live(browser, server.url, HUGE, 4)
        browser.close()
    median, p95 = np.quantile(new["times"], (0.5, 0.95))
    before, before_p95 = np.quantile(old["times"], (0.5, 0.95))
    said = "key press on the dial to figures and map"
    rows = [
        _row(f"10,000: {said}, median; pydeck {before:.2f} s", median, "s", ratio=before / median),
        _row(f"10,000: {said}, 95th percentile; pydeck {before_p95:.2f} s", p95, "s", 0.05),
        _row(
            f"10,000: traffic a step, page followed; pydeck {old['bytes'] / 1000:,.0f} kB",
            new["bytes"] / 1000,
            "kB",
            20.0,
        ),
        _row(
            f"10,000: fresh page to first map; a page with pydeck alone {old['again']:.2f} s",
            new["again"],
            "s",
            round(old["again"], 2),
            ratio=old["again"] / new["again"],
        ),
        _row("10,000: first page of a new server to first map (plan included)", new["first"], "s"),
    ]
    for name, found, least in (("10,000", new, 30.0), ("100,000", large, 15.0), ("a million", huge, None)):
        rows += [
            _row(f"{name}: frames a second while the dial turns", found["turning"], "", least, least=True),
            _row(f"{name}: frames a second while it plays", found["playing"], "", least, least=True),
        ]
    return rows
