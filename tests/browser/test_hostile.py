"""What comes from outside is text in a real browser: no link, no picture, no script, on any page."""

import json
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, drawn, settled
from tkm_core.export import plan_json
from tkm_core.planning import make_plan
from tkm_core.residents import Report
from tkm_core.residents.existing import Existing
from tkm_core.residents.samples import load_sample

EVIL = (
    "[Log in](//e.example/1) ![x](https://e.example/2.png) <img src=//e.example/3 onerror=alert(1)> "
    '<a href="//e.example/4">go</a> <script>alert(1)</script> https://e.example/5 www.e.example/6 '
    "me@e.example <http://e.example/7> :material/home: :red[no] $x^2$ &lt;b&gt; :smile:"
)
LIVE = """() => { const all = root => [...root.querySelectorAll('*')].flatMap(
    one => one.shadowRoot ? [one, ...all(one.shadowRoot)] : [one]);
  return all(document).flatMap(element => [...element.attributes]
    .filter(one => ['href', 'src', 'srcset', 'xlink:href', 'action', 'onerror'].includes(one.name))
    .filter(one => one.value.includes('e.example'))
    .map(one => `${element.tagName} ${one.name}=${one.value}`)); }"""


def live(page: Page) -> list[str]:
    """Links, pictures and forms that lead where a text from outside says."""
    found: list[str] = page.evaluate(LIVE)
    mail = page.locator("a[href^='mailto:']").evaluate_all("all => all.map(one => one.href)")
    return [*found, *mail]


def words(page: Page) -> str:
    """What is read on the page, without the marks nobody sees."""
    inside = page.locator(".live-map").all_inner_texts()  # it has a root of its own
    return " ".join([page.locator("body").inner_text(), *inside]).replace("\u2060", "")


FIELDS = ("dataset", "show", "k", "t", "units", "standard", "colour", "ground", "x", "y")


@pytest.mark.parametrize(
    "path", ["/", *(pytest.param(page, marks=pytest.mark.nightly) for page in ("/data", "/guide"))]
)
def test_an_address_cannot_put_links_on_a_page(visit: Visit, path: str) -> None:
    short = [
        "[Log in](//e.example)",
        "![x](//e.example/p)",
        "www.e.example",
        "https://e.example",
        "<img src=//e.ex>",
    ]
    query = {name: short[number % len(short)] for number, name in enumerate(FIELDS)}
    page = visit(f"{path}?{urlencode(query)}")
    expect(page.locator("[data-testid=stAlert]")).to_have_count(len(FIELDS))
    expect(page.get_by_text("This link is not quite right")).to_have_count(len(FIELDS))
    if path == "/":
        expect(page.locator(".st-key-hero")).to_contain_text("6 facilities for 932 homes")
    settled(page)
    assert not live(page)
    said = words(page)
    for text in short:
        assert text[:20] in said, "it is shown as it is"


def brought(page: Page, uploader: str, name: str, content: bytes, kind: str = "text/csv") -> None:
    page.locator(f".st-key-{uploader} input[type=file]").set_input_files(
        {"name": name, "mimeType": kind, "buffer": content}
    )


@pytest.mark.nightly
def test_an_upload_cannot_put_links_on_any_page(visit: Visit) -> None:
    features = [
        {
            "type": "Feature",
            "properties": {f"id {EVIL}": f"{EVIL} {i}", f"district {EVIL}": EVIL, f"people {EVIL}": i + 1},
            "geometry": {"type": "Point", "coordinates": [-121.5 + i / 200, 38.5 + (i * 7 % 50) / 200]},
        }
        for i in range(60)
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    page = visit("/data?k=2")
    brought(page, "upload", "[Log in](https:e.example) www.e.example me@e.example.geojson", content)
    expect(page.get_by_text("60 rows read")).to_be_visible()
    page.get_by_text("Correct what was guessed").click()
    page.get_by_text("What was understood, and why").click()
    settled(page)
    assert not live(page)
    for key, text in (
        ("title", "[Log in](//e.example/1) www.e.example me@e.example"),
        ("people", "www.e.example homes"),
    ):
        box = page.locator(f".st-key-{key} input")
        box.fill(text)
        box.press("Enter")
        settled(page)
    assert not live(page)
    page.get_by_role("button", name="Use these residents").click()
    expect(page.locator(".st-key-hero h1")).to_contain_text("www")
    settled(page)
    address = page.url
    quoted = EVIL.replace('"', '""')
    existing = f'name,lat,lon\n"{quoted}",38.55,-121.45\n"www.e.example",38.60,-121.40\n'.encode()
    page.goto(address.replace("/?", "/data?"))
    brought(page, "existing_file", "existing.csv", existing)
    page.get_by_role("button", name="Keep these 2 facilities").click()
    expect(page.locator(".st-key-hero")).to_contain_text("2 new and 2 existing facilities")
    settled(page)
    assert not live(page)
    assert "www.e.example homes" in words(page)
    address = page.url
    for path, seen in (
        ("/data", "[data-testid=stDeckGlJsonChart]"),
        ("/compare?compare=methods", ".er-maps img"),
        ("/how_many", ".js-plotly-plot"),
        ("/lab", ".js-plotly-plot"),
    ):
        page.goto(address.replace("/?", f"{path}?"))
        expect(page.locator(seen).first).to_be_visible()
        settled(page)
        assert not live(page), path
        assert "www.e.example homes" in words(page) or path == "/lab"


@pytest.mark.nightly
def test_a_plan_file_cannot_put_links_on_a_page(visit: Visit) -> None:
    city = load_sample("san-francisco")
    kept = Existing(city.lonlat[:2].copy(), (EVIL[:200], "www.e.example"), Report())
    plan = make_plan(city, 2, t=[0, 1], fixed_lonlat=kept.lonlat, fixed_names=kept.names)
    document = json.loads(plan_json(plan, 1))
    for change in ({"version": EVIL[:40]}, {"format_version": EVIL}, {"settings": {EVIL: 1}}):
        page = visit("/data?dataset=san-francisco&k=2")
        content = json.dumps({**document, **change}).encode()
        brought(page, "plan_file", f"{EVIL[:22]}.json", content, "application/json")
        expect(page.locator("[data-testid=stAlert]")).to_be_visible()
        settled(page)
        assert not live(page)
        if "version" in change:
            assert EVIL[:20] in words(page)
            page.get_by_role("button", name="Show this plan").click()
            expect(page.locator(".st-key-hero")).to_contain_text("2 new and 2 existing facilities")
            settled(page)
            assert not live(page)


@pytest.mark.nightly
def test_tooltips_say_what_a_facility_is_and_names_are_text(visit: Visit) -> None:
    page = visit("/data?dataset=san-francisco&k=2&t=0")
    city = load_sample("san-francisco")
    spot = city.lonlat[:1].copy()
    plan = make_plan(city, 2, fixed_lonlat=spot, fixed_names=("<b>Old & new</b> <img src=//e.example/3>",))
    brought(page, "plan_file", "p.json", plan_json(plan, 0), "application/json")
    page.get_by_role("button", name="Show this plan").click()
    expect(page.locator(".st-key-hero")).to_contain_text("2 new and 1 existing facility")
    settled(page)
    drawn(page)
    told = hovered(page, plan.centers_lonlat(0)[0])
    assert re.fullmatch(r"New facility 2\n[\d,]+ residents\nfarthest [\d.]+ k?m", told), told
    told = hovered(page, plan.centers_lonlat(0)[2])
    assert told.splitlines()[0] == "Existing facility 1, <b>Old & new</b> <img src=//e.example/3>"
    page.locator(".live-map .site").nth(2).click()
    expect(page.locator(".live-map .card h2")).to_have_text(told.splitlines()[0])
    assert not live(page)


def hovered(page: Page, lonlat: np.ndarray) -> str:
    """What the tooltip says at a place on the map."""
    shown = page.locator(".live-map")
    page.locator(".live-map .map").scroll_into_view_if_needed()
    box = page.locator(".live-map .map").bounding_box()
    assert box is not None
    x, y = shown.evaluate("(node, at) => node.liveMap.state().pixel(at)", lonlat.tolist())
    page.mouse.move(box["x"] + x - 60, box["y"] + y - 60)
    page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    tip = page.locator(".live-map .tip")
    expect(tip).to_be_visible()
    return str(tip.inner_text())
