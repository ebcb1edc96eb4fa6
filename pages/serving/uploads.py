"""Uploaded files: room for all of them together, a share for each visitor and address, and an end to those that stall.

Streamlit keeps an upload in memory until its session is cleared away, and takes as many as come. This stands before its
upload route, and clears away the sessions whose visitors have left.
"""

import asyncio
import errno
import secrets
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.serving.config import Config, config
from pages.serving.doors import API, UPLOADS, refuse, who

MB = 1024 * 1024
FRAMING = MB  # a form is a little longer than the file in it
LEAST = 64 * 1024  # bytes the smallest file counts for: what is kept about it takes memory, too
AT_ONCE, AT_ONCE_BY_ADDRESS = 12, 48  # uploads on their way; a shapefile has up to eight parts
SLOWEST = 10_000  # bytes per second
ROOM = 100 * MB  # of the temporary folder that uploads leave to others
SWEEP = 5.0  # seconds
SAID = 20.0  # seconds for which a page says why an upload was refused, while others of its drop arrive


class Refusal(Exception):  # noqa: N818  a no, not a mistake
    """An upload that is refused: the status of the answer and the sentence in it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, eq=False)
class Flight:
    """An upload on its way."""

    session: str
    address: str
    size: int


class Ledger:
    """How much is held for whom, and what is on its way.

    A visitor counts with the most that was held at once until the visit ends: what was read from a file may outlive it.

    Parameters
    ----------
    settings : Config
        The limits.
    server : callable
        Gives Streamlit's runtime.
    clock : callable
        Gives the seconds that visitors are gone by.
    """

    def __init__(
        self,
        settings: Config,
        server: Callable[[], Any] = runtime.get_instance,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.file = settings.upload_mb * MB
        self.total = settings.uploads_mb * MB
        self.patience = settings.patience_s
        self.server, self.clock = server, clock
        self.flights: list[Flight] = []
        self.peaks: Counter[str] = Counter()  # by session
        self.addresses: dict[str, str] = {}  # of sessions
        self.gone: dict[str, float] = {}  # since when
        self.said: dict[str, tuple[float, str]] = {}  # when and what, to sessions whose upload was refused

    def held(self, session: str) -> int:
        """Bytes that Streamlit holds of a session."""
        files = self.server().uploaded_file_mgr.file_storage.get(session, {})
        return sum(max(LEAST, len(file.data)) for file in list(files.values()))

    def taken(self, address: str | None = None) -> int:
        """Bytes that are held or on their way: of all, or of one address."""
        flying: Counter[str] = Counter()
        for flight in self.flights:
            flying[flight.session] += flight.size
        return sum(
            max(self.peaks[session], self.held(session) + flying[session])
            for session, home in self.addresses.items()
            if address in (None, home)
        )

    @contextmanager
    def flight(self, session: str, address: str, size: int) -> Iterator[None]:
        """Room for an upload while it is on its way; what has arrived then counts for its session.

        Raises
        ------
        Refusal
            If there is none.
        """
        self.addresses[session] = address
        new = Flight(session, address, max(LEAST, size))
        self.flights.append(new)
        try:
            self._check(new)
            yield
        finally:
            self.flights.remove(new)
            self.peaks[session] = max(self.peaks[session], self.held(session))
            if not self.peaks[session] and session not in {flight.session for flight in self.flights}:
                del self.peaks[session], self.addresses[session]  # nothing came of it

    def _check(self, new: Flight) -> None:
        mine = [flight for flight in self.flights if flight.session == new.session]
        near = [flight for flight in self.flights if flight.address == new.address]
        if new.size > self.file + FRAMING:
            raise Refusal(413, f"The file is too large: at most {self.file // MB:,} MB can be uploaded.")
        if len(mine) > AT_ONCE or len(near) > AT_ONCE_BY_ADDRESS:
            raise Refusal(
                429, "Too many uploads at once. Wait until the others have arrived, then try again."
            )
        if self.held(new.session) + sum(flight.size for flight in mine) > 2 * (self.file + FRAMING):
            msg = (
                f"You have uploaded {self.held(new.session) // MB:,} MB already; a visitor may have "
                f"{2 * self.file // MB:,} MB on this server. Remove a file, then try again."
            )
            raise Refusal(429, msg)
        if self.taken(new.address) > self.total // 2 + 2 * FRAMING:
            msg = (
                "The files from your address fill half of this server's room for uploads, which is its share. "
                "Close pages with files you no longer need, wait a minute, then try again."
            )
            raise Refusal(429, msg)
        if self.taken() > self.total + 2 * FRAMING:
            raise Refusal(429, "This server has no room for more uploads now. Try again in a few minutes.")

    def sweep(self) -> None:
        """Clear away the sessions with files whose visitors have left for good."""
        server, now = self.server(), self.clock()
        books: tuple[dict[str, Any], ...] = (self.peaks, self.addresses, self.gone, self.said)
        for session in {*self.addresses, *self.said, *server.uploaded_file_mgr.file_storage}:
            if server.is_active_session(session):
                self.gone.pop(session, None)
            elif now - self.gone.setdefault(session, now) >= self.patience:
                server.close_session(session)
                server.uploaded_file_mgr.remove_session_files(session)
                for book in books:
                    book.pop(session, None)

    def told(self, session: str) -> list[str]:
        """What a page has to say about an upload that was refused a moment ago."""
        when, sentence = self.said.get(session, (-SAID, ""))
        if self.clock() - when < SAID:
            return [sentence]
        self.said.pop(session, None)
        return []

    async def keep_sweeping(self) -> None:
        """Sweep as long as the server runs."""
        while True:
            await asyncio.sleep(min(SWEEP, self.patience / 2))
            self.sweep()

    def tell(self, session: str, sentence: str) -> None:
        """Have the visitor's page say why an upload was refused: Streamlit's uploader shows only a number."""
        visit = self.server()._session_mgr.get_active_session_info(session)
        if visit:
            self.said[session] = self.clock(), sentence
            visit.session.request_rerun(None)


@cache
def ledger() -> Ledger:
    """The one of this server."""
    return Ledger(config())


def refusals() -> list[str]:
    """Why the last upload of this visitor was refused, for some seconds."""
    visit = get_script_run_ctx()
    return ledger().told(visit.session_id) if visit else []


def full(size: int = 0) -> bool:
    """Whether the temporary folder has no room for so many bytes, or cannot be written to."""
    try:
        if shutil.disk_usage(tempfile.gettempdir()).free < ROOM + size:
            return True
        with tempfile.TemporaryFile() as probe:
            probe.write(b"?")
    except OSError:
        return True
    return False


class Uploads:
    """Stands before Streamlit's upload route, and before that of the API, whose callers have no session.

    Parameters
    ----------
    base : str
        Path under which the app is served, without slashes at its ends.
    """

    def __init__(self, app: ASGIApp, *, base: str) -> None:
        self.app = app
        here = f"/{base}" if base else ""
        self.prefix, self.api = here + UPLOADS, f"{here}{API}/datasets"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on but uploads that are too much."""
        asked = (scope["method"], scope["path"]) if scope["type"] == "http" else ("", "")
        of_api = asked == ("POST", self.api)
        if not of_api and not (asked[0] == "PUT" and asked[1].startswith(self.prefix)):
            await self.app(scope, receive, send)
            return
        book = ledger()
        session = asked[1].removeprefix(self.prefix).split("/")[0]
        if of_api:
            session = f"api {secrets.token_hex(8)}"  # it counts while it is on its way and read
        try:
            size = self._size(scope, None if of_api else session, book)
            with book.flight(session, who(scope), size):
                if await asyncio.to_thread(full, size):
                    raise OSError(errno.ENOSPC, "no room in the temporary folder")  # noqa: TRY301  as when writing
                await self.app(scope, _in_time(receive, size, book.patience), send)
        except Refusal as refusal:
            book.tell(session, str(refusal))
            await refuse(scope, receive, send, refusal.status, str(refusal), retry=60)
        except ClientDisconnect:
            return
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            sentence = "The server's disk is full, so it cannot take files now. Tell whoever runs it."
            book.tell(session, sentence)
            await refuse(scope, receive, send, 507, sentence, retry=60)

    @staticmethod
    def _size(scope: Scope, session: str | None, book: Ledger) -> int:
        if session is not None and not book.server().is_active_session(session):
            raise Refusal(400, "This page is no longer connected to the server. Reload it, then try again.")
        length = Headers(scope=scope).get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            raise Refusal(411, "An upload must say how long it is (Content-Length).")
        return int(length)


def _in_time(receive: Receive, size: int, patience: float) -> Callable[[], Awaitable[Message]]:
    """Receive no more than was announced, and no slower than the slowest line that is worth waiting for."""
    got = 0  # bytes
    waited, brought = (
        0.0,
        0,
    )  # since the last look: seconds spent waiting for the client, bytes it sent meanwhile
    time_now = asyncio.get_running_loop().time

    async def receive_in_time() -> Message:
        nonlocal got, waited, brought
        while True:
            begun = time_now()
            message = None
            try:
                async with asyncio.timeout(patience - waited):
                    message = await receive()
            except TimeoutError:
                pass
            waited += time_now() - begun
            if message:
                got += len(message.get("body", b""))
                brought += len(message.get("body", b""))
            if got > size:
                raise Refusal(413, "The upload is longer than it said.")
            if waited >= patience:
                if brought < SLOWEST * patience and (message is None or message.get("more_body", False)):
                    raise Refusal(408, "The upload stalled. Check your connection, then try again.")
                waited, brought = 0.0, 0
            if message:
                return message

    return receive_in_time
