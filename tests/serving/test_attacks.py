"""Attacks from one address on a running server: the others, and the health check, are served all the same."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus

from benchmarks import load
from tests.serving.api.conftest import TOWN
from tests.serving.test_server import Running
from tests.serving.visitors import MB, Visitor, ask, uploads_mb
from tests.waiting import PATIENCE, finish, until

EVE = "127.0.0.66"
PAGES, CALLS = 12, 4
TIMEOUT = 2  # seconds that the server waits for a request


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {
        "EVENREACH_MOST_PAGES": str(PAGES),
        "EVENREACH_MOST_CALLS": str(CALLS),
        "EVENREACH_PATIENCE_S": str(TIMEOUT),
    }
    with Running(tmp_path_factory.mktemp("server"), **settings) as running:
        yield running


def line_of(server: Running, head: str, source: str = EVE) -> socket.socket:
    """A connection on which a request has begun."""
    line = socket.create_connection(("127.0.0.1", server.port), PATIENCE, (source, 0))
    line.sendall(f"{head}\r\nHost: localhost\r\n".encode())
    return line


def answer_of(line: socket.socket) -> http.client.HTTPResponse:
    answer = http.client.HTTPResponse(line)
    answer.begin()
    return answer


def flood(line: socket.socket, piece: bytes, count: int) -> None:
    """Send on, whatever the server says to it."""
    with contextlib.suppress(OSError):
        for _ in range(count):
            line.sendall(piece)


def served(server: Running) -> None:
    """Somebody else gets the health and a page."""
    assert server.answers()

    async def page() -> int:
        async with load.visits(server.port, 1, "dataset=toulouse&k=3") as (one,):
            await asyncio.wait_for(one.run(), PATIENCE)
            return one.errors

    assert finish(page()) == 0


@pytest.mark.parametrize(
    ("said", "piece", "status"),
    [
        (f"Content-Length: {150 * MB}", 20_000 * b'{"a":', 413),
        ("Transfer-Encoding: chunked", b"186a0\r\n" + 20_000 * b'{"a":' + b"\r\n", 411),
        ("Transfer-Encoding: chunked", 20_000 * b"1\r\n1\r\n", 411),
        (f"Content-Length: {MB}\r\nTransfer-Encoding: chunked", 20_000 * b"1\r\n1\r\n", 400),
    ],
)
@pytest.mark.parametrize("path", ["/api/projects", "/api/plans", "/", "/healthz"])
def test_a_huge_body_costs_no_memory_and_holds_nobody_up(
    server: Running, path: str, said: str, piece: bytes, status: int
) -> None:
    served(server)
    before = load.memory_mb(server.process.pid)
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(line_of(server, f"POST {path} HTTP/1.1")) for _ in range(CALLS)]
        senders = []
        for line in lines:
            line.sendall(f"Content-Type: application/json\r\n{said}\r\n\r\n".encode())
            senders.append(threading.Thread(target=flood, args=(line, piece, 100)))
        for sender in senders:
            sender.start()
        served(server)
        assert [answer_of(line).status for line in lines] == [status] * CALLS
        for sender in senders:
            sender.join(PATIENCE)
    assert load.memory_mb(server.process.pid) - before < 50


@pytest.mark.parametrize("path", ["/", "/api/plans", "/_stcore/health"])
def test_a_body_that_trickles_is_ended(server: Running, path: str) -> None:
    with line_of(server, f"POST {path} HTTP/1.1") as line:
        line.sendall(b"Content-Length: 1000000\r\n\r\n")
        line.settimeout(0.05)
        told = b""
        for _ in range(3600):
            with contextlib.suppress(TimeoutError):
                try:
                    line.sendall(b"1")
                    got = line.recv(1000)
                except ConnectionError:
                    got = b""
                told += got
                if not got:
                    break
        else:
            pytest.fail("it is still open")
    if path == "/api/plans":  # the others need no body, and have answered by then
        assert b" 408 " in told.splitlines()[0]


def test_an_address_has_a_share_of_open_pages(server: Running) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(PAGES):
            stack.callback(Visitor(server, EVE).leave)
        with pytest.raises(InvalidStatus, match="429"):
            Visitor(server, EVE)
        assert ask(server, "GET", "/", source=EVE)[0] == 200, "what is open already goes on working"
        served(server)
    until(lambda: _opens(server))
    notices = [str(line["about"]) for line in server.lines() if line.get("event") == "notice"]
    assert notices == ["Pages of an address have reached EVENREACH_MOST_PAGES."]
    assert "handshake" not in server.log.read_text(), "a flood of refusals is not a flood of lines"


def _opens(server: Running) -> bool:
    try:
        Visitor(server, EVE).leave()
    except InvalidStatus:
        return False
    return True


def test_reruns_of_one_address_hold_nobody_up(server: Running) -> None:
    """All its pages ask for one run after the other; of those that wait for their turn, only the newest is made."""
    runs, asked = 0, 0
    with contextlib.ExitStack() as stack:
        pages = [Visitor(server, EVE) for _ in range(PAGES)]
        for page in pages:
            stack.callback(page.leave)
        for number in range(30):
            for page in pages:
                message = BackMsg()
                message.rerun_script.query_string = f"dataset=toulouse&k={2 + number % 5}"
                page.socket.send(message.SerializeToString())
                asked += 1
            if number % 10 == 9:
                served(server)
        for page in pages:
            with contextlib.suppress(TimeoutError):
                while True:
                    raw = page.socket.recv(0.5)
                    runs += ForwardMsg.FromString(raw).HasField("new_session")  # type: ignore[arg-type]
    assert 0 < runs < asked // 2
    until(lambda: server.health()["computing"] == 0)
    served(server)


def test_joining_a_job_counts_and_waiting_for_it_holds_up_nobody(server: Running) -> None:
    wish = json.dumps({"dataset": "generated-1m", "k": 40}).encode()
    head = f"Content-Type: application/json\r\nContent-Length: {len(wish)}\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(70):
            line = stack.enter_context(line_of(server, "POST /api/plans HTTP/1.1"))
            line.sendall(head + wish)
            lines.append(line)
        until(lambda: server.health()["running"] == 1)
        refused, waiting = [], []
        for line in lines:
            line.settimeout(0.5)
            try:
                refused.append(answer_of(line))
            except TimeoutError:
                waiting.append(line)
        assert len(waiting) <= CALLS
        assert {(one.status, one.headers["retry-after"]) for one in refused} == {(429, "10")}
        boundary = b'--b\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n'
        status, said = ask(
            server,
            "POST",
            "/api/datasets",
            boundary + TOWN.encode() + b"\r\n--b--\r\n",
            source="127.0.0.67",
            Content_Type="multipart/form-data; boundary=b",
        )
        assert status == 201, said
        served(server)
        assert server.health()["running"] == 1, "the long plan went on meanwhile"
    until(lambda: server.health()["running"] == 0)


def test_an_upload_by_the_api_that_takes_longer_than_visitors_are_waited_for_arrives(server: Running) -> None:
    content = TOWN.encode() + 200_000 * b"1.0,43.0,1\n"
    whole = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n'
        + content
        + b"\r\n--b--\r\n"
    )
    with line_of(server, "POST /api/datasets HTTP/1.1") as line:
        line.sendall(
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(whole)}\r\n\r\n".encode()
        )
        step = len(whole) // 40
        for start in range(0, len(whole), step):
            line.sendall(whole[start : start + step])
            threading.Event().wait(0.2)  # three times as long, in all, as the server waits for visitors
        answer = answer_of(line)
        assert (answer.status, json.loads(answer.read())["rows"]) == (201, 200_100)
    until(lambda: uploads_mb(server) == 0)
    assert "KeyError" not in server.log.read_text()
