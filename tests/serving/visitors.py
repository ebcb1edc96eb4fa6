"""Visitors as the server sees them: websockets and uploads, from any address of loopback."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.serving.test_server import Running
from tests.waiting import PATIENCE

MB = 1024 * 1024
HEAD = b'--b\r\nContent-Disposition: form-data; name="f"; filename="t.csv"\r\nContent-Type: text/csv\r\n\r\n'
TAIL = b"\r\n--b--\r\n"
Answer = tuple[int, str]


def form(size: int) -> bytes:
    """An upload of so many bytes, as a browser sends it."""
    return HEAD + (size - len(HEAD) - len(TAIL)) * b"1" + TAIL


def ask(
    server: Running,
    method: str,
    path: str,
    body: bytes | Iterator[bytes] | None = None,
    *,
    source: str = "127.0.0.1",
    **headers: str,
) -> Answer:
    """One request from an address; returns the status and the text."""
    door = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE, source_address=(source, 0))
    with contextlib.closing(door):
        door.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        answer = door.getresponse()
        return answer.status, answer.read().decode(errors="replace")


def token(server: Running, base: str = "") -> dict[str, str]:
    """What Streamlit wants to see before it takes or removes a file."""
    _, headers, _ = server.get(f"{base}/_stcore/health")
    value = headers["set-cookie"].split("=", 1)[1].split(";")[0]
    return {"Cookie": f"_streamlit_xsrf={value}", "X_Xsrftoken": value}


class Visitor:
    """A page that is open in a browser.

    Parameters
    ----------
    source : str
        The address it comes from.
    base : str
        The path under which the app is served.
    host : str
        The name it asks for.
    said : tuple of str
        What a browser says besides: the token against forged requests, and the session it had.
    **headers : str
        Of the websocket's request.
    """

    def __init__(
        self,
        server: Running,
        source: str = "127.0.0.1",
        base: str = "",
        host: str = "localhost",
        said: tuple[str, ...] = (),
        **headers: str,
    ) -> None:
        self.server, self.source, self.base = server, source, base
        self.door = contextlib.ExitStack()
        knocked = connect(
            f"ws://{host}:{server.port}{base}/_stcore/stream",
            subprotocols=[Subprotocol(one) for one in ("streamlit", *said)],
            additional_headers={name.replace("_", "-"): text for name, text in headers.items()},
            sock=socket.create_connection(("127.0.0.1", server.port), 20, (source, 0)),
            max_size=None,
            proxy=None,
            compression=None,
            close_timeout=0.2,  # a browser that closes does not read what is left
        )
        self.socket: ClientConnection = self.door.enter_context(knocked)

    def arrive(self) -> None:
        """Ask for the page; the answer names the session."""
        message = BackMsg()
        message.rerun_script.query_string = "dataset=toulouse&k=3"
        self.socket.send(message.SerializeToString())
        while not (answer := self.hear()).HasField("new_session"):
            pass
        self.session = answer.new_session.initialize.session_id

    def hear(self) -> ForwardMsg:
        """The next message."""
        raw = self.socket.recv(30)
        assert isinstance(raw, bytes)
        return ForwardMsg.FromString(raw)

    def warned(self) -> str:
        """The next warning or error on the page."""
        while True:
            element = self.hear().delta.new_element
            if element.HasField("alert"):
                return str(element.alert.body)

    def path(self, file: str) -> str:
        """Where a file of this visitor goes."""
        return f"{self.base}/_stcore/upload_file/{self.session}/{file}"

    def upload(self, file: str, size: int, **headers: str) -> Answer:
        """Send a file of so many bytes."""
        known = {"Content_Type": "multipart/form-data; boundary=b"} | token(self.server, self.base) | headers
        return ask(self.server, "PUT", self.path(file), form(size), source=self.source, **known)

    def remove(self, file: str) -> Answer:
        """Remove a file."""
        return ask(self.server, "DELETE", self.path(file), source=self.source, **token(self.server))

    def leave(self) -> None:
        """Close the page."""
        self.door.close()

    def __enter__(self) -> "Visitor":
        self.arrive()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def uploads_mb(server: Running) -> int:
    """How much the server says it holds, whether it is well or not."""
    return int(json.loads(ask(server, "GET", "/healthz")[1])["uploads_mb"])
