"""Names of others that are not public: each is listed here with the version it was read in.

A newer version fails this test, so that somebody reads them again before it is taken.
"""

import importlib.metadata
import re
from pathlib import Path

import pytest
from streamlit.runtime import app_session
from streamlit.web.server.starlette import starlette_websocket
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SERVING = Path(__file__).parents[2] / "pages" / "serving"
READ_IN = {"streamlit": "1.67.0", "uvicorn": "0.54.0"}
PRIVATE = {
    "starlette_websocket._get_signed_cookie_with_chunks": starlette_websocket,
    "starlette_websocket._parse_decoded_user_cookie": starlette_websocket,
    "app_session._populate_theme_msg": app_session,
}
# public by their names, but nobody promises them: what `connections.Patient` relies on
OF_CONNECTIONS = (
    "connection_made",
    "connection_lost",
    "data_received",
    "handle_websocket_upgrade",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
)


@pytest.mark.parametrize(("package", "version"), READ_IN.items())
def test_private_names_were_read_in_the_version_that_is_installed(package: str, version: str) -> None:
    assert importlib.metadata.version(package) == version


def test_every_private_name_is_known_and_there() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in SERVING.rglob("*.py"))
    modules = "|".join({name.partition(".")[0] for name in PRIVATE} | {"runtime", "server\\(\\)", "uvicorn"})
    found = set(re.findall(rf"\b((?:{modules})\._[a-z]\w*)", text))
    assert found == set(PRIVATE)
    for name, module in PRIVATE.items():
        assert callable(getattr(module, name.partition(".")[2]))


def test_what_ends_slow_connections_is_there() -> None:
    for name in OF_CONNECTIONS:
        assert callable(getattr(H11Protocol, name))
    names = (*H11Protocol.__init__.__code__.co_names, *RequestResponseCycle.__init__.__code__.co_names)
    assert {"flow", "cycle", "transport", "headers", "client", "loop", "response_complete"} <= set(names)
