"""The live map in a real browser: what it draws is what Python says."""

import re
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, drag, heard, laid, ready, settled, state
from tests.waiting import until
from tkm_core.figures import Look, colour_scheme
from tkm_core.figures.crowd import classes
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import load_sample
from tkm_core.stories import tell_move, tell_plan
from tkm_core.wording import dial_text

# Turns the dial to every setting, as a hand does, and notes after each frame what is shown and drawn.
TURN = """async node => {
  const view = node.liveMap, found = [];
  for (let i = 0; i < view.plan.t.length; i++) {
    view.dial.input.value = String(i);
    view.dial.input.dispatchEvent(new Event('input'));
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const { sites, label, classes, farthest } = view.state();
    found.push({ sites, label, classes, farthest, said: document.querySelector('.sentence h1').textContent,
      shown: node.querySelector('.shown').textContent, spoken: view.dial.input.getAttribute('aria-valuetext'),
      told: node.querySelector('.far-label').textContent, card: node.querySelector('.card').textContent,
      note: node.querySelector('.note').textContent, top: node.querySelector('.map').offsetTop });
  }
  return found;
}"""


@pytest.mark.nightly
def test_every_setting_is_drawn_and_told_as_python_says(visit: Visit, plan: Plan) -> None:
    page = visit("/?units=mi")
    ready(page)
    for colour, name in (("facility", ""), ("distance", "Distance to it"), ("change", "Gain or loss")):
        if name:
            page.locator(".st-key-colour").get_by_role("combobox").click()
            page.get_by_role("option", name=name).click()
            expect(page).to_have_url(re.compile(f"colour={colour}"))
            settled(page)
        _compare(page.locator(".live-map").evaluate(TURN), plan, colour)
        settled(page)
        expect(page).to_have_url(re.compile(r"[?&]t=inf\b"))


def _compare(found: list[dict[str, Any]], plan: Plan, colour: str) -> None:
    """Hold what was drawn and said at every setting against the plan."""
    scheme = colour_scheme(plan, Look(colour=colour, unit="mi", people="homes"))
    base = plan.baseline_evaluation()
    assert len(found) == len(plan)
    for i, shown in enumerate(found):
        evaluation = plan.evaluation(i)
        story = tell_plan(plan, i, unit="mi", standard=6.2 * 1609.344, people="homes")
        assert shown["said"] == story.headline_text
        assert shown["shown"] == f"t = {dial_text(plan.t[i])}"
        np.testing.assert_allclose(shown["sites"], plan.centers_lonlat(i), atol=1e-6)
        assert shown["label"] == evaluation.labels.tolist()
        parts = {"labels": evaluation.labels, "distance": evaluation.distance}
        expected = classes(scheme, **parts, change=base.distance - evaluation.distance)
        assert np.mean(np.asarray(shown["classes"]) != expected) < 0.002, (
            "at most a resident on a class's edge"
        )
        who = evaluation.trips(plan.residents.weights).farthest
        np.testing.assert_allclose(shown["farthest"]["lonlat"], plan.residents.lonlat[who], atol=1e-6)
        assert shown["farthest"]["by"] == evaluation.labels[who]
        miles = f"farthest home {evaluation.largest_distance / 1609.344:.1f} mi"
        assert shown["told"] == miles and shown["spoken"] == f"t = {dial_text(plan.t[i])}, {miles}"


def test_keys_turn_the_dial_and_the_server_hears_only_of_the_end(visit: Visit, maps: str, plan: Plan) -> None:
    page = visit("/?t=0", base=maps, keep=True)
    laid(page)
    dial = page.get_by_role("slider", name="Fairness dial")
    dial.focus()
    for key, at in (("End", -1), ("Home", 0), ("ArrowRight", 1), ("ArrowUp", 2)):
        page.keyboard.press(key)
        expect(page.locator(".live-map .shown")).to_have_text(f"t = {dial_text(plan.t[at])}")
    page.keyboard.press("PageUp")
    expect(page.locator(".live-map .shown")).not_to_have_text(f"t = {dial_text(plan.t[2])}")
    expect(page.locator("[data-testid=stCode]")).to_contain_text('"what": "dial"')
    settled(page)
    assert heard(page)["t"] == float(state(page)["t"])
    assert len(heard(page)["log"]) <= 5
    before = len(heard(page)["log"])
    page.locator(".live-map").evaluate(TURN)
    expect(page.locator("[data-testid=stCode]")).to_contain_text('"t": Infinity')
    assert len(heard(page)["log"]) - before <= 3, "a turn is not a message"


def test_two_maps_move_in_step(visit: Visit, maps: str) -> None:
    page = visit("/?two=1", base=maps)
    laid(page, 2)
    page.get_by_role("button", name="Zoom in").first.click()
    page.wait_for_function(
        """() => { const all = [...document.querySelectorAll('*')]
        .map(one => one.shadowRoot?.querySelector('.live-map')).filter(Boolean)
        .map(node => JSON.stringify(node.liveMap.state().view)); return all[0] === all[1]; }"""
    )
    page.get_by_role("slider", name="Fairness dial").nth(1).focus()
    page.keyboard.press("End")
    expect(page.locator(".live-map .shown").first).to_have_text("t = ∞")
    assert state(page, 0)["sites"] == state(page, 1)["sites"]


def test_what_is_told_about_a_facility_follows_the_dial_and_jumps_are_said(
    visit: Visit, maps: str, plan: Plan
) -> None:
    page = visit("/?t=0", base=maps, keep=True)
    laid(page)
    settled(page)
    page.get_by_role("slider", name="Fairness dial").press("Home")
    expect(page.locator(".live-map .shown")).to_have_text("t = 0")
    expect(page.locator(".live-map .note")).to_have_text("")
    page.locator(".live-map .site").nth(2).click()
    found = page.locator(".live-map").evaluate(TURN)
    said = ""
    for i, shown in enumerate(found):
        people, far = plan.evaluation(i).population[2], plan.evaluation(i).max_distance[2] / 1000
        assert f"Serves {people:,.0f} homes, farthest {far:.1f} km." in shown["card"]
        jumps = i > 0 and plan.path.arrangement[i] != plan.path.arrangement[i - 1]
        if jumps:
            said = f"At t = {dial_text(plan.t[i])} the facilities jump to another arrangement."
        assert shown["note"] == said or (shown["note"] == "" and not jumps)
    assert said and len({shown["top"] for shown in found}) == 1, "nothing below moves"
    expect(page.locator(".live-map .note")).to_have_text("")


def test_a_city_of_very_many_is_drawn_as_cells(visit: Visit, maps: str) -> None:
    page = visit("/?dataset=generated-60k&k=3&t=0", base=maps)
    laid(page)
    plan = make_plan(load_sample("generated-60k"), 3, t=[0, 0.25, np.inf])
    expect(page.locator(".live-map .legend")).to_contain_text("too many homes for single points: cells of")
    view = page.locator(".live-map")
    cells = np.array(view.evaluate("({liveMap: {residents: all}}) => [...all.x, ...all.y, ...all.people]"))
    x, y, people = cells.reshape(3, -1)
    assert people.sum() == len(plan.residents)
    for i in range(len(plan)):
        shown = state(page)
        sites = plan.centers_xy(i) - plan.residents.origin
        squared = (x[:, None] - sites[:, 0]) ** 2 + (y[:, None] - sites[:, 1]) ** 2
        ordered = np.sort(squared, axis=1)
        clear = ordered[:, 1] - ordered[:, 0] > 1.0  # square metres: nobody on the edge of two areas
        np.testing.assert_array_equal(np.array(shown["label"])[clear], squared.argmin(axis=1)[clear])
        far = f"farthest home {plan.evaluation(i).largest_distance / 1000:.1f} km"
        expect(page.locator(".live-map .far-label")).to_have_text(far)
        page.get_by_role("slider", name="Fairness dial").press("ArrowRight")
        expect(page.locator(".live-map .shown")).to_have_text(f"t = {dial_text(plan.t[min(i + 1, 2)])}")


@pytest.mark.nightly
def test_a_facility_can_be_tried_elsewhere_and_pinned(visit: Visit, plan: Plan) -> None:
    page = visit()
    ready(page)
    page.locator(".live-map .site").nth(2).click()
    i = plan.index(0.25)
    card = page.locator(".live-map .card")
    expect(card).to_contain_text(f"Serves {plan.evaluation(i).population[2]:,.0f} homes")
    drag(page, 2, (60, -40))
    trial = state(page)["trial"]
    rows = tell_move(plan, i, 2, trial["lonlat"], standard=10_000, people="homes")
    expect(card.locator("tr")).to_have_count(len(rows) + 1)
    for shown, row in zip(card.locator("tr").all()[1:], rows, strict=True):
        assert shown.inner_text().split("\t") == [
            row.label,
            row.plan_text,
            row.reference_text,
            row.change_text,
        ]
    found = Axe().run(page).response["violations"]
    assert not found, [(one["id"], one["nodes"][0]["html"]) for one in found]
    page.get_by_role("button", name="Put it back").click()
    expect(card).to_be_hidden()
    np.testing.assert_allclose(state(page)["sites"], plan.centers_lonlat(i), atol=1e-6)
    _stand_in_place(page, plan.centers_lonlat(i))
    page.locator(".live-map .site").nth(2).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(card.locator("tr")).to_have_count(len(rows) + 1)
    there = state(page)["trial"]["lonlat"]
    page.get_by_role("button", name="Keep it there and place the others anew").click()
    expect(page.get_by_text("One facility is pinned")).to_be_visible()
    settled(page)
    pinned = make_plan(plan.residents, 5, fixed_lonlat=[np.round(there, 5)], pinned=1, with_t=0.25)
    np.testing.assert_allclose(state(page)["sites"], pinned.centers_lonlat(pinned.index(0.25)), atol=2e-5)
    assert f"pins={there[0]:.5f}" in page.url
    page.get_by_role("button", name="Set free").click()
    expect(page.get_by_text("One facility is pinned")).to_have_count(0)
    page.locator(".live-map .maplibregl-canvas").focus()
    page.keyboard.press("Enter")
    boxes = [page.locator(f".live-map {it}").bounding_box() for it in (".asked", ".map")]
    assert all(boxes), "the place that was asked about is marked"
    asked, middle = (dict[str, float](box) for box in boxes)
    for at, size in (("x", "width"), ("y", "height")):
        assert asked[at] + asked[size] / 2 == pytest.approx(middle[at] + middle[size] / 2, abs=1)
    page.get_by_role("button", name="Pin one of the 6 here").click()
    expect(page.get_by_text("One facility is pinned")).to_be_visible()
    expect(page.locator(".live-map .site.pinned")).to_have_count(1)


def _stand_in_place(page: Page, lonlat: np.ndarray) -> None:
    """Hold the pixels that facilities stand on against the Mercator projection, written out."""
    view, ground = state(page)["view"], page.locator(".live-map .map").bounding_box()
    assert ground
    spots = np.vstack([lonlat, view["center"]])
    north = np.log(np.tan(np.pi / 4 + np.radians(spots[:, 1]) / 2)) / (2 * np.pi)
    world = 512 * 2 ** view["zoom"] * np.column_stack([spots[:, 0] / 360, -north])
    middle = np.array([ground["x"] + ground["width"] / 2, ground["y"] + ground["height"] / 2])
    boxes = [site.bounding_box() for site in page.locator(".live-map .site").all()]
    shown = [[box["x"] + box["width"] / 2, box["y"] + box["height"] / 2] for box in boxes if box]
    np.testing.assert_allclose(shown, world[:-1] - world[-1] + middle, atol=1)


def test_a_chosen_site_has_its_own_name_and_not_its_neighbours(visit: Visit, maps: str) -> None:
    page = visit("/?dataset=quarters-close&k=2&t=0", base=maps)
    laid(page)
    shown = state(page)
    assert np.round(sorted(shown["sites"]), 2).tolist() == [[1.15, 43.15], [1.45, 43.45]]
    assert shown["named"][:2] == ["Oak", "Elm"], "before the names beside them"


QUARTERS = "/?dataset=quarters&k=2"


def test_areas_are_drawn_as_areas_with_their_names(visit: Visit, maps: str) -> None:
    page = visit(QUARTERS, base=maps)
    laid(page)
    shown = state(page)
    view = page.locator(".live-map")
    named = "Quarter <b>0</b>0"
    assert "Town <b>hall</b>" in shown["named"], "the name of an existing facility, as text"
    pixels = view.evaluate("node => node.liveMap.state().pixel([1.05, 43.05])")
    cover = view.evaluate("(node, at) => node.liveMap.shapes.under(node.liveMap.camera, at)", pixels)
    assert cover == 0, "the first quarter covers its middle"
    outside = view.evaluate("node => node.liveMap.state().pixel([0.99, 43.05])")
    assert view.evaluate("(node, at) => node.liveMap.shapes.under(node.liveMap.camera, at)", outside) == -1
    expected = [*shown["colours"][shown["classes"][0]], 150]
    ink = """(node, [x, y]) => { const canvas = node.querySelector('canvas.crowd');
      const share = canvas.width / canvas.clientWidth;
      return Array.from(canvas.getContext('2d').getImageData(x * share, y * share, 1, 1).data); }"""
    np.testing.assert_allclose(view.evaluate(ink, pixels), expected, atol=2)
    assert view.evaluate(ink, outside) == [0, 0, 0, 0]
    box = page.locator(".live-map .map").bounding_box()
    assert box
    page.mouse.move(box["x"] + pixels[0], box["y"] + pixels[1])
    tip = page.locator(".live-map .tip")
    expect(tip).to_contain_text(named)
    facility = r"(existing facility 1, Town <b>hall</b>|new facility \d)"
    assert re.search(rf"^[\d.]+ km to {facility}$", tip.inner_text(), re.MULTILINE), "in words, as text"
    for _ in range(2):
        page.get_by_role("button", name="Zoom in").click()
    until(lambda: any(name.startswith("Quarter") for name in state(page)["named"]))  # closer, there is room
    page.get_by_role("button", name="Reset view").click()
    until(lambda: abs(state(page)["view"]["zoom"] - shown["view"]["zoom"]) < 0.01)


def test_a_plan_with_rules_is_shown_as_python_worked_it_out(visit: Visit, maps: str) -> None:
    page = visit("/?dataset=quarters-ruled&k=2&t=0", base=maps)
    laid(page)
    view = page.locator(".live-map")
    sent = view.evaluate("node => Array.from(node.liveMap.service.labels(node.liveMap.plan.arrangement[0]))")
    assert state(page)["label"] == sent
    assert max(state(page)["distance"]) > 10_000  # metres, as Python measured them
    sites = view.evaluate("node => node.liveMap.plan.candidates.map(site => site.lonlat)")
    drag(page, 0, (30, 20))
    trial = state(page)["trial"]
    assert trial["lonlat"] in sites, "it snaps to a candidate site"
    expect(page.locator(".live-map .card")).to_contain_text("Farthest home")
    expect(page.locator(".live-map .card")).not_to_contain_text("about")
    assert heard(page)["log"][-1]["lonlat"] in sites
    page.locator(".live-map .site").nth(0).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert state(page)["trial"]["lonlat"] in sites


def test_a_street_map_that_cannot_be_reached_is_told(visit: Visit, maps: str) -> None:
    page = visit("/?web=1", base=maps, refused="**/nowhere.json")
    expect(page.locator(".live-map .remark")).to_contain_text("cannot be reached")
    laid(page)


def test_a_phone_sees_all_of_the_map(visit: Visit, maps: str) -> None:
    page = visit(QUARTERS, base=maps, width=390, height=844)
    laid(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    for part in (".zoom", ".scale", ".dial", ".legend"):
        box = page.locator(f".live-map {part}").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390, part
    page.locator(".live-map .map").scroll_into_view_if_needed()
    site = page.locator(".live-map .site.new").first.bounding_box()
    assert site
    x, y = site["x"] + site["width"] / 2, site["y"] + site["height"] / 2
    finger = page.context.new_cdp_session(page)
    for what, by in (("Start", 0), ("Move", 15), ("Move", 30), ("End", 30)):
        touches = [{"x": x + by, "y": y + by}] if what != "End" else []
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{what}", "touchPoints": touches})
    expect(page.locator(".live-map .card table")).to_be_visible()
    moved = page.locator(".live-map .site.moved").bounding_box()
    assert moved and moved["x"] - site["x"] == pytest.approx(30, abs=2), (
        "a finger drags a facility, not the page"
    )
