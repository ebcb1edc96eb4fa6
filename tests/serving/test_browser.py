"""Cookies: a browser owns what it uploaded, across visits and servers; secrets of links leave the address."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pages.serving import browser
from pages.serving.browser import BROWSER, LINKS, Cookies, known, signed
from pages.serving.store import Actor, AwayError, store
from tests.waiting import finish

PAGE = {"accept": "text/html"}


def asked(path: str, *, named: bool = True, base: str = "", **more: Any) -> httpx.Response:
    """What is answered to a browser."""

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(request.url.query))

    app = Cookies(Starlette(routes=[Route("/{path:path}", page)]), base=base, named=named)

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(
            transport=transport, base_url=more.pop("at", "http://localhost")
        ) as client:
            return await client.get(path, headers=PAGE | more.pop("headers", {}))

    found: httpx.Response = finish(send())
    return found


def test_the_start_and_the_end_of_the_server_pass_through() -> None:
    heard: list[str] = []

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        heard.append("start")
        yield
        heard.append("end")

    app = Cookies(Starlette(lifespan=lifespan), base="", named=True)

    async def live() -> None:
        messages = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> dict[str, str]:
            return {"type": next(messages)}

        async def send(message: Any) -> None:
            heard.append(message["type"])

        await app({"type": "lifespan"}, receive, send)

    finish(live())
    assert heard == ["start", "lifespan.startup.complete", "end", "lifespan.shutdown.complete"]


def test_a_browser_gets_a_signed_name_that_scripts_cannot_read_and_keeps_it() -> None:
    first = asked("/")
    cookie = first.headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=34560000"):
        assert word in cookie
    assert "Secure" not in cookie and "; Secure" in asked("/", at="https://localhost").headers["set-cookie"]
    value = first.cookies[BROWSER]
    name = browser.of({BROWSER: value})
    assert len(name) == 32
    again = asked("/data?k=3", headers={"cookie": f"{BROWSER}={value}"})
    assert "set-cookie" not in again.headers, "it survives a reload"
    assert Actor(browser=name).owner == Actor(browser=browser.of({BROWSER: value})).owner != Actor().owner


@pytest.mark.parametrize(
    "forged", ["", "x", "A" * 32, "A" * 32 + ".", "A" * 32 + "." + "0" * 64, "é" * 40, "." * 99]
)
def test_a_forged_name_is_nobodys_and_is_replaced(forged: str) -> None:
    assert browser.of({BROWSER: forged}) == ""
    cookie = {"cookie": f"{BROWSER}={forged}".encode("latin-1", "replace")}
    assert BROWSER in asked("/", headers=cookie).cookies


def test_no_other_key_signs_for_this_server() -> None:
    assert known(signed("A" * 32, "one key"), "another key") == ""
    assert known(signed("A" * 32, "one key").replace("A", "B", 1), "one key") == ""


def test_only_pages_come_with_a_cookie_and_where_people_sign_in_none_does() -> None:
    assert "set-cookie" not in asked("/", headers={"accept": "*/*"}).headers
    assert "set-cookie" not in asked("/", named=False).headers


def test_without_the_database_a_page_comes_without_a_cookie(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> str:
        raise AwayError

    monkeypatch.setattr(store(), "key", away)
    assert asked("/").status_code == 200 and "set-cookie" not in asked("/").headers


def test_the_secret_of_a_link_is_exchanged_for_a_cookie_and_leaves_the_address() -> None:
    project, secret = store().new_project(Actor(), "Shared by a link")
    answer = asked(f"/tools/scenarios?k=3&project={secret}&t=0.5", base="tools")
    assert answer.status_code == 303 and answer.headers["location"] == "/tools/scenarios?k=3&t=0.5"
    assert re.search(
        rf"{LINKS}={secret}; .*Path=/tools; HttpOnly; SameSite=Lax", answer.headers["set-cookie"]
    )
    assert answer.headers["cache-control"] == "no-store"
    keys = browser.links(dict(answer.cookies))
    assert store().project(Actor(keys=keys), project.id).role == "owner"
    _, second = store().new_project(Actor(), "Another")
    more = asked(f"/?project={second}", headers={"cookie": f"{LINKS}={secret}"})
    assert browser.links(dict(more.cookies)) == (secret, second), "the first is not forgotten"


@pytest.mark.parametrize("secret", ["A" * 32, "", "%0d%0aset-cookie:x=y", "x" * 5000])
def test_a_link_that_opens_nothing_stays_in_the_address_for_the_page_to_say_so(secret: str) -> None:
    answer = asked(f"/?project={secret}&k=3")
    assert answer.status_code == 200 and LINKS not in answer.cookies


def test_it_leads_to_no_other_site() -> None:
    _, secret = store().new_project(Actor(), "Mine")
    for path in ("//elsewhere.example/", "/%5celsewhere.example", "/\\elsewhere.example"):
        answer = asked(f"http://localhost{path}?project={secret}")
        assert not re.match(r"/[/\\]|\w+:", answer.headers.get("location", "/")), path
