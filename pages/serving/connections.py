"""End connections that are silent or too slow, and limit how many one address may have."""

import asyncio
from ipaddress import ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from pages.serving.config import config
from pages.serving.network import network_of
from pages.serving.shares import Refusal, shares

KIND = "connections of an address"
SLICE = 16 * 1024  # bytes
LINGER = 1.0  # seconds in which a client that still sends can read why it was refused


class Patient(H11Protocol):
    """uvicorn's HTTP, with a time limit for every request.

    On its own, uvicorn waits for the rest of a request for ever, and each byte resets its clock.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless its address has too many."""
        super().connection_made(transport)
        self.late: asyncio.TimerHandle | None = None
        self.peer: str | None = None
        if not _trusted(self.client):
            peer = network_of({"client": self.client})
            try:
                shares().take(KIND, peer)
            except Refusal:
                transport.abort()
                return
            self.peer = peer
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a request in by slices, and little of one in chunks, which the gate refuses.

        Taking in a chunk of one byte costs as much as one of many: a read full of them would hold up everyone.
        """
        for start in range(0, len(data), SLICE):
            if self._in_chunks() or self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            super().data_received(data[start : start + SLICE])

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
        if self._in_chunks():  # where its body ends is not looked for: no other request can follow
            self.loop.call_later(LINGER, self.transport.close)

    def pause_writing(self) -> None:
        """Give a client that does not read its answer some time, too."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Start the clock anew: the client reads again."""
        super().resume_writing()
        self._wait()

    def _in_chunks(self) -> bool:
        return any(name == b"transfer-encoding" for name, _ in self.headers or ())

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
        if self.peer is not None:
            shares().give(KIND, self.peer)
            self.peer = None


def _trusted(client: tuple[str, int] | None) -> bool:
    """Whether a connection is a proxy's, which speaks for many."""
    address = ip_address(client[0]) if client else None
    return any(address in ip_network(text) for text in config().trusted)
