"""Whose share a request counts against behind proxies: what the last of them saw, never what a visitor claims."""

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pages.serving.config import Config
from pages.serving.network import network_of
from tests.waiting import finish

ANN, PROXY = "203.0.113.7", "10.0.0.5"
SETTINGS = Config(proxies=f"{PROXY}, 172.16.0.0/12, 2001:db8:ffff::/48")


def counted(peer: str, *lines: str, name: str = "x-forwarded-for") -> str:
    """Whose share a request of a peer counts against, with the lines of its header."""
    found: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        found.append(network_of(scope))

    headers = [(name.encode(), line.encode()) for line in lines]
    behind = ProxyHeadersMiddleware(app, SETTINGS.trusted)  # type: ignore[arg-type]
    scope = {"type": "http", "client": (peer, 1), "headers": headers, "scheme": "http"}
    finish(behind(scope, None, None))  # type: ignore[arg-type]
    return found[0]


@pytest.mark.parametrize(
    "peer", [PROXY, f"::ffff:{PROXY}", "172.16.3.4", "::ffff:172.31.0.1", "2001:db8:ffff::1"]
)
@pytest.mark.parametrize(
    "lines",
    [
        [ANN],
        [f"  {ANN} "],
        [f"1.1.1.1, {ANN}"],
        ["1.1.1.1", ANN],
        [f"1.1.1.1, {ANN}, 172.16.3.4"],
        [f"1.1.1.1, {ANN}", f"172.16.3.4, ::ffff:{PROXY}"],
        [f"{PROXY}, {ANN}, {PROXY}"],
        [f"{ANN}:4711"],
        [f"::ffff:{ANN}"],
        [f"[::ffff:{ANN}]:443, {PROXY}:80"],
        [f"<script>, unknown, {'x' * 5000}, {ANN}"],
    ],
)
def test_what_the_last_proxy_saw_counts(peer: str, lines: list[str]) -> None:
    assert counted(peer, *lines) == ANN


@pytest.mark.parametrize(
    "text", ["2001:db8:1:2::9", "[2001:db8:1:2:ffff::1]:443", "2001:DB8:1:2:0:0:0:1", "2001:db8:1:2::1%eth0"]
)
def test_an_ipv6_address_counts_by_its_network(text: str) -> None:
    assert counted(PROXY, f"1.1.1.1, {text}") == "2001:db8:1:2::"


@pytest.mark.parametrize(
    "text",
    [
        "unknown",
        "x" * 5000,
        "203.0.113.7:abc",
        "203.0.113.999",
        "_hidden",
        "for=203.0.113.7",
        "[::1",
        "٣.0.0.1",
    ],
)
def test_whatever_is_no_address_shares_one(text: str) -> None:
    assert counted(PROXY, f"{ANN}, {text}") == ""


@pytest.mark.parametrize("lines", [[""], [","], [f"{ANN},"], [PROXY], [f"{PROXY}, 172.16.3.4"]])
def test_a_proxy_that_names_nobody_counts_itself(lines: list[str]) -> None:
    assert counted(PROXY, *lines) == PROXY


@pytest.mark.parametrize("peer", ["198.51.100.9", "10.0.0.6", "::ffff:10.0.0.4", "172.32.0.1"])
def test_nobody_else_is_believed(peer: str) -> None:
    for claimed in (ANN, f"{ANN}, {PROXY}", PROXY, "127.0.0.1"):
        assert counted(peer, claimed) == peer.removeprefix("::ffff:")


@pytest.mark.parametrize(
    "name", ["x-real-ip", "forwarded", "x-client-ip", "cf-connecting-ip", "x_forwarded_for"]
)
def test_no_other_header_is_believed(name: str) -> None:
    assert counted(PROXY, ANN, name=name) == PROXY
