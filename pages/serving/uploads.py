"""Uploaded files: room for all of them together, and a share of it for each visitor and address.

Streamlit keeps an upload in memory until its session is cleared away, and takes as many as come. The gate passes
uploads on through here; sessions whose visitors have left are cleared away.
"""

import asyncio
import errno
import secrets
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.serving import bodies
from pages.serving.bodies import MB
from pages.serving.config import Config, config
from pages.serving.shares import Refusal, shares

FRAMING = MB  # a form is a little longer than the file in it
LEAST = 64 * 1024  # bytes the smallest file counts for: what is kept about it takes memory, too
ROOM = 100 * MB  # of the temporary folder that uploads leave to others
SWEEP = 5.0  # seconds
SAID = 20.0  # seconds for which a page says why an upload was refused, while others of its drop arrive


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
        if new.size > self.file + FRAMING:
            raise Refusal(413, f"The file is too large: at most {self.file // MB:,} MB can be uploaded.")
        if self.held(new.session) + sum(flight.size for flight in mine) > 2 * (self.file + FRAMING):
            msg = (
                f"You have uploaded {self.held(new.session) // MB:,} MB already; a visitor may have "
                f"{2 * self.file // MB:,} MB on this server. Remove a file, then try again."
            )
            raise Refusal(429, msg, retry=60)
        if self.taken(new.address) > self.total // 2 + 2 * FRAMING:
            msg = (
                "The files from your address fill half of this server's room for uploads, which is its share. "
                "Close pages with files you no longer need, wait a minute, then try again."
            )
            raise Refusal(429, msg, retry=60)
        if self.taken() > self.total + 2 * FRAMING:
            msg = "This server has no room for more uploads now. Try again in a few minutes."
            raise Refusal(429, msg, retry=60)

    def sweep(self) -> None:
        """Clear away the sessions with files whose visitors have left for good."""
        server, now = self.server(), self.clock()
        flying = {flight.session for flight in self.flights}  # a program's upload has no session to look for
        books: tuple[dict[str, Any], ...] = (self.peaks, self.addresses, self.gone, self.said)
        for session in {*self.addresses, *self.said, *server.uploaded_file_mgr.file_storage} - flying:
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
        visit = self.server().get_app_session(session)
        if visit:
            new = sentence not in self.told(session)
            self.said[session] = self.clock(), sentence
            if new:  # a flood of refused uploads is not a flood of runs
                visit.request_rerun(None)


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


@cache
def prober() -> anyio.CapacityLimiter:
    """Threads that only look at the disk and the database: the health check waits for nothing else."""
    return anyio.CapacityLimiter(4)


async def disk_full(size: int = 0) -> bool:
    """Whether the temporary folder has no room for so many bytes, without holding up others."""
    return await run_sync(full, size, limiter=prober())


async def passed_on(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, address: str, session: str = ""
) -> None:
    """Pass an upload on, if there is room for it and it comes in time.

    Parameters
    ----------
    address : str
        Where it comes from.
    session : str
        The page it is for; without one it is a program's, and counts only while it is on its way and read.

    Raises
    ------
    Refusal
        If it cannot be taken; the page it is for says so, too.
    """
    book, own = ledger(), session or f"api {secrets.token_hex(8)}"
    try:
        if session and not book.server().is_active_session(session):
            raise Refusal(  # noqa: TRY301  told like the others
                400, "This page is no longer connected to the server. Reload it, then try again."
            )
        size = bodies.length_of(scope)
        if size is None:
            raise Refusal(411, "An upload must say how long it is (Content-Length).")  # noqa: TRY301  likewise
        with (
            shares().holding("uploads of an address", address),
            shares().holding("uploads of a page", own),
            book.flight(own, address, size),
        ):
            if await disk_full(size):
                raise OSError(errno.ENOSPC, "no room in the temporary folder")  # noqa: TRY301  as when writing
            await bodies.passed_on(app, scope, bodies.Body(receive, size, book.patience), send)
    except Refusal as refusal:
        book.tell(session, str(refusal))
        raise
    except ClientDisconnect:
        return
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        sentence = "The server's disk is full, so it cannot take files now. Tell whoever runs it."
        book.tell(session, sentence)
        raise Refusal(507, sentence, retry=60) from problem
