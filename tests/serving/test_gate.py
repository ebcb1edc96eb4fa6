"""The gate: names, routes, addresses, half-open requests, and shares of the server."""

import contextlib
import json
import socket
import uuid
from collections.abc import Iterator
from unittest.mock import MagicMock

import pytest
from fastapi import FastAPI
from starlette.routing import Mount, Route, WebSocketRoute
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.serving import Server
from pages.serving.config import Config
from pages.serving.gate import known_host
from pages.serving.server import build
from tests.serving.test_server import Running
from tests.serving.visitors import MB, Visitor, ask
from tests.waiting import PATIENCE, until

MOST = 10
PROXY = "127.0.0.2"
BASE = "/tools/reach"
SECRET = "0123456789abcdef" * 2
CLOSED = (
    "/_stcore/metrics",
    "/_stcore/metrics?families=cache_memory_bytes",
    "/_stcore/agent/interact",
    "/_stcore/agent/mcp",
    "/_stcore/agent/openapi.json",
    "/_stcore/script-health-check",
    "/_stcore/bidi-components/x/y.js",
    "/component/x/index.html",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {
        "EVENREACH_HOSTS": "reach.example.org, *.example.net",
        "EVENREACH_PROXIES": PROXY,
        "EVENREACH_MOST_CONNECTIONS": str(MOST),
        "EVENREACH_PATIENCE_S": "2",
        "EVENREACH_WORKERS": "0",
    }
    with Running(tmp_path_factory.mktemp("server"), **settings) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server under a path that wants people to sign in; nobody needs to reach the provider here."""
    home = tmp_path_factory.mktemp("home")
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "secrets.toml").write_text(
        f'[auth]\nredirect_uri = "https://reach.example.com{BASE}/oauth2callback"\ncookie_secret = "{SECRET}"\n'
        'client_id = "c"\nclient_secret = "s"\nserver_metadata_url = "http://127.0.0.1:9/none"\n'
    )
    settings = {"EVENREACH_LOGIN": "yes", "EVENREACH_BASE_PATH": BASE.strip("/"), "HOME": str(home)}
    settings["EVENREACH_WORKERS"] = "0"
    with Running(tmp_path_factory.mktemp("server"), **settings) as running:
        yield running


@pytest.mark.parametrize("path", ["/", "/healthz", "/_stcore/health", "/app/static/public-sans-latin.woff2"])
def test_a_name_that_is_not_this_servers_gets_nothing(server: Running, path: str) -> None:
    """A page elsewhere whose name leads to this address for a moment (DNS rebinding)."""
    status, said = ask(server, "GET", path, Host="evil.example")
    assert (status, "EVENREACH_HOSTS" in said) == (421, True)
    for host in (
        "localhost",
        f"127.0.0.1:{server.port}",
        "[::1]:80",
        "REACH.example.org.",
        "a.example.net:8501",
    ):
        assert ask(server, "GET", path, Host=host)[0] == 200


def test_nor_does_its_websocket(server: Running) -> None:
    with pytest.raises(InvalidStatus, match="421"):
        Visitor(server, host="evil.example", Origin=f"http://evil.example:{server.port}")
    Visitor(server, host="reach.example.org", Origin=f"http://reach.example.org:{server.port}").leave()
    notices = [line for line in server.lines() if line.get("event") == "notice"]
    assert [line for line in notices if "EVENREACH_HOSTS" in str(line["about"])] == notices[:1]


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.evil.example", "a@localhost", "localhost/x", "127.0.0.1.evil.example"],
)
def test_hosts_that_only_look_like_this_one(host: str) -> None:
    assert not known_host(host, ["reach.example.org"])


@pytest.mark.parametrize("path", CLOSED)
def test_routes_that_no_browser_needs_are_closed(server: Running, guarded: Running, path: str) -> None:
    assert ask(server, "GET", path) == ask(guarded, "GET", BASE + path) == (404, "There is nothing here.\n")
    assert ask(server, "POST", path, b"{}")[0] == 404


def test_signing_in_has_no_routes_where_nobody_signs_in(server: Running) -> None:
    for path in ("/auth/login", "/auth/logout", "/oauth2callback"):
        assert ask(server, "GET", path)[0] == 404


def test_every_route_of_this_streamlit_is_known() -> None:
    """A new one is closed or opened here on purpose: whatever comes below _stcore is closed until then."""
    routes = create_streamlit_routes(MagicMock())
    found = {route.path for route in routes if isinstance(route, (Route, WebSocketRoute))}
    assert found == {
        "/_stcore/health",
        "/_stcore/metrics",
        "/_stcore/host-config",
        "/media/{file_id:path}",
        "/_stcore/upload_file/{session_id}/{file_id}",
        "/component/{path:path}",
        "/_stcore/bidi-components/{path:path}",
        "/_stcore/stream",
        "/auth/login",
        "/auth/logout",
        "/oauth2callback",
        "/_stcore/agent/interact",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent/mcp",
        "/app/static/{path:path}",
    }


def test_every_route_of_this_server_is_known() -> None:
    """What stands beside Streamlit's: the health check and the API, which asks by itself who calls."""
    known: dict[str, Mount] = {getattr(route, "path", ""): route for route in build(Config())._user_routes}
    assert set(known) == {"/healthz", "/api"}
    under_a_path = build(Config(base_path="tools/reach"))._user_routes
    assert {getattr(route, "path", "") for route in under_a_path} == {"/healthz", "/tools/reach/api"}
    api = known["/api"].app
    assert isinstance(api, FastAPI)
    assert set(api.openapi()["paths"]) == {
        "/me",
        "/samples",
        "/datasets",
        "/datasets/{token}",
        "/datasets/{token}/restore",
        "/plans",
        "/projects",
        "/projects/{project}",
        "/projects/{project}/history",
        "/scenarios",
        "/scenarios/{scenario}",
        "/scenarios/{scenario}/restore",
        "/scenarios/{scenario}/files/{file}",
    }
    own = {getattr(route, "path", "") for route in api.routes}
    assert "/openapi.json" in own and not {"/docs", "/redoc"} & own


def test_the_api_stands_behind_the_same_gate(server: Running, guarded: Running) -> None:
    for path in ("/api/openapi.json", "/api/samples"):
        status, headers, _ = server.get(path)
        assert (status, headers["cache-control"]) == (200, "no-store")
        assert "object-src 'none'" in headers["content-security-policy"]
    status, said = ask(server, "GET", "/api/samples", Host="evil.example")
    assert (status, "EVENREACH_HOSTS" in json.loads(said)["detail"]) == (421, True)
    with contextlib.ExitStack() as stack:
        crowd(server, stack, MOST, "127.0.0.9")
        status, said = ask(server, "GET", "/api/samples", source="127.0.0.9")
        assert (status, "open pages" in json.loads(said)["detail"]) == (429, True)
    status, said = ask(guarded, "GET", f"{BASE}/api/samples")
    assert (status, "needs a person's token" in json.loads(said)["detail"]) == (401, True)
    assert ask(guarded, "GET", f"{BASE}/api/samples", Cookie=f"_streamlit_user={cookie(SECRET)}")[0] == 401
    assert ask(guarded, "GET", f"{BASE}/api/openapi.json")[0] == 200
    for wrong, status in ((b"x", 422), (b"", 422)):
        assert ask(server, "POST", "/api/datasets", wrong, Content_Type="text/plain")[0] == status
    said = ask(server, "POST", "/api/datasets", Content_Length=str(400 * MB))[1]
    assert "at most 200 MB" in json.loads(said)["detail"]
    assert ask(server, "POST", "/api/datasets", iter([b"x"]))[0] == 411


def cookie(secret: str, **changed: object) -> str:
    """What Streamlit gives to those who have signed in."""
    told = {"origin": "https://reach.example.com", "is_logged_in": True, "email": "a@example.com"} | changed
    return create_signed_value(secret, "_streamlit_user", json.dumps(told)).decode()


@pytest.mark.parametrize(
    ("signed", "passes"),
    [
        ("", False),
        ('{"is_logged_in": true}', False),
        (cookie("another secret of the same length"), False),
        (cookie(SECRET, is_logged_in=False), False),
        (cookie(SECRET, origin="https://evil.example"), False),
        (cookie(SECRET), True),
    ],
)
def test_files_are_only_for_those_who_have_signed_in(guarded: Running, signed: str, passes: bool) -> None:
    with Visitor(guarded, base=BASE) as one:
        _, headers, _ = guarded.get(f"{BASE}/_stcore/health")
        token = headers["set-cookie"].split("=", 1)[1].split(";")[0]
        known = {"Cookie": f"_streamlit_xsrf={token}; _streamlit_user={signed}", "X_Xsrftoken": token}
        status, said = one.upload("a", 1000, **known)
        assert (status, "Sign in first" in said) == ((204, False) if passes else (403, True))
        assert ask(guarded, "DELETE", one.path("a"), **known)[0] == (204 if passes else 403)
        assert ask(guarded, "GET", f"{BASE}/media/{'0' * 56}.csv", **known)[0] == (404 if passes else 403)


def signed_in_as(guarded: Running, email: str, session: str = "") -> Visitor:
    """A page of somebody who has signed in, or of a stranger; it may say that it had a session."""
    _, headers, _ = guarded.get(f"{BASE}/_stcore/health")
    token = headers["set-cookie"].split("=", 1)[1].split(";")[0]
    here = f"http://reach.example.com:{guarded.port}"
    known = f"; _streamlit_user={cookie(SECRET, email=email, origin=here)}" if email else ""
    page = Visitor(
        guarded,
        base=BASE,
        host="reach.example.com",
        said=(token, session) if session else (token,),
        Cookie=f"_streamlit_xsrf={token}{known}",
        Origin=here,
    )
    page.arrive()
    return page


def test_nobody_gets_into_the_session_of_another_person(guarded: Running) -> None:
    """Not even by its secret name; and whoever it belongs to notices nothing."""
    ann = signed_in_as(guarded, "ann@example.com")
    for stranger in ("eve@example.com", ""):
        eve = signed_in_as(guarded, stranger, ann.session)
        assert eve.session != ann.session
        eve.leave()
    before = ann.session
    ann.arrive()
    assert ann.session == before
    ann.leave()
    again = signed_in_as(guarded, "ann@example.com", before)
    assert again.session == before, "her own browser finds it again"
    again.leave()


@pytest.mark.parametrize(
    "chosen", ["chosen-by-eve", "0", "None", "00000000-0000-4000-8000-000000000000", "{half}", "{upper}"]
)
def test_a_session_has_the_name_that_the_server_gives_it(server: Running, chosen: str) -> None:
    """So that nobody can lay out a session for another to use, or find one by trying."""
    with Visitor(server) as ann:
        assert uuid.UUID(ann.session).version == 4, "122 random bits"
        name = chosen.format(half=ann.session[:18], upper=ann.session.upper())
        with Visitor(server, said=("x", name)) as eve:
            assert eve.session not in (name, ann.session)
            assert uuid.UUID(eve.session).version == 4


def test_the_name_in_the_way_back_from_signing_in_is_known(guarded: Running) -> None:
    assert ask(guarded, "GET", f"{BASE}/", Host="reach.example.com")[0] == 200
    assert ask(guarded, "GET", f"{BASE}/", Host="example.com")[0] == 421


def crowd(server: Running, stack: contextlib.ExitStack, count: int, source: str, **headers: str) -> None:
    for _ in range(count):
        stack.callback(Visitor(server, source, **headers).leave)


def test_one_address_has_a_share_of_the_connections(server: Running) -> None:
    with contextlib.ExitStack() as stack:
        crowd(server, stack, MOST, "127.0.0.6")
        with pytest.raises(InvalidStatus, match="429"):
            Visitor(server, "127.0.0.6")
        status, said = ask(server, "GET", "/", source="127.0.0.6")
        assert (status, "open pages" in said) == (429, True)
        # a word on another address is not taken from just anyone
        assert ask(server, "GET", "/", source="127.0.0.6", X_Forwarded_For="10.1.1.1")[0] == 429
        assert ask(server, "GET", "/healthz", source="127.0.0.6")[0] == 200
        assert ask(server, "GET", "/", source="127.0.0.7")[0] == 200
    until(lambda: ask(server, "GET", "/", source="127.0.0.6")[0] == 200)


def test_a_trusted_proxy_says_who_asks_and_its_last_word_counts(server: Running) -> None:
    with contextlib.ExitStack() as stack:
        # each claims another address; what the proxy saw stands at the end
        for number in range(MOST):
            crowd(server, stack, 1, PROXY, X_Forwarded_For=f"10.9.9.{number}, 10.0.0.1")
        for spoofed in ("10.0.0.1", "10.3.3.3, 10.0.0.1", f"10.0.0.1, {PROXY}", "::ffff:10.0.0.1"):
            assert ask(server, "GET", "/", source=PROXY, X_Forwarded_For=spoofed)[0] == 429
        assert ask(server, "GET", "/", source=PROXY, X_Forwarded_For="10.0.0.1, 10.0.0.2")[0] == 200


def test_a_proxy_that_is_not_named_is_noticed_once(guarded: Running) -> None:
    for _ in range(3):
        assert ask(guarded, "GET", f"{BASE}/", X_Forwarded_For="10.1.1.1")[0] == 200
    said = [line["about"] for line in guarded.lines() if line.get("event") == "notice"]
    assert sum("EVENREACH_PROXIES" in str(about) for about in said) == 1
    assert "10.1.1.1" not in str(said)


def ended(line: socket.socket) -> bool:
    """Whether the server has hung up."""
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_a_request_that_never_ends_is_ended(server: Running, said: bytes) -> None:
    """Silent, in the middle of its headers, or after an answer: a byte now and then does not keep it alive."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.2) as line:
        line.sendall(said)
        if said.endswith(b"\r\n\r\n"):
            assert line.recv(10_000)
            said = b"GET / HTTP/1.1\r\nX-Slow: "
            line.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                while line.recv(10_000):
                    pass
            line.sendall(said)
        for _ in range(900):  # of at most 0.2 s
            if ended(line):
                return
            if said:
                with contextlib.suppress(ConnectionError):
                    line.sendall(b"x")
        pytest.fail("it is still open")


def test_silent_connections_of_one_address_are_bounded(server: Running) -> None:
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(2 * MOST + 1):
            line = socket.create_connection(("127.0.0.1", server.port), 5, ("127.0.0.8", 0))
            lines.append(stack.enter_context(line))
        lines[-1].settimeout(PATIENCE)
        assert ended(lines[-1])
        assert ask(server, "GET", "/", source="127.0.0.7")[0] == 200


def test_a_message_that_no_browser_sends_ends_the_connection(server: Running) -> None:
    one = Visitor(server)
    with pytest.raises(ConnectionClosed, match="1009"):
        one.socket.send(2 * MB * b"1")
        one.hear()
    one.leave()


def test_a_plain_start_knows_only_this_machines_names() -> None:
    """Streamlit itself checks the websocket's host; everything of a visitor's goes through that."""
    with Server(plain=True) as plain:
        Visitor(plain, Origin=f"http://localhost:{plain.port}").leave()
        with pytest.raises(InvalidStatus, match="403"):
            Visitor(plain, host="evil.example", Origin=f"http://evil.example:{plain.port}")
