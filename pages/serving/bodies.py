"""Receive the body of a request within limits of length and time, whatever route it is for."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.serving.shares import Refusal

MB = 1024 * 1024
LARGEST = MB  # bytes of a body that is no upload
MOST_ITEMS = 20_000  # values in it: each of them costs a hundred times its own length
SLOWEST = 10_000  # bytes per second


def length_of(scope: Scope) -> int | None:
    """The announced length of a request's body; None if there is none.

    Raises
    ------
    Refusal
        If the length is not said in a way that leaves no doubt: proxies and servers that read it differently can be
        made to take a part of one request for the next, and a body in chunks costs far more than its length to take in.
    """
    headers = Headers(scope=scope)
    lengths = headers.getlist("content-length")
    if "transfer-encoding" in headers:
        if lengths:
            raise Refusal(400, "A request has either a Content-Length or a Transfer-Encoding, not both.")
        raise Refusal(411, "A request must say how long it is (Content-Length).")
    if not lengths:
        return None
    if len(lengths) > 1 or not (lengths[0].isascii() and lengths[0].isdigit() and len(lengths[0]) < 16):
        raise Refusal(400, "The Content-Length of a request must be one whole number.")
    return int(lengths[0])


class Body:
    """The body of a request on its way: no longer than allowed, no slower than the slowest line worth waiting for.

    Parameters
    ----------
    most : int
        Bytes that it may have.
    patience : float
        Seconds after which a body that stalls or trickles is refused.
    """

    def __init__(self, receive: Receive, most: int, patience: float) -> None:
        self._receive, self._most, self._patience = receive, most, patience
        self._got = 0  # bytes
        self._ended = False
        # since the last look: seconds spent waiting for the client, bytes it sent meanwhile
        self._waited, self._brought = 0.0, 0
        self.refusal: Refusal | None = None

    async def receive(self) -> Message:
        """Receive the next part; after the last one, what comes is no longer limited.

        Raises
        ------
        Refusal
            If it is longer or slower than allowed.
        """
        if self._ended:
            return await self._receive()
        time_now = asyncio.get_running_loop().time
        while True:
            begun, message = time_now(), None
            try:
                async with asyncio.timeout(self._patience - self._waited):
                    message = await self._receive()
            except TimeoutError:
                pass
            self._waited += time_now() - begun
            if message:
                self._got += len(message.get("body", b""))
                self._brought += len(message.get("body", b""))
                self._ended = not message.get("more_body", False)
            if self._got > self._most:
                self._refuse(413, "The request is longer than it may be.")
            if self._waited >= self._patience:
                if self._brought < SLOWEST * self._patience and not self._ended:
                    self._refuse(408, "The upload stalled. Check your connection, then try again.")
                self._waited, self._brought = 0.0, 0
            if message:
                return message

    def _refuse(self, status: int, sentence: str) -> None:
        self.refusal = Refusal(status, sentence)
        raise self.refusal

    async def whole(self) -> bytes:
        """Receive all of it.

        Raises
        ------
        Refusal
            If it is longer or slower than allowed, has too many values in it, or the client has hung up.
        """
        parts = []
        while not self._ended:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "The request broke off.")
            parts.append(message.get("body", b""))
        found = b"".join(parts)
        if found.count(b",") + found.count(b":") > MOST_ITEMS:
            raise Refusal(413, f"The request has too many values in it: at most {MOST_ITEMS:,} are taken.")
        return found


async def passed_on(app: ASGIApp, scope: Scope, body: Body, send: Send) -> None:
    """Let an app receive a body within its limits.

    Raises
    ------
    Refusal
        If the body breaks them before the app has begun to answer; what the app makes of that is not sent.
    """
    begun = False

    async def unless_refused(message: Message) -> None:
        nonlocal begun
        if begun or body.refusal is None:
            begun = True
            await send(message)

    try:
        await app(scope, body.receive, unless_refused)
    except Exception:
        if body.refusal is None:
            raise
    if body.refusal is not None and not begun:
        raise body.refusal


def replayed(body: bytes, receive: Receive) -> Receive:
    """Receive a body that has arrived in one piece, and then whatever comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
