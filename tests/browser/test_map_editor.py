"""The editor of sites and zones in a real browser: every edit reaches the server once, by mouse and by keyboard."""

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, leave, settled


@pytest.fixture
def page(visit: Visit, maps: str) -> Page:
    """The editor as it was at first: what one of these tests adds, it deletes."""
    shown = visit("/editor", base=maps, keep=True)
    expect(shown.locator(".live-map[data-ground=laid]")).to_have_count(1)
    settled(shown)
    return shown


def known(page: Page) -> dict[str, Any]:
    """What the server has understood."""
    found: dict[str, Any] = json.loads(page.locator("[data-testid=stCode] code").inner_text())
    return found


def drawn(page: Page) -> dict[str, Any]:
    """What the browser shows."""
    found: dict[str, Any] = page.locator(".live-map").evaluate("node => node.liveMap.state()")
    return found


def agreed(page: Page) -> dict[str, Any]:
    """Until server and browser have the same; then that."""
    page.wait_for_function(
        """() => { const map = [...document.querySelectorAll('*')]
          .map(one => one.shadowRoot?.querySelector('.live-map')).find(Boolean).liveMap.state();
          const told = JSON.parse(document.querySelector('[data-testid=stCode] code').innerText);
          const plain = it => JSON.stringify([it.sites.map(s => [s.id, s.name, s.lonlat]),
            it.zones.map(z => [z.id, z.name, z.kind, z.ring])]);
          return plain(map) === plain(told); }"""
    )
    settled(page)
    return known(page)


def spot(page: Page, x: float, y: float) -> tuple[float, float]:
    box = page.locator(".live-map .map").bounding_box()
    assert box
    return box["x"] + x, box["y"] + y


def test_sites_are_added_moved_named_and_deleted(page: Page) -> None:
    page.get_by_role("button", name="Add site").click()
    page.mouse.click(*spot(page, 700, 400))
    page.get_by_label("Name").fill("<img src=x> Mill")
    page.get_by_role("button", name="Done").click()
    added = agreed(page)["sites"][-1]
    assert added["id"].startswith("new-") and added["name"] == "<img src=x> Mill"
    page.mouse.move(*spot(page, 700, 400))
    page.mouse.down()
    page.mouse.move(*spot(page, 640, 360), steps=5)
    page.mouse.up()
    moved = agreed(page)["sites"][-1]
    assert moved["lonlat"][0] < added["lonlat"][0] and moved["lonlat"][1] > added["lonlat"][1]
    page.get_by_role("button", name="Select").click()
    mill = page.get_by_role("button", name="Site <img src=x> Mill")
    mill.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    again = agreed(page)["sites"][-1]
    assert again["lonlat"][0] < moved["lonlat"][0] and again["lonlat"][1] == pytest.approx(
        moved["lonlat"][1], abs=1e-5
    )
    mill.focus()
    page.keyboard.press("Delete")
    assert [site["id"] for site in agreed(page)["sites"]] == ["s1", "s2"]
    page.get_by_role("button", name="Site Fixed").focus()
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowUp")
    page.wait_for_timeout(900)
    assert agreed(page)["sites"][1] == {"id": "s2", "name": "Fixed", "lonlat": [-121.2, 38.8], "locked": True}


def test_zones_are_drawn_edited_and_deleted(page: Page) -> None:
    page.get_by_role("button", name="Draw zone").click()
    page.get_by_role(
        "button", name="No facilities in here"
    ).click()  # what it will mean is said before it is drawn
    expect(page.get_by_role("button", name="Facilities only in here")).to_be_visible()
    corners = [(600, 150), (760, 170), (740, 300), (610, 290)]
    for x, y in corners:
        page.mouse.click(*spot(page, x, y))
        page.wait_for_timeout(350)  # two quick clicks are a zoom
    page.mouse.click(*spot(page, *corners[0]))  # at the first corner it closes
    zone = agreed(page)["zones"][-1]
    assert len(zone["ring"]) == 4 and zone["kind"] == "only_in"
    page.get_by_label("No facilities in here").check()
    page.get_by_label("Name").fill("Airport")
    page.keyboard.press("Tab")
    assert (agreed(page)["zones"][-1]["kind"], known(page)["zones"][-1]["name"]) == ("not_in", "Airport")
    between = page.get_by_role("button", name="New corner after corner 1.").bounding_box()
    assert between
    page.mouse.move(between["x"] + 5, between["y"] + 5)
    page.mouse.down()
    page.mouse.move(between["x"] + 5, between["y"] - 30, steps=4)
    page.mouse.up()
    ring = agreed(page)["zones"][-1]["ring"]
    assert len(ring) == 5 and ring[1][1] > max(ring[0][1], ring[2][1])
    page.get_by_role("button", name="Corner 2 of 5.").focus()
    page.keyboard.press("Delete")
    assert agreed(page)["zones"][-1]["ring"] == zone["ring"]
    page.get_by_role("button", name="Corner 1 of 4.").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert agreed(page)["zones"][-1]["ring"][0][1] > zone["ring"][0][1]
    page.get_by_role("button", name="Not in Airport").focus()
    page.keyboard.press("Delete")
    assert [zone["id"] for zone in agreed(page)["zones"]] == ["z1"]


def test_everything_can_be_drawn_with_the_keyboard_and_axe_finds_nothing(page: Page) -> None:
    canvas = page.locator(".live-map .maplibregl-canvas")
    page.get_by_role("button", name="Draw zone").press("Enter")
    canvas.focus()
    for key in ("", "ArrowRight", "ArrowDown"):
        if key:
            page.keyboard.press(key)
            page.wait_for_timeout(500)  # the map glides
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Close the zone").press("Enter")
    assert len(agreed(page)["zones"][-1]["ring"]) == 3
    page.get_by_role("button", name="Add site").press("Enter")
    canvas.focus()
    page.keyboard.press("Enter")
    assert len(agreed(page)["sites"]) == 3
    found = Axe().run(page).response["violations"]
    assert not found, [(one["id"], one["nodes"][0]["html"]) for one in found]
    page.get_by_role("button", name="Draw zone").press("Enter")
    canvas.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert drawn(page)["corners"] == [] and drawn(page)["tool"] == "zone"
    page.keyboard.press("Escape")
    assert drawn(page)["tool"] == "look"
    page.close()  # it is not as it was


@pytest.mark.nightly
def test_quick_edits_on_a_slow_server_are_all_followed(visit: Visit, maps: str) -> None:
    page = visit("/editor?slow=1", base=maps)
    expect(page.locator(".live-map[data-ground=laid]")).to_have_count(1)
    page.get_by_role("button", name="Add site").click()
    for n in range(5):
        page.wait_for_timeout(320 if n else 0)
        page.mouse.click(*spot(page, 500 + 40 * n, 300))
    leave(page, "Editor")  # before the server has heard of all
    assert len(agreed(page)["sites"]) == 7
    page.get_by_role("button", name="Remove all").click()  # the page may change the drawing, too
    expect(page.locator(".live-map .handle")).to_have_count(0)
    assert agreed(page) == {"sites": [], "zones": []}
    page.get_by_role("button", name="Begin again").click()
    expect(page.locator("[data-testid=stCode]")).to_contain_text("School")
    leave(page, "Editor")
    assert [site["id"] for site in agreed(page)["sites"]] == ["s1", "s2"], (
        "what was answered is not said again"
    )
