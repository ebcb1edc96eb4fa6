"""Faults made to happen to a server with people on it: one sees a sentence, the others notice nothing."""

import asyncio
import contextlib
import http.client
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks import load
from tests.serving.test_server import Running, answers
from tests.waiting import PATIENCE, finish, until

pytestmark = pytest.mark.nightly

TOO_LARGE = "dataset=generated-2m&k=30"
DAY = 86_400
# what the server's Python imports at its start: its clock is off by as many seconds as a file says
CLOCK = """
import time, pathlib
real, offset = time.time, pathlib.Path({file!r})
time.time = lambda: real() + float(offset.read_text() or 0)
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """How many seconds the server's clock is off."""
    file = tmp_path_factory.mktemp("clock") / "offset"
    file.write_text("0")
    (file.parent / "sitecustomize.py").write_text(CLOCK.format(file=str(file)))
    return file


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, clock: Path) -> Iterator[Running]:
    settings = {"PYTHONPATH": str(clock.parent), "EVENREACH_WORKER_MEMORY_MB": "600"}
    with Running(tmp_path_factory.mktemp("server"), **settings) as running:
        yield running


def sentences(messages: list[ForwardMsg]) -> list[str]:
    """The errors that a page shows."""
    elements = [message.delta.new_element for message in messages if message.HasField("delta")]
    assert not any(element.HasField("exception") for element in elements)
    return [element.alert.body for element in elements if element.HasField("alert")]


def beside(server: Running, query: str, fault: Callable[[], None]) -> list[str]:
    """Let one ask for heavy work, and a fault happen to it while another turns the dial; what is the one told?"""

    async def visit() -> list[str]:
        async with load.visits(server.port, 1) as (other,), load.visits(server.port, 1) as (one,):
            await other.run()
            asked = asyncio.create_task(answers(one, ClientState(query_string=query)))
            while not (await asyncio.to_thread(server.health))["running"] and not asked.done():
                await asyncio.sleep(0.05)
            await asyncio.to_thread(fault)
            for t in load.SETTINGS[:20:5]:
                await asyncio.wait_for(other.run(t), PATIENCE)
            assert other.errors == 0
            return sentences(await asyncio.wait_for(asked, PATIENCE))

    told: list[str] = finish(visit())
    until(server.answers)
    return told


def test_a_worker_killed_in_the_middle_of_a_plan(server: Running) -> None:
    (before,) = server.workers()
    (told,) = beside(server, "dataset=generated-100k&k=40", lambda: os.kill(before, signal.SIGKILL))
    assert "ended from outside" in told
    assert "Try again" in told
    until(lambda: server.workers() not in ([], [before]))


def test_a_plan_too_large_for_the_memory_of_a_worker(server: Running) -> None:
    until(lambda: len(server.workers()) == 1)
    (told,) = beside(server, TOO_LARGE, lambda: None)
    # compiled code that gets no memory may take its process with it; the sentence names the same cause and cure
    assert "not enough memory" in told or "ran out of memory" in told
    assert "fewer residents" in told
    until(lambda: server.lines()[-1]["outcome"] in ("out of memory", "lost"))


@pytest.mark.parametrize("days", [10, -10, 0])
def test_a_clock_that_jumps(server: Running, clock: Path, days: int) -> None:
    def jump() -> None:
        clock.write_text(str(days * DAY))

    assert beside(server, f"dataset=generated-10k&k={15 + days // 2}", jump) == []
    assert server.lines()[-1]["outcome"] == "done"
    assert 0 <= float(str(server.lines()[-1]["took_s"])) < 3600


def held_files(server: Running) -> list[str]:
    """Temporary files that the server still holds open: they have no name any more."""
    names = []
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            names.append(str(link.readlink()))
    return [name for name in names if name.endswith("(deleted)")]


def test_a_browser_gone_in_the_middle_of_an_upload(server: Running) -> None:
    """Real uploads, with session and token: half of each arrives, then the browser is gone."""
    door = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    door.request("GET", "/_stcore/health")
    token = door.getresponse().headers["set-cookie"].split("=", 1)[1].split(";")[0]
    door.close()
    whole = (
        b'--b\r\nContent-Disposition: form-data; name="f"; filename="t.csv"\r\nContent-Type: text/csv\r\n\r\n'
        b"lon,lat\n" + 300_000 * b"1.44,43.60\n" + b"\r\n--b--\r\n"
    )

    def head(session: str) -> bytes:
        return (
            f"PUT /_stcore/upload_file/{session}/file HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Cookie: _streamlit_xsrf={token}\r\nX-Xsrftoken: {token}\r\nConnection: close\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(whole)}\r\n\r\n"
        ).encode()

    def upload(session: str, part: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
            line.sendall(head(session) + part)
            if part != whole:
                until(lambda: bool(held_files(server)))  # the server has the half in hand
                return b""
            return line.recv(100)

    async def visit() -> bytes:
        async with load.visits(server.port, 1, "dataset=toulouse&k=5") as (one,):
            begun = await answers(one, ClientState(query_string=one.query))
            session = next(m.new_session.initialize.session_id for m in begun if m.HasField("new_session"))
            for _ in range(3):
                await asyncio.to_thread(upload, session, whole[: len(whole) // 2])
                await asyncio.to_thread(until, lambda: not held_files(server))
            await asyncio.wait_for(one.run(), PATIENCE)
            assert one.errors == 0
            return await asyncio.to_thread(upload, session, whole)

    assert held_files(server) == []
    assert b" 204 " in finish(visit()).splitlines()[0]
    until(lambda: not held_files(server))
