"""The gate before everything the server answers: pages, websockets, uploads, the API.

Known names, open routes, who asks, shares of the server, and the limits of a request's body are settled here, in this
order and before a byte of the body is read.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.serving import bodies, sockets, uploads
from pages.serving.login import signed_in
from pages.serving.network import network_of
from pages.serving.shares import ALL, Refusal, Shares

HEALTH = "/healthz"
API = "/api"
OPEN_OF_API = f"{API}/openapi.json"
UPLOAD_OF_API = f"{API}/datasets"
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
UNKNOWN_NAME = (
    "This server is not known by the name that was asked for. "
    "Whoever runs it lists its names in EVENREACH_HOSTS."
)
UNKNOWN_PROXY = (
    "Requests come through a proxy that EVENREACH_PROXIES does not name: all visitors seem to come from one address, "
    "and share its limits."
)

log = logging.getLogger("evenreach")


async def refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    """Answer with a sentence, whether a page or a websocket was asked for.

    Only a request that came too slowly is cut off: a browser that sends on would miss the answer.
    """
    headers = {"Cache-Control": "no-store"}
    if refusal.retry:
        headers["Retry-After"] = str(refusal.retry)
    if refusal.scheme:
        headers["WWW-Authenticate"] = refusal.scheme
    if refusal.status == 408:
        headers["Connection"] = "close"
    answer: Response = PlainTextResponse(f"{refusal}\n", refusal.status, headers)
    if f"{API}/" in scope["path"]:
        answer = JSONResponse({"detail": str(refusal)}, refusal.status, headers)
    await answer(scope, receive, send)
    if scope["type"] == "websocket":
        await _gone(receive)


async def _gone(receive: Receive) -> None:
    """Wait until a refused websocket has gone: uvicorn writes a line about each that has not, which a flood can use."""
    told = 0  # once when it is refused, once when it is gone
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            while told < 2:
                told += (await receive())["type"] == "websocket.disconnect"


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


class Gate:
    """Stands before everything this server answers; what does not belong here gets a sentence.

    Parameters
    ----------
    shares : Shares
        The account that everybody takes from.
    identify : callable
        Settles from the head of a request who calls the API; returns the person, or nothing where nobody signs in.
    names : sequence of str
        Names the app is reached by, besides addresses and localhost.
    base : str
        Path under which the app is served, without slashes at its ends.
    login : bool
        Whether files are only for those who have signed in.
    proxied : bool
        Whether proxies are named whose word on addresses is taken.
    patience : float
        Seconds after which a request that stalls is ended.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        shares: Shares,
        identify: Callable[[Scope], Awaitable[str]],
        names: Sequence[str],
        base: str,
        login: bool,
        proxied: bool,
        patience: float,
    ) -> None:
        self.app, self.shares, self.identify = app, shares, identify
        self.names, self.login, self.patience = names, login, patience
        self.base = f"/{base}" if base else ""
        self.said = {UNKNOWN_PROXY} if proxied else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say why not."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path = scope["path"].removeprefix(self.base)
        try:
            self._check(scope, path)
            await self._pass(scope, receive, send, path)
        except Refusal as refusal:
            self._say(refusal.notice)
            await refuse(scope, receive, send, refusal)

    def _check(self, scope: Scope, path: str) -> None:
        """Refuse what its head alone tells is not for this server."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host and not known_host(host, self.names):
            raise Refusal(421, UNKNOWN_NAME, notice=UNKNOWN_NAME)
        if "x-forwarded-for" in headers:
            self._say(UNKNOWN_PROXY)
        if self._closed(path):
            raise Refusal(404, "There is nothing here.")
        length = bodies.length_of(scope)
        if length is not None and length > bodies.LARGEST and not self._is_upload(scope, path):
            raise Refusal(
                413, f"The request is too large: at most {bodies.LARGEST // bodies.MB} MB is taken."
            )
        if self.login and path.startswith((UPLOADS, MEDIA)) and not signed_in(scope):
            raise Refusal(403, "Sign in first: reload the page.")

    def _closed(self, path: str) -> bool:
        if path.startswith(CORE):
            return path.split("/")[2] not in NEEDED
        signing = path.startswith("/auth/") or path == "/oauth2callback"
        return path.startswith("/component/") or (signing and not self.login)

    @staticmethod
    def _is_upload(scope: Scope, path: str) -> bool:
        of_page = path.startswith(UPLOADS) and scope.get("method") == "PUT"
        return of_page or (path == UPLOAD_OF_API and scope.get("method") == "POST")

    async def _pass(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Take a share for whoever asks, and pass the request on with it."""
        if scope["path"] == HEALTH:  # answers even when its asker shares an address with too many
            await self._answer(scope, receive, send)
            return
        address = network_of(scope)
        with ExitStack() as held:
            held.enter_context(self.shares.holding("requests of an address", address))
            if scope["type"] == "websocket":
                held.enter_context(self.shares.holding("pages of an address", address))
                async with sockets.opened(receive, send, address) as page:
                    await self.app(sockets.named(scope, page), page.receive, page.send)
            elif path.startswith(f"{API}/"):
                await self._call(scope, receive, _in_slices(send), path, held)
            elif self._is_upload(scope, path):
                page_id = path.removeprefix(UPLOADS).split("/")[0]
                await uploads.passed_on(self.app, scope, receive, send, address, page_id)
            else:
                await self._answer(scope, receive, _in_slices(send))

    async def _call(self, scope: Scope, receive: Receive, send: Send, path: str, held: ExitStack) -> None:
        """Pass a call of the API on, once it is known who calls and all of its body is here."""
        address = network_of(scope)
        held.enter_context(self.shares.holding("calls of an address", address))
        held.enter_context(self.shares.holding("calls of all", ALL))
        person = "" if path == OPEN_OF_API else await self.identify(scope)
        if person:
            held.enter_context(self.shares.holding("calls of a person", person))
        if self._is_upload(scope, path):
            await uploads.passed_on(self.app, scope, receive, send, address)
            return
        body = await bodies.Body(receive, bodies.LARGEST, self.patience).whole()
        await self.app(scope, bodies.replayed(body, receive), send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer a request whose body it has no use for."""
        await bodies.passed_on(self.app, scope, bodies.Body(receive, bodies.LARGEST, self.patience), send)

    def _say(self, notice: str) -> None:
        """Tell whoever runs the server, once: a flood of requests must not become a flood of lines."""
        if notice and notice not in self.said:
            self.said.add(notice)
            log.info(json.dumps({"event": "notice", "about": notice}))
