"""End connections that are silent or too slow, and limit how many one address may have."""

import asyncio
from collections import Counter
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from pages.serving.config import config
from pages.serving.doors import who


class Patient(H11Protocol):
    """uvicorn's HTTP, with a time limit for every request.

    On its own, uvicorn waits for the rest of a request for ever, and each byte resets its clock.
    """

    of: ClassVar[Counter[str]] = Counter()  # connections by address, all of this server's

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless its address has too many; a trusted proxy speaks for many."""
        super().connection_made(transport)
        self.late: asyncio.TimerHandle | None = None
        self.peer = who({"client": self.client})
        self.of[self.peer] += 1
        # half of them may be between two requests
        if self.of[self.peer] > 2 * config().most_connections and not _trusted(self.client):
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._gone()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Hand over to the websocket, which pings by itself."""
        self._gone()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Give the next request its time."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Give a client that does not read its answer some time, too."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Start the clock anew: the client reads again."""
        super().resume_writing()
        self._wait()

    def _wait(self) -> None:
        self._stop()
        self.late = self.loop.call_later(config().patience_s, self._too_late)

    def _stop(self) -> None:
        if self.late:
            self.late.cancel()
            self.late = None

    def _too_late(self) -> None:
        at_work = self.cycle is not None and not self.cycle.response_complete
        if not at_work or self.flow.write_paused:  # then it is the client that keeps us waiting
            self.transport.abort()

    def _gone(self) -> None:
        self._stop()
        if self.peer:
            self.of[self.peer] -= 1
            if not self.of[self.peer]:
                del self.of[self.peer]
            self.peer = ""


def _trusted(client: tuple[str, int] | None) -> bool:
    address = ip_address(client[0]) if client else None
    return any(address in ip_network(text) for text in config().trusted)
