"""The live map's code on its way to the browser: complete, all of it ours or MapLibre's, kept by browsers for good."""

import re

import pytest
from starlette.types import Message, Receive, Scope, Send

from pages.live_map import assets
from pages.serving.headers import SecurityHeaders
from tests.waiting import finish

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in assets.HERE.glob("*.js")}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The modules by their addresses."""
    found: dict[str, str] = {}

    def given(content: bytes, name: str) -> str:
        found[f"/media/{name}"] = content.decode()
        return f"/media/{name}"

    monkeypatch.setattr(assets, "address_of", given)
    return found


def test_the_entry_brings_every_module_and_each_finds_the_others(sent: dict[str, str]) -> None:
    assert assets.entry() == "/media/live_map.js"
    assert set(sent) == {f"/media/{name}" for name in SOURCES}
    for text in sent.values():
        assert set(re.findall(r"from '([^']+)'", text)) <= set(sent)


@pytest.mark.parametrize("name", SOURCES)
def test_no_text_becomes_mark_up_and_nothing_comes_from_outside(name: str) -> None:
    text = SOURCES[name]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}


@pytest.mark.parametrize(
    ("path", "kind", "kept"),
    [
        ("/media/1a.js", "text/javascript; charset=utf-8", True),
        ("/base/media/1a.css", "text/css", True),
        ("/media/1a.bin", "application/octet-stream", False),
        ("/media/1a.json", "application/json", False),
        ("/index.js", "text/javascript", False),
    ],
)
def test_browsers_keep_the_code_of_the_live_map_and_nothing_else(path: str, kind: str, kept: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind.encode())]}
        )

    answers: list[Message] = []

    async def send(message: Message) -> None:
        answers.append(message)

    finish(SecurityHeaders(app, offline=True)({"type": "http", "path": path}, None, send))
    assert (b"private, max-age=31536000, immutable" in dict(answers[0]["headers"]).values()) == kept
