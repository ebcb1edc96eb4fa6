"""Take turns at computing: scripts of pages and calls of the API share the server's threads, address by address.

Python computes in one thread at a time, so whoever starts many scripts would slow down all others, and with them the
event loop that answers health checks. A run gets a turn before its thread starts, and gives it up while it waits for
a worker.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cache

from pages.serving.jobs.asker import Asker
from pages.serving.jobs.line import Line

AT_ONCE = 8  # runs that compute at the same time
OF_ADDRESS = 4  # of them from one address
LONGEST = 30.0  # seconds after which a run that neither ends nor rests no longer keeps others waiting
ENDLESS = 1_000_000  # how many wait is limited before: pages and calls have their shares


class Turn:
    """A turn at computing: waiting, granted, resting or over."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.loop = asyncio.get_running_loop()
        self.granted = asyncio.Event()
        self.idle = asyncio.Event()  # it is over, or rests
        self.again = threading.Event()  # it goes on after a rest
        self.over = False
        self.late: asyncio.TimerHandle | None = None


class Turns:
    """Grants turns: to addresses one after the other, and within an address to its visitors.

    Event loops ask for turns; threads may rest. All of it is guarded by one lock.

    Parameters
    ----------
    most : int
        Turns at the same time.
    of_address : int
        Turns of one address at the same time.
    longest : float
        Seconds after which a turn no longer counts.
    """

    def __init__(self, most: int = AT_ONCE, of_address: int = OF_ADDRESS, longest: float = LONGEST) -> None:
        self.most, self.longest = most, longest
        self._line: Line[Turn] = Line(ENDLESS, of_address, ENDLESS)
        self._lock = threading.RLock()

    @property
    def running(self) -> int:
        """How many compute now."""
        with self._lock:
            return len(self._line.running)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        with self._lock:
            return len(self._line)

    async def take(self, asker: Asker) -> Turn:
        """Wait for a turn; no thread is held meanwhile."""
        turn = Turn(asker)
        with self._lock:
            self._line.join(turn)
            self._grant()
        try:
            await turn.granted.wait()
        except asyncio.CancelledError:
            self.end(turn)
            raise
        return turn

    def take_at_once(self, asker: Asker) -> Turn:
        """Count a run that has begun without a turn; others wait longer for it."""
        turn = Turn(asker)
        with self._lock:
            self._begin(turn)
        return turn

    def end(self, turn: Turn) -> None:
        """Give a turn back, whether it was granted or not."""
        with self._lock:
            turn.over = True
            turn.again.set()
            self._leave(turn)

    def end_after(self, turn: Turn, seconds: float) -> None:
        """Give a turn back in a moment: its run may not have noticed yet that nobody wants it."""
        turn.loop.call_later(seconds, self.end, turn)

    @asynccontextmanager
    async def turn(self, asker: Asker) -> AsyncIterator[Turn]:
        """Have a turn as long as the block lasts."""
        turn = await self.take(asker)
        try:
            yield turn
        finally:
            self.end(turn)

    @contextmanager
    def rest(self, turn: Turn) -> Iterator[None]:
        """Let others compute while this thread waits for something; afterwards it waits for another turn.

        Whoever waits for what another thread makes has to rest: then nobody keeps the turn from the one waited for. A
        run that is given up goes on at once, to its end.
        """
        with self._lock:
            turn.again.clear()
            self._leave(turn)
        try:
            yield
        except BaseException:
            self._go_on(turn)
            raise
        with self._lock:
            if not turn.over:
                self._line.join(turn)
                self._grant()
        turn.again.wait(self.longest)
        self._go_on(turn)

    def _go_on(self, turn: Turn) -> None:
        with self._lock:
            if not turn.over:
                self._begin(turn)

    def _begin(self, turn: Turn) -> None:
        self._line.begin(turn)
        turn.again.set()
        self._call(self._granted, turn)

    def _leave(self, turn: Turn) -> None:
        self._line.leave(turn)
        self._call(self._left, turn)
        self._grant()

    def _grant(self) -> None:
        while len(self._line.running) < self.most and (turn := self._line.next()) is not None:
            self._begin(turn)

    def _granted(self, turn: Turn) -> None:
        turn.granted.set()
        turn.idle.clear()
        self._stop(turn)
        turn.late = turn.loop.call_later(self.longest, self.end, turn)

    def _left(self, turn: Turn) -> None:
        turn.idle.set()
        self._stop(turn)

    @staticmethod
    def _stop(turn: Turn) -> None:
        if turn.late:
            turn.late.cancel()
            turn.late = None

    @staticmethod
    def _call(what: Callable[[Turn], None], turn: Turn) -> None:
        """Call something in the loop of whoever asked, in order, from any thread."""
        if not turn.loop.is_closed():
            turn.loop.call_soon_threadsafe(what, turn)


@cache
def turns() -> Turns:
    """The turns of this process."""
    return Turns()


_own: ContextVar[Turn | None] = ContextVar("turn", default=None)


def _none() -> Turn | None:
    return None


_find: Callable[[], Turn | None] = _none


def found_by(find: Callable[[], Turn | None]) -> None:
    """Set how a thread that draws a page finds its turn."""
    global _find
    _find = find


@contextmanager
def having(turn: Turn) -> Iterator[None]:
    """Compute in this thread by a turn."""
    token = _own.set(turn)
    try:
        yield
    finally:
        _own.reset(token)


@contextmanager
def resting() -> Iterator[None]:
    """Let others compute while this thread waits; without a turn it just waits.

    >>> with resting():
    ...     pass
    """
    turn = _own.get() or _find()
    if turn is None:
        yield
        return
    with turns().rest(turn):
        yield
