"""Cookies that this server gives to browsers: who brought an upload where nobody signs in, and links to projects."""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.serving.headers import safe_link
from pages.serving.store import Actor, StoreError, store

BROWSER, LINKS = "evenreach_browser", "evenreach_links"
DAYS = 400  # browsers keep a cookie for no longer
MOST_LINKS = 20  # that a browser remembers; the oldest goes first
SECRET = re.compile(r"[A-Za-z0-9_-]{22,64}")


def signed(name: str, key: str) -> str:
    """The name of a browser, with which it proves that this server gave it the name.

    >>> known(signed("a" * 32, "key"), "key") == "a" * 32, known("a" * 32 + ".forged", "key")
    (True, '')
    """
    return f"{name}.{hmac.new(key.encode(), f'browser {name}'.encode(), hashlib.sha256).hexdigest()}"


def known(cookie: str, key: str) -> str:
    """The name of a browser, by its cookie; "" if the cookie is not one of ours."""
    name = cookie.partition(".")[0]
    good = SECRET.fullmatch(name) and hmac.compare_digest(cookie.encode(), signed(name, key).encode())
    return name if good else ""


def of(cookies: Mapping[str, str]) -> str:
    """The name of the browser that sent these cookies; "" if it has none, or the database does not answer."""
    try:
        return known(cookies[BROWSER], store().key()) if BROWSER in cookies else ""
    except StoreError:
        return ""


def links(cookies: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets of the links to projects that a browser came with before.

    >>> links({"evenreach_links": "A" * 32 + "." + "B" * 32 + ".x"}) == ("A" * 32, "B" * 32)
    True
    """
    return tuple(one for one in cookies.get(LINKS, "").split(".") if SECRET.fullmatch(one))[-MOST_LINKS:]


class Cookies:
    """Gives browsers their name, and takes the secret of a link out of the address: it would stand in logs.

    Parameters
    ----------
    base : str
        Path under which the app is served, without slashes at its ends.
    named : bool
        Whether browsers get a name, because nobody signs in.
    """

    def __init__(self, app: ASGIApp, *, base: str, named: bool) -> None:
        self.app = app
        self.base, self.named = f"/{base}" if base else "", named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a page that is asked for comes with what its browser lacks."""
        if scope["type"] != "http":  # a socket; or the server's start and end, which have no headers
            await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        if scope["method"] != "GET" or "text/html" not in asked.headers.get("accept", ""):
            await self.app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        secret = dict(query).get("project", "")
        rest = urlencode([(name, value) for name, value in query if name != "project"])
        link = safe_link(quote(scope["path"]) + (f"?{rest}" if rest else ""))
        if link is not None and secret and await asyncio.to_thread(_opens, secret):
            kept = [one for one in links(asked.cookies) if one != secret]
            away = RedirectResponse(link, 303, {"Cache-Control": "no-store"})
            away.headers.append(
                "set-cookie", self._cookie(scope, LINKS, ".".join([*kept, secret][-MOST_LINKS:]))
            )
            await away(scope, receive, send)
            return
        new = await asyncio.to_thread(_new_name, dict(asked.cookies)) if self.named else ""

        async def given(message: Message) -> None:
            if new and message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", self._cookie(scope, BROWSER, new))
            await send(message)

        await self.app(scope, receive, given)

    def _cookie(self, scope: Scope, name: str, value: str) -> str:
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        path = self.base or "/"
        return f"{name}={value}; Max-Age={DAYS * 86_400}; Path={path}; HttpOnly; SameSite=Lax{secure}"


def _new_name(cookies: Mapping[str, str]) -> str:
    """A cookie for a browser that has none of ours; "" if it has one, or the database does not answer."""
    try:
        return "" if of(cookies) else signed(secrets.token_urlsafe(24), store().key())
    except StoreError:
        return ""


def _opens(secret: str) -> bool:
    """Whether a link opens a project: one that does not stays in the address, and the page says so."""
    try:
        return SECRET.fullmatch(secret) is not None and bool(store().projects_of(Actor(keys=(secret,)), 1))
    except StoreError:
        return False
