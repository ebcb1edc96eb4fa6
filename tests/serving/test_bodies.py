"""Bodies of requests: who asks is settled before one is read, and each has its limits of length, time and values."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.serving.api import build
from pages.serving.bodies import LARGEST, MOST_ITEMS
from pages.serving.config import Config
from pages.serving.gate import SLICE, Gate
from pages.serving.shares import Refusal, Shares, limits
from tests.waiting import PATIENCE, finish

ROUTES = (
    "/",
    "/compare",
    "/api/projects",
    "/api/plans",
    "/api/datasets/x",
    "/_stcore/health",
    "/healthz",
    "/media/x",
)
UPLOADS = (("POST", "/api/datasets"), ("PUT", "/_stcore/upload_file/session/file"))


async def nobody(_scope: Scope) -> str:
    return ""


async def stranger(_scope: Scope) -> str:
    raise Refusal(401, "Who are you?", scheme="Bearer")


async def never() -> Message:
    pytest.fail("a byte of the body was asked for")


async def reads(_scope: Scope, receive: Receive, send: Send) -> None:
    """An app that reads the body, and says how long it was."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def gate_before(
    app: ASGIApp,
    patience: float = 30.0,
    identify: Callable[[Scope], Awaitable[str]] = nobody,
    *,
    login: bool = False,
) -> Gate:
    """A gate of a server without names and path."""
    account = Shares(limits(Config()))
    return Gate(
        app,
        shares=account,
        identify=identify,
        names=[],
        base="",
        login=login,
        proxied=False,
        patience=patience,
    )


def scope_of(method: str, path: str, *headers: tuple[str, str]) -> Scope:
    raw = [(name.encode(), value.encode()) for name, value in (("host", "localhost"), *headers)]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": ("10.0.0.1", 1)}
    return scope | {"query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http"}


def asked(
    path: str,
    *headers: tuple[str, str],
    receive: Receive = never,
    app: ASGIApp = reads,
    method: str = "POST",
    patience: float = 30.0,
    identify: Callable[[Scope], Awaitable[str]] = nobody,
    login: bool = False,
) -> tuple[int, str]:
    """Send a request through a gate; returns the status and the text."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        await asyncio.sleep(0)

    gate = gate_before(app, patience=patience, identify=identify, login=login)
    scope = scope_of(method, path, *headers)
    finish(asyncio.wait_for(gate(scope, receive, send), PATIENCE))
    assert not gate.shares.held, "whoever has been answered holds nothing"
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:]).decode()


def pieces(*parts: bytes, pause: float = 0.0, endless: bool = False) -> Receive:
    """A body that comes in pieces."""
    left = list(parts)

    async def receive() -> Message:
        await asyncio.sleep(pause)
        part = left.pop(0) if left else b"1"
        return {"type": "http.request", "body": part, "more_body": endless or bool(left)}

    return receive


@pytest.mark.parametrize("path", ROUTES)
def test_no_route_takes_a_large_body(path: str) -> None:
    status, said = asked(path, ("content-length", str(LARGEST + 1)))
    assert (status, "at most 1 MB" in said) == (413, True)


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_that_is_longer_than_it_said_is_cut_off(path: str) -> None:
    """uvicorn takes no more than was announced; the gate does not rely on it."""
    status, said = asked(path, receive=pieces(LARGEST * b"1", b"1"))
    assert (status, "longer than it may be" in said) == (413, True)


@pytest.mark.parametrize("path", ["/api/projects", "/api/plans", "/api/datasets"])
def test_who_calls_is_settled_before_the_body_is_read(path: str) -> None:
    status, said = asked(path, ("content-length", "1000"), identify=stranger)
    assert (status, json.loads(said)["detail"]) == (401, "Who are you?")


@pytest.mark.parametrize("path", ["/_stcore/upload_file/session/file", "/media/x"])
def test_who_has_not_signed_in_sends_no_body(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.serving.gate.signed_in", lambda _: False)
    assert asked(path, ("content-length", "1000"), method="PUT", login=True)[0] == 403


@pytest.mark.parametrize(("method", "path"), [*(("POST", path) for path in ROUTES), *UPLOADS])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("transfer-encoding", "chunked")], 411),
        ([("transfer-encoding", "chunked"), ("content-length", "5")], 400),
        ([("content-length", "5"), ("content-length", "5")], 400),
        ([("content-length", "5, 6")], 400),
        ([("content-length", "+5")], 400),
        ([("content-length", "٥")], 400),
    ],
)
def test_the_end_of_a_request_is_never_in_doubt(
    method: str, path: str, headers: list[tuple[str, str]], status: int
) -> None:
    assert asked(path, *headers, method=method)[0] == status


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_that_trickles_is_ended_on_every_route(path: str) -> None:
    status, said = asked(path, receive=pieces(pause=0.01, endless=True), patience=0.2)
    assert (status, "stalled" in said) == (408, True)


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_that_stalls_is_ended_on_every_route(path: str) -> None:
    status, said = asked(path, receive=pieces(b"1", pause=PATIENCE, endless=True), patience=0.05)
    assert (status, "stalled" in said) == (408, True)


def test_what_is_neither_long_nor_slow_arrives_whole() -> None:
    for path in ROUTES:
        assert asked(path, receive=pieces(LARGEST // 2 * b"1", LARGEST // 2 * b"1")) == (200, str(LARGEST))


def test_an_app_that_makes_something_else_of_a_refusal_is_not_heard() -> None:
    """FastAPI answers 400 to whatever goes wrong while a body is read."""
    app = FastAPI()

    @app.post("/page")
    async def read(request: Request) -> int:
        try:
            return len(await request.body())
        except Refusal:
            return 0

    status, said = asked("/page", receive=pieces(pause=0.01, endless=True), app=app, patience=0.1)
    assert (status, "stalled" in said) == (408, True)


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "x", ' + b", ".join(b'"%d": 1' % i for i in range(MOST_ITEMS)) + b"}",
        b'{"dataset": "toulouse", "k": 3, "closed": [' + MOST_ITEMS * b"1," + b"1]}",
    ],
)
def test_a_body_of_too_many_values_is_refused(body: bytes) -> None:
    status, said = asked("/api/projects", receive=pieces(body), app=build())
    assert (status, "too many values" in said) == (413, True)


@pytest.mark.parametrize("body", [LARGEST * b"[", LARGEST // 5 * b'{"a":', b'{"k": ' + 100_000 * b"9" + b"}"])
def test_a_body_that_is_deep_or_a_huge_number_is_refused(body: bytes) -> None:
    app = Starlette(routes=[Mount("/api", build())])
    status, said = asked("/api/plans", ("content-type", "application/json"), receive=pieces(body), app=app)
    assert status in (400, 413, 422)
    assert len(said) < 1000


def test_a_large_answer_goes_out_in_slices() -> None:
    """So that one who does not read it keeps a slice of it in memory, not all."""
    sent: list[Message] = []

    async def large(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": 3 * SLICE * b"1" + b"2"})

    async def send(message: Message) -> None:
        sent.append(message)
        await asyncio.sleep(0)

    finish(gate_before(large)(scope_of("GET", "/media/x"), never, send))
    assert [len(message["body"]) for message in sent[1:]] == [SLICE, SLICE, SLICE, 1]
    assert [message["more_body"] for message in sent[1:]] == [True, True, True, False]
