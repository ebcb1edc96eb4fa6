"""Who may ask this server what: known names, open routes, signed-in visitors, and a share of requests per address."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.serving.login import signed_in
from pages.serving.visitor import network

HEALTH = "/healthz"
API = "/api"
CORE = "/_stcore/"
UPLOADS = f"{CORE}upload_file/"
MEDIA = "/media/"
SLICE = 256 * 1024  # bytes
NEEDED = (
    "health",
    "host-config",
    "stream",
    "upload_file",
)  # what a browser asks of Streamlit; all else is closed

log = logging.getLogger("evenreach")


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, *, retry: int = 0
) -> None:
    """Answer with a sentence, whether a page or a websocket was asked for.

    Only a request that came too slowly is cut off: a browser that sends on would miss the answer.
    """
    headers = {"Cache-Control": "no-store"}
    if retry:
        headers["Retry-After"] = str(retry)
    if status == 408:
        headers["Connection"] = "close"
    answer: Response = PlainTextResponse(sentence + "\n", status, headers)
    if f"{API}/" in scope["path"]:
        answer = JSONResponse({"detail": sentence}, status, headers)
    await answer(scope, receive, send)


def known_host(host: str, names: Sequence[str]) -> bool:
    """Whether a request is meant for this server, by its Host header.

    A page elsewhere can make its own name lead to this server's address (DNS rebinding), but the browser still sends
    that name. Addresses in numbers and localhost cannot be taken over like this.

    Examples
    --------
    >>> [known_host(host, ["*.example.org"]) for host in ("127.0.0.1:8501", "[::1]", "a.example.org", "evil.example")]
    [True, True, True, False]
    """
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").rstrip(".")
        if parts.netloc != host or parts.port == 0 or "@" in host or not name:
            return False
    except ValueError:
        return False
    try:
        ip_address(name)
    except ValueError:
        own = ("localhost", "*.localhost", *names)
        return any(
            name == pattern or pattern == "*" or (pattern[:2] == "*." and name.endswith(pattern[1:]))
            for pattern in own
        )
    return True


def who(scope: Scope) -> str:
    """Whose share a request counts against: the network it comes from."""
    return network((scope.get("client") or ("",))[0])


def _in_slices(send: Send) -> Send:
    """Send a large file bit by bit: one that is sent as a whole is copied for each client who does not read it."""

    async def sliced(message: Message) -> None:
        body = message.get("body", b"")
        if message["type"] != "http.response.body" or len(body) <= SLICE:
            await send(message)
            return
        for start in range(0, len(body), SLICE):
            more = start + SLICE < len(body) or message.get("more_body", False)
            await send({"type": message["type"], "body": body[start : start + SLICE], "more_body": more})

    return sliced


class Doors:
    """Stands before everything Streamlit serves; what does not belong here gets a sentence.

    Parameters
    ----------
    names : sequence of str
        Names the app is reached by, besides addresses and localhost.
    base : str
        Path under which the app is served, without slashes at its ends.
    login : bool
        Whether files are only for those who have signed in.
    most : int
        Requests and websockets one address may have at a time.
    proxied : bool
        Whether proxies are named whose word on addresses is taken.
    """

    def __init__(
        self, app: ASGIApp, *, names: Sequence[str], base: str, login: bool, most: int, proxied: bool
    ) -> None:
        self.app = app
        self.names = names
        self.base = f"/{base}" if base else ""
        self.login = login
        self.most = most
        self.open: Counter[str] = Counter()
        self.unsaid = {"hosts", "most"} | (set() if proxied else {"proxies"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say why not."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host and not known_host(host, self.names):
            sentence = (
                "This server is not known by the name that was asked for. Whoever runs it lists its names "
                "in EVENREACH_HOSTS."
            )
            self._say("hosts", sentence)
            await refuse(scope, receive, send, 421, sentence)
            return
        if "x-forwarded-for" in headers:
            self._say(
                "proxies",
                "Requests come through a proxy that EVENREACH_PROXIES does not name: all visitors "
                "seem to come from one address, and share its limits.",
            )
        path = scope["path"].removeprefix(self.base)
        if self._closed(path):
            await refuse(scope, receive, send, 404, "There is nothing here.")
        elif self.login and path.startswith((UPLOADS, MEDIA)) and not signed_in(scope):
            await refuse(scope, receive, send, 403, "Sign in first: reload the page.")
        elif path == HEALTH:  # answers even when its asker shares an address with too many
            await self.app(scope, receive, send)
        else:
            await self._counted(scope, receive, send)

    def _closed(self, path: str) -> bool:
        if path.startswith(CORE):
            return path.split("/")[2] not in NEEDED
        signing = path.startswith("/auth/") or path == "/oauth2callback"
        return path.startswith("/component/") or (signing and not self.login)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = who(scope)
        if self.open[address] >= self.most:
            sentence = (
                "Too many requests and open pages at once from your address. Close some, then try again."
            )
            self._say(
                "most", "One address has as many requests and open pages as EVENREACH_MOST_CONNECTIONS."
            )
            await refuse(scope, receive, send, 429, sentence, retry=10)
            return
        self.open[address] += 1
        try:
            await self.app(scope, receive, _in_slices(send))
        finally:
            self.open[address] -= 1
            if not self.open[address]:
                del self.open[address]

    def _say(self, what: str, sentence: str) -> None:
        """Tell whoever runs the server, once: a flood of requests must not become a flood of lines."""
        if what in self.unsaid:
            self.unsaid.remove(what)
            log.info(json.dumps({"event": "notice", "about": sentence}))
