"""Signing in comes before every page, also on a server that has just started, and keeps the link."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.serving import Server, free_port
from tests.browser.conftest import drawn, settled
from tests.browser.provider import CLIENT, Provider

pytestmark = pytest.mark.nightly

HOMES = b"lon,lat\n" + b"".join(b"13.%d,52.%d\n" % (300 + n, 400 + n * 7 % 50) for n in range(60))


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def guarded(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A fresh server that wants people to sign in; no page of it has been visited yet."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    home = tmp_path_factory.mktemp("home")
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "secrets.toml").write_text(
        f'[auth]\nredirect_uri = "{url}/oauth2callback"\ncookie_secret = "{"0123456789abcdef" * 2}"\n'
        f'client_id = "{CLIENT}"\nclient_secret = "s"\n'
        f'server_metadata_url = "{provider.url}/.well-known/openid-configuration"\n'
    )
    with Server(port=port, log=None, EVENREACH_LOGIN="yes", EVENREACH_UPLOAD_MB="1", HOME=str(home)):
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.set_default_timeout(40_000)
    yield opened
    context.close()


@pytest.mark.parametrize(
    "path", ["/compare?k=4", "/data", "/how_many?dataset=toulouse", "/?k=3&t=2", "/guide"]
)
def test_the_door_stands_before_every_page(guarded: str, page: Page, path: str) -> None:
    """The first of these is the first request this server ever gets."""
    page.goto(guarded + path)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_role("heading")).to_have_text(["Sign in to EvenReach"])
    expect(
        page.locator(
            ".live-map, [data-testid=stDeckGlJsonChart], [data-testid=stTable], [data-testid=stFileUploader]"
        )
    ).to_have_count(0)


def test_the_link_that_was_asked_for_opens_after_signing_in(
    guarded: str, page: Page, provider: Provider
) -> None:
    before = provider.signed_in
    page.goto(f"{guarded}/how_many?dataset=toulouse&k=3&t=2")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="facility makes the average trip")).to_be_visible()
    assert provider.signed_in == before + 1
    assert page.url == f"{guarded}/how_many?dataset=toulouse&k=3&t=2"
    expect(page.locator("[data-testid=stMain]")).to_contain_text("Towns around Toulouse")
    refused: list[str] = []
    page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
    page.get_by_role("link", name="Plan", exact=True).click()
    drawn(page)  # the map, within the content policy
    assert not refused
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_files_are_taken_after_signing_in_and_what_is_too_much_is_said(guarded: str, page: Page) -> None:
    page.goto(f"{guarded}/data")
    page.get_by_role("button", name="Sign in").click()
    files = page.locator(".st-key-upload input[type=file]")
    files.set_input_files({"name": "homes.csv", "mimeType": "text/csv", "buffer": HOMES})
    expect(page.get_by_text("60 rows read")).to_be_visible()
    settled(page)
    # each may be uploaded, but no visitor may have so many
    parts = [
        {"name": f"{n}.csv", "mimeType": "text/csv", "buffer": HOMES + 900_000 * b"\n"} for n in range(6)
    ]
    files.set_input_files(parts)
    expect(page.get_by_text("a visitor may have 2 MB on this server").first).to_be_visible()


def test_a_forged_cookie_opens_nothing(guarded: str, page: Page) -> None:
    page.context.add_cookies([{"name": "_streamlit_user", "value": '{"is_logged_in": true}', "url": guarded}])
    page.goto(guarded)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
