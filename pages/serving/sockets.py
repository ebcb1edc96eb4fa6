"""Pass on what browsers send over their websockets, run by run: each run of a page waits for its turn.

Streamlit starts a thread for every run that a message asks for. Here a message that asks for one waits until its page
has a turn (see `jobs.turns`); a newer one for the same part of the page takes its place meanwhile.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

import streamlit as st
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.serving.jobs.asker import Asker
from pages.serving.jobs.turns import Turn, Turns, turns

PASSED = {"stop_script", "app_heartbeat", "load_git_info", "file_urls_request"}  # they run nothing
RUNS = {"rerun_script"}
FILES = {
    "deferred_file",
    "dataframe_chunk",
}  # made when they are asked for; other operations write to the server
TRIGGERS = {"trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value"}
MOST_HELD = 16  # parts of one page that wait to be drawn
A_SECOND, BURST = 20.0, 2.0  # messages a browser may send, and for how many seconds it may have sent none
COUNTS_AS_ONE = 16 * 1024  # bytes
SOON = 2.0  # seconds in which a run begins; one that lasts longer may be interrupted
GRACE = 1.0  # seconds in which a run notices that its browser has gone
SHORT = 16  # bytes; the message that says whether a page runs is no longer
NAME = b"x-evenreach-page"

_open: dict[str, "PageSocket"] = {}


class PageSocket:
    """The websocket of one page, between the browser and Streamlit.

    Parameters
    ----------
    receive, send : callable
        Of the browser's side.
    address : str
        Whose share of turns it takes from.
    line : Turns
        Where it waits.
    """

    def __init__(self, receive: Receive, send: Send, address: str, line: Turns) -> None:
        self.name = secrets.token_hex(8)
        self.turn: Turn | None = None
        self.running = False  # as Streamlit says
        self._receive, self._send, self._line = receive, send, line
        self._asker = Asker(f"page {self.name}", address)
        self._held: dict[str, BackMsg] = {}  # by the part of the page they are about, the oldest first
        self._wanted = asyncio.Event()
        self._passed: asyncio.Queue[Message] = asyncio.Queue()
        self._due = 0.0

    async def receive(self) -> Message:
        """The next message for Streamlit."""
        return await self._passed.get()

    async def send(self, message: Message) -> None:
        """Send Streamlit's message to the browser, and note whether its page runs."""
        raw = message.get("bytes") or b""
        if 0 < len(raw) <= SHORT:
            told = ForwardMsg.FromString(raw)
            if told.WhichOneof("type") == "session_status_changed":
                self._note(running=told.session_status_changed.script_is_running)
        await self._send(message)

    async def read(self) -> None:
        """Take what the browser sends, no faster than a browser does, until it has gone."""
        while True:
            message = await self._receive()
            raw = message.get("bytes")
            if raw is None:
                self._passed.put_nowait(message)
                if message["type"] == "websocket.disconnect":
                    return
            else:
                await self._pace(len(raw))
                self._sort(message, raw)

    async def run(self) -> None:
        """Pass on what asks for a run when its turn has come."""
        while True:
            await self._wanted.wait()
            await self._idle()
            part = next(iter(self._held))
            if not (part and self.running):  # a part of the page is drawn by the run that goes on
                self._have(await self._line.take(self._asker))
                part = next(iter(self._held))
            self._passed.put_nowait(
                {"type": "websocket.receive", "bytes": self._held.pop(part).SerializeToString()}
            )
            if not self._held:
                self._wanted.clear()

    def close(self) -> None:
        """Give the turn back; a run that goes on gets a moment to notice."""
        if self.turn is not None and self.running:
            self._line.end_after(self.turn, GRACE)
        elif self.turn is not None:
            self._line.end(self.turn)

    async def _pace(self, size: int) -> None:
        now = asyncio.get_running_loop().time()
        self._due = max(self._due, now - BURST) + (1 + size / COUNTS_AS_ONE) / A_SECOND
        await asyncio.sleep(max(0.0, self._due - now))

    def _sort(self, message: Message, raw: bytes) -> None:
        """Hold what asks for a run, pass on what browsers need besides, drop the rest."""
        try:
            told = BackMsg.FromString(raw)
        except DecodeError:
            self._passed.put_nowait(message)  # Streamlit ends the connection
            return
        kind = told.WhichOneof("type")
        if kind in PASSED:
            self._passed.put_nowait(message)
        elif kind in RUNS:
            self._hold(told.rerun_script.fragment_id, told)
        elif kind == "backend_operation_request":
            asked = told.backend_operation_request
            if asked.WhichOneof("payload") in FILES:
                self._hold(f"file {asked.request_id}", told)

    def _hold(self, part: str, message: BackMsg) -> None:
        older = self._held.pop(part, None)
        if older is not None:
            _keep_triggers(older, message)
        elif len(self._held) >= MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[part] = message
        self._wanted.set()

    async def _idle(self) -> None:
        """Wait until the last run is over, rests, or has lasted so long that it may be interrupted."""
        if self.turn is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SOON):
                    await self.turn.idle.wait()

    def _have(self, turn: Turn) -> None:
        if self.turn is not None:
            self._line.end(self.turn)
        self.turn = turn
        turn.loop.call_later(SOON, self._came_to_nothing, turn)

    def _came_to_nothing(self, turn: Turn) -> None:
        """End the turn of a message that started no run, such as one about a part that is gone."""
        if not self.running:
            self._line.end(turn)

    def _note(self, *, running: bool) -> None:
        self.running = running
        if running and (self.turn is None or self.turn.over):
            self.turn = self._line.take_at_once(self._asker)  # the server itself asked for it
        elif not running and self.turn is not None:
            self._line.end(self.turn)


def _keep_triggers(older: BackMsg, newer: BackMsg) -> None:
    """Keep the clicks of a message that a newer one takes the place of."""
    known = {widget.id: widget for widget in newer.rerun_script.widget_states.widgets}
    for widget in older.rerun_script.widget_states.widgets:
        if widget.WhichOneof("value") not in TRIGGERS:
            continue
        if widget.id not in known:
            newer.rerun_script.widget_states.widgets.append(widget)
        elif known[widget.id].WhichOneof("value") not in TRIGGERS:
            known[widget.id].CopyFrom(widget)


@contextlib.asynccontextmanager
async def opened(receive: Receive, send: Send, address: str) -> AsyncIterator[PageSocket]:
    """Stand between a browser and Streamlit as long as the websocket is open."""
    page = PageSocket(receive, send, address, turns())
    _open[page.name] = page
    tasks = [asyncio.create_task(page.read()), asyncio.create_task(page.run())]
    try:
        yield page
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        del _open[page.name]
        page.close()


def named(scope: Scope, page: PageSocket) -> Scope:
    """Tell scripts which websocket their page has, in a header that no browser can set."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != NAME]
    return {**scope, "headers": [*headers, (NAME, page.name.encode())]}


def turn_here() -> Turn | None:
    """The turn of the page that is drawn in this thread; None outside of one."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    page = _open.get(st.context.headers.get(NAME.decode(), ""))
    return None if page is None else page.turn
