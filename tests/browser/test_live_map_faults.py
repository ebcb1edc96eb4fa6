"""The live map in a real browser: nothing snaps back and nothing is lost, whatever interrupts it."""

import re

import numpy as np
import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.conftest import Visit, drag, heard, laid, leave, settled, state
from tests.waiting import until
from tkm_core.planning import Plan
from tkm_core.wording import dial_text

pytestmark = pytest.mark.nightly


def test_nothing_snaps_back_while_the_server_is_slow(visit: Visit, maps: str, plan: Plan) -> None:
    page = visit("/?slow=1&t=0", base=maps)
    laid(page)
    settled(page)
    page.get_by_role("slider", name="Fairness dial").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)  # told; the server is at work
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    seen = set()

    def answered() -> bool:
        seen.add(state(page)["at"])
        return bool(heard(page)["t"] == plan.t[5])

    until(answered)
    assert seen == {5}
    drag(page, 2, (40, 30))  # and a facility, twice in quick succession
    drag(page, 4, (-30, 40))
    placed = state(page)["trial"]
    assert placed["j"] == 4
    expect(page.locator("[data-testid=stCode]")).to_contain_text('"j": 4')
    settled(page)
    assert state(page)["trial"]["lonlat"] == placed["lonlat"]
    leave(page, "Maps")
    after = state(page)
    assert after["at"] == 5
    np.testing.assert_allclose(after["trial"]["lonlat"], placed["lonlat"])
    page.get_by_role("slider", name="Fairness dial").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)  # told; while the server is at work, the dial goes on, and the page is left
    page.keyboard.press("ArrowRight")
    leave(page, "Maps")
    assert state(page)["at"] == 7, "Streamlit forgets such a turn, the map does not"
    expect(page.locator("[data-testid=stCode]")).to_contain_text(f'"t": {plan.t[7]}')


def test_a_lost_connection_loses_nothing(visit: Visit, maps: str, plan: Plan) -> None:
    open_: list[WebSocketRoute] = []
    lost = False

    def relay(route: WebSocketRoute) -> None:
        if lost:
            route.close()
            return
        route.connect_to_server()
        open_.append(route)

    page = visit("/guide", base=maps)
    page.route_web_socket(re.compile("stream"), relay)
    page.goto(f"{maps}/?t=0")
    laid(page)
    settled(page)
    lost = True
    open_[-1].close()
    page.get_by_role("slider", name="Fairness dial").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".live-map .shown")).to_have_text(f"t = {dial_text(plan.t[2])}")
    page.wait_for_timeout(800)
    lost = False
    expect(page.locator("[data-testid=stCode]")).to_contain_text(f'"t": {plan.t[2]}')
    settled(page)
    expect(page.locator(".live-map .shown")).to_have_text(f"t = {dial_text(plan.t[2])}")


def test_a_hidden_tab_and_a_change_of_theme_in_mid_drag(visit: Visit, maps: str) -> None:
    page = visit("/?t=0", base=maps)
    laid(page)
    page.get_by_role("button", name="Play").click()
    # a browser asks nobody in a hidden tab for a frame
    page.evaluate("() => { window.shown = requestAnimationFrame; window.held = [];"
                  " window.requestAnimationFrame = frame => held.push(frame); }")  # fmt: skip
    page.wait_for_function("() => held.length", polling=50)  # by default it waits for frames itself
    before = state(page)["at"]
    page.wait_for_timeout(1500)
    after = page.locator(".live-map").evaluate(
        """node => { window.requestAnimationFrame = shown; held.forEach(frame => frame(performance.now()));
        return node.liveMap.state().at; }"""
    )
    assert before < after <= before + 1, "it goes on where it was"
    page.get_by_role("button", name="Pause").click()
    settled(page)
    drag(page, 1, (50, 20), drop=False)
    lifted = state(page)["trial"]["lonlat"]
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".live-map .map")).to_have_css("background-color", "rgb(22, 31, 36)")
    assert state(page)["trial"]["lonlat"] == lifted
    page.mouse.up()
    expect(page.locator(".live-map .card table")).to_be_visible()
    assert state(page)["trial"]["lonlat"] == lifted
    assert heard(page)["log"][-1]["lonlat"] == lifted
