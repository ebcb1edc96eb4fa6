"""Links, uploads, pages and access, in a real browser."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from benchmarks.serving import Server
from tests.browser.conftest import Visit, close_window, headline, ready, settled
from tkm_core.figures import palette

MESSY = (
    "\ufeffGemeinde;LAENGE;BREITE;Einwohner\n"
    "Mitte;13,40;52,52;1200\nPankow;13,41;52,57;800\nSpandau;13,20;52,53;;\n"
    "Kaputt;abc;52,50;10\nNull;0;0;5\nKöpenick;13,57;52,44;640\nSteglitz;13,32;52,45;910\n"
).encode("cp1252", errors="ignore")
LETTER = b"Dear council,\nplease find nothing here.\n"
# until the page and all its charts are drawn in the ink of the dark theme
DARK = """ink => [...document.querySelectorAll('.js-plotly-plot')].every(one => one.layout?.font.color === ink)
  && matchMedia('(prefers-color-scheme: dark)').matches
  && getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === 'dark'"""


@pytest.mark.nightly
def test_cold_deep_link_goes_through_the_frame(visit: Visit) -> None:
    with Server(plain=True) as fresh:
        page = visit("/guide?k=4", base=fresh.url)
        expect(page.get_by_role("link", name="Plan")).to_be_visible()
        expect(page.get_by_role("tab", name="Glossary")).to_be_visible()
        page.get_by_role("link", name="Plan").click()
        expect(page.locator(".st-key-hero")).to_contain_text("4 facilities for")


def test_link_shows_the_same_plan_in_a_second_browser_and_reload_and_back_keep_it(visit: Visit) -> None:
    first = visit("/?dataset=toulouse&k=5&t=0.5&units=mi")
    ready(first)
    second = visit("/?" + first.url.split("?")[1])
    ready(second)
    said = headline(first).inner_text()
    assert headline(second).inner_text() == said
    expect(second.locator(".st-key-hero")).to_contain_text("5 facilities for")
    second.get_by_role("link", name="Help").click()
    expect(second.get_by_role("tab", name="Glossary")).to_be_visible()
    second.go_back()
    expect(headline(second)).to_have_text(said)
    first.reload()
    expect(headline(first)).to_have_text(said)


def test_messy_file_is_understood_corrected_and_private_and_a_bad_one_gets_a_sentence(visit: Visit) -> None:
    page = visit("/data")
    page.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "berlin.csv", "mimeType": "text/csv", "buffer": MESSY}
    )
    expect(page.get_by_text(re.compile(r"7 rows read, \d kept"))).to_be_visible()
    expect(page.get_by_role("button", name="Use these residents")).to_be_visible()
    page.get_by_text("Correct what was guessed").click()
    page.locator(".st-key-fix_weight").get_by_role("combobox").click()
    page.get_by_role("option", name="none: every row counts as one").click()
    expect(page.get_by_text(re.compile(r"\d residents, each counted once"))).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Use these residents").click()
    expect(page).to_have_url(re.compile(r"dataset=upload.*upload=[\w-]{30,}"))
    other = visit("/?dataset=upload&upload=" + "A" * 32)
    expect(other.get_by_text("no longer here")).to_be_visible()
    settled(other)
    other.get_by_role("link", name="Data").click()
    expect(other.get_by_text("no longer here")).to_be_visible()
    expect(other.get_by_text("In use now")).to_have_count(0)
    settled(other)
    before = other.locator("[data-testid=stAlert]").count()
    other.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": LETTER}
    )
    expect(other.locator("[data-testid=stAlert]")).to_have_count(before + 1)
    assert "Traceback" not in other.locator("body").inner_text()


@pytest.mark.nightly
def test_a_planner_with_a_phone_brings_residents_and_what_exists(visit: Visit) -> None:
    page = visit("/data?k=2", width=390, height=844)
    expect(page.get_by_role("button", name="Towns around Toulouse")).to_be_visible()
    page.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "berlin.csv", "mimeType": "text/csv", "buffer": MESSY}
    )
    page.get_by_role("button", name="Use these residents").click()
    expect(page.locator(".st-key-hero")).to_contain_text("2 facilities for")
    settled(page)
    page.goto(page.url.replace("/?", "/data?"))
    page.locator(".st-key-existing_file input[type=file]").set_input_files(
        {"name": "post.csv", "mimeType": "text/csv", "buffer": b"name,lat,lon\nPost,52.50,13.38\n"}
    )
    page.get_by_role("button", name="Keep this facility").click()
    expect(page.locator(".st-key-hero")).to_contain_text("2 new and 1 existing facility for")
    expect(page.locator(".live-map .legend")).to_contain_text("existing facility")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []


def violations(page: Page) -> list[str]:
    """What axe finds, but for one thing in Streamlit's own file uploader, which no app can change."""
    found = [
        f"{one['id']}: {node['html'][:160]}"
        for one in Axe().run(page).response["violations"]
        for node in one["nodes"]
    ]
    return [
        text
        for text in found
        if not (text.startswith("presentation-role-conflict") and "stFileUploaderDropzone" in text)
    ]


PAGES = {
    "/": ".st-key-hero h1",
    "/data": "[data-testid=stDeckGlJsonChart]",
    "/sites": ".live-map[data-ground=laid]",
    "/compare?compare=methods&dataset=san-francisco&k=4": ".er-maps img",
    "/how_many?dataset=san-francisco&k=3": ".js-plotly-plot",
    "/scenarios": "h1",
    "/lab?dataset=san-francisco&k=3": ".js-plotly-plot",
    "/guide": "[role=tab]",
}


@pytest.mark.parametrize(
    "path", [page if page == "/" else pytest.param(page, marks=pytest.mark.nightly) for page in PAGES]
)
def test_axe_finds_nothing(visit: Visit, path: str) -> None:
    page = visit(path)
    for theme in ("light", "dark"):
        if theme == "dark":
            page.emulate_media(color_scheme="dark")
            page.wait_for_function(DARK, arg=palette("dark").ink)
        expect(page.locator(PAGES[path]).first).to_be_visible()
        settled(page)
        assert violations(page) == [], theme
        for tab in page.get_by_role("tab").all()[1:]:
            tab.click()
            settled(page)
            assert violations(page) == [], theme


@pytest.mark.nightly
def test_axe_finds_nothing_in_what_opens_in_the_dark(visit: Visit) -> None:
    page = visit(theme="dark")
    ready(page)
    for button in ("Axes", "Download", "Share", "Shortlist"):
        page.get_by_role("button", name=button).click()
        expect(page.locator("[data-testid=stPopoverBody], [data-testid=stDialog]")).to_be_visible()
        settled(page)
        page.wait_for_timeout(500)  # until it has faded in
        assert violations(page) == [], button
        if button == "Axes":
            page.keyboard.press("Escape")
            expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
        else:
            close_window(page)


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_what_was_understood(visit: Visit, theme: str) -> None:
    page = visit("/data", theme=theme)
    page.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "berlin.csv", "mimeType": "text/csv", "buffer": MESSY}
    )
    page.get_by_text("Correct what was guessed").click()
    page.get_by_text("What was understood, and why").click()
    expect(page.get_by_text("The first rows of the file")).to_be_visible()
    settled(page)
    page.mouse.move(5, 5)
    page.wait_for_timeout(500)
    assert violations(page) == []
