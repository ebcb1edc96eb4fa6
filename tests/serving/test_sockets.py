"""Websockets of pages: each run waits for its turn, what is superseded is dropped, and no click is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import streamlit as st
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.context import StreamlitHeaders

from pages.serving import sockets
from pages.serving.jobs.asker import Asker
from pages.serving.jobs.turns import Turns
from pages.serving.sockets import MOST_HELD, PageSocket
from tests.waiting import PATIENCE, finish

HERE, THERE = "203.0.113.7", "198.51.100.4"


def rerun(query: str = "", part: str = "", **widgets: object) -> BackMsg:
    """A message that asks for a run."""
    message = BackMsg()
    message.rerun_script.query_string, message.rerun_script.fragment_id = query, part
    for name, value in widgets.items():
        widget = message.rerun_script.widget_states.widgets.add(id=name)
        if value is True:
            widget.trigger_value = True
        else:
            widget.int_value = value  # type: ignore[assignment]
    return message


def status(*, running: bool) -> bytes:
    message = ForwardMsg()
    message.session_status_changed.script_is_running = running
    return message.SerializeToString()


class Page:
    """A page between a browser and a Streamlit that are both ours."""

    def __init__(self, line: Turns, address: str = HERE) -> None:
        self.browser: asyncio.Queue[Message] = asyncio.Queue()
        self.shown: list[Message] = []
        self.socket = PageSocket(self.browser.get, self._show, address, line)
        self.tasks = [asyncio.create_task(self.socket.read()), asyncio.create_task(self.socket.run())]

    async def _show(self, message: Message) -> None:
        self.shown.append(message)

    def sends(self, *messages: BackMsg | bytes) -> None:
        for one in messages:
            raw = one if isinstance(one, bytes) else one.SerializeToString()
            self.browser.put_nowait({"type": "websocket.receive", "bytes": raw})

    async def says(self, *, running: bool) -> None:
        await self.socket.send({"type": "websocket.send", "bytes": status(running=running)})

    async def heard(self) -> BackMsg:
        """The next message that Streamlit gets."""
        message = await asyncio.wait_for(self.socket.receive(), PATIENCE)
        return BackMsg.FromString(message["bytes"])

    def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        self.socket.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is slowed down but where it is tested."""
    monkeypatch.setattr(sockets, "A_SECOND", 1e9)


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


def within(work: Callable[[], Awaitable[None]]) -> None:
    finish(asyncio.wait_for(work(), PATIENCE))


def test_of_many_runs_that_wait_only_the_newest_is_made() -> None:
    async def flood() -> None:
        line = Turns(most=1, of_address=1)
        page = Page(line)
        page.sends(*[rerun(f"k={i}") for i in range(100)])
        first = await page.heard()
        await page.says(running=True)
        page.sends(*[rerun(f"k={i}") for i in range(100, 200)])
        await settle()
        assert page.socket._passed.empty(), "one run of a page at a time"
        await page.says(running=False)
        assert (await page.heard()).rerun_script.query_string == "k=199"
        await settle()
        assert page.socket._passed.empty()
        assert int(first.rerun_script.query_string[2:]) <= 99
        page.leave()
        await settle()
        assert (line.running, line.waiting) == (0, 0)

    within(flood)


def test_pages_of_one_address_run_few_at_a_time_and_another_comes_next() -> None:
    async def crowd() -> None:
        line = Turns(most=4, of_address=2)
        pages = [Page(line) for _ in range(60)]
        for page in pages:
            page.sends(rerun())
        await settle()
        assert sum(not page.socket._passed.empty() for page in pages) == 2
        other = Page(line, THERE)
        other.sends(rerun())
        await other.heard()
        for page in (*pages, other):
            page.leave()
        await settle()
        assert (line.running, line.waiting) == (0, 0)

    within(crowd)


def test_a_click_is_not_lost_when_its_run_is_superseded() -> None:
    async def clicked() -> None:
        line = Turns(most=1, of_address=1)
        busy = await line.take(Asker("another", HERE))
        page = Page(line)
        page.sends(rerun("k=3", save=True, k=3), rerun("k=4", k=4), rerun("k=5", save=0, k=5))
        await settle()
        line.end(busy)
        told = (await page.heard()).rerun_script
        values = {one.id: one.WhichOneof("value") for one in told.widget_states.widgets}
        assert (told.query_string, values) == ("k=5", {"save": "trigger_value", "k": "int_value"})
        page.leave()

    within(clicked)


def test_parts_of_a_page_run_one_after_the_other_and_are_bounded() -> None:
    async def parts() -> None:
        page = Page(Turns(most=1, of_address=1))
        page.sends(rerun(part="a"), rerun(part="b"), rerun("k=2"))
        found = []
        for _ in range(3):
            told = (await page.heard()).rerun_script
            found.append(told.fragment_id)
            await page.says(running=True)
            await page.says(running=False)
        assert found == ["a", "b", ""]
        page.sends(rerun(), *[rerun(part=f"part {i}") for i in range(1000)])
        await settle()
        assert len(page.socket._held) <= MOST_HELD
        page.leave()

    within(parts)


def test_a_run_that_rests_is_interrupted_by_a_new_one_and_draws_its_parts_itself() -> None:
    async def rest() -> None:
        line = Turns(most=1, of_address=1)
        page = Page(line)
        page.sends(rerun("k=2"))
        await page.heard()
        await page.says(running=True)
        first = page.socket.turn
        assert first is not None
        with line.rest(first):
            page.sends(rerun(part="bar"))
            assert (await page.heard()).rerun_script.fragment_id == "bar"
            assert page.socket.turn is first
            page.sends(rerun("k=3"))
            assert (await page.heard()).rerun_script.query_string == "k=3"
        assert first.over and line.running == 1
        page.leave()

    within(rest)


def test_a_message_that_starts_no_run_keeps_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SOON", 0.05)

    async def nothing() -> None:
        line = Turns(most=1, of_address=1)
        page, other = Page(line), Page(line, THERE)
        page.sends(rerun(part="gone"))
        await page.heard()
        other.sends(rerun())
        await other.heard()
        page.leave()
        other.leave()

    within(nothing)


def test_a_run_that_the_server_asks_for_counts_too() -> None:
    async def own() -> None:
        line = Turns(most=1, of_address=1)
        page = Page(line)
        await page.says(running=True)
        assert line.running == 1
        await page.says(running=False)
        assert line.running == 0
        page.leave()

    within(own)


def test_a_browser_that_leaves_in_the_middle_of_a_run_keeps_its_turn_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise whoever comes, asks and goes would start one thread after the other."""
    monkeypatch.setattr(sockets, "GRACE", 0.1)

    async def leave() -> None:
        line = Turns(most=1, of_address=1)
        page = Page(line)
        page.sends(rerun())
        await page.heard()
        await page.says(running=True)
        page.leave()
        assert line.running == 1
        await asyncio.wait_for(line.take(Asker("Ann", THERE)), PATIENCE)

    within(leave)


def test_a_script_finds_the_turn_of_its_own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a header that the server adds to the websocket; one that a browser sends is taken off."""

    async def find() -> None:
        async with sockets.opened(asyncio.Queue().get, MagicMock(), HERE) as page:
            forged = [(b"host", b"localhost"), (b"X-EvenReach-Page", b"another"), (sockets.NAME, b"another")]
            scope = sockets.named({"type": "websocket", "headers": forged}, page)
            assert scope["headers"] == [(b"host", b"localhost"), (sockets.NAME, page.name.encode())]
            page.turn = page._line.take_at_once(Asker("page", HERE))
            assert sockets.turn_here() is None, "work beside a page has no turn"
            monkeypatch.setattr(sockets, "get_script_run_ctx", lambda **_: object())
            seen = StreamlitHeaders([(name.decode(), value.decode()) for name, value in scope["headers"]])
            monkeypatch.setattr(st, "context", SimpleNamespace(headers=seen))
            assert sockets.turn_here() is page.turn
        assert sockets.turn_here() is None
        page._line.end(page.turn)

    within(find)


@pytest.mark.parametrize(
    "kind", ["clear_cache", "set_run_on_save", "debug_disconnect_websocket", "debug_shutdown_runtime"]
)
def test_messages_that_concern_others_are_dropped(kind: str) -> None:
    """Clearing the cache is everybody's."""

    async def dropped() -> None:
        page = Page(Turns())
        page.sends(BackMsg(**{kind: True}), BackMsg(stop_script=True))
        assert (await page.heard()).WhichOneof("type") == "stop_script"
        page.leave()

    within(dropped)


def test_operations_that_write_to_the_server_are_dropped_and_files_wait_for_a_turn() -> None:
    async def operations() -> None:
        line = Turns(most=1, of_address=1)
        page = Page(line)
        install, file = BackMsg(), BackMsg()
        install.backend_operation_request.install_skills.SetInParent()
        file.backend_operation_request.deferred_file.file_id = "x"
        page.sends(install, file)
        told = await page.heard()
        assert told.backend_operation_request.WhichOneof("payload") == "deferred_file"
        assert line.running == 1
        page.leave()

    within(operations)


def test_every_message_of_this_streamlit_is_known() -> None:
    """A new one is dropped until it is passed on here on purpose (streamlit 1.67)."""
    known = {field.name for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    assert known == sockets.PASSED | sockets.RUNS | {
        "backend_operation_request",
        "clear_cache",
        "set_run_on_save",
        "debug_disconnect_websocket",
        "debug_shutdown_runtime",
    }
    assert len(status(running=True)) <= sockets.SHORT


def test_what_is_no_message_is_left_to_streamlit() -> None:
    async def garbage() -> None:
        page = Page(Turns())
        page.sends(b"\xff\xff\xff")
        assert (await asyncio.wait_for(page.socket.receive(), PATIENCE))["bytes"] == b"\xff\xff\xff"
        page.browser.put_nowait({"type": "websocket.disconnect", "code": 1000})
        assert (await asyncio.wait_for(page.socket.receive(), PATIENCE))["type"] == "websocket.disconnect"
        page.leave()

    within(garbage)


def test_who_sends_more_than_a_browser_does_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "A_SECOND", 20.0)
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    async def paced() -> None:
        page = Page(Turns())
        page.leave()
        real, asyncio.sleep = asyncio.sleep, note  # type: ignore[assignment]
        try:
            for _ in range(100):
                await page.socket._pace(100)
            small = slept[-1]
            await page.socket._pace(1024 * 1024)
        finally:
            asyncio.sleep = real  # type: ignore[assignment]
        assert slept[0] == 0 and small > 1
        assert slept[-1] - small > 2, "a large message counts for many"

    within(paced)
