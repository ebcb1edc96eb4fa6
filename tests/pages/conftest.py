"""The app in memory, without a browser."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import app as frame
from pages.live_map import assets
from pages.serving import people
from pages.serving.jobs import JobPool, files
from pages.serving.jobs.problems import READING

APP = str(Path(__file__).parents[2] / "app.py")
PAGES = tuple(url for url, _, _ in frame.PAGES)
Opened = Callable[..., AppTest]

# Each AppTest reads the metadata of every installed package in search of components: half of the time of these tests.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def turn_to(app: AppTest, page: str) -> None:
    """Go to a page: switch_page() knows only pages that are scripts, ours are functions."""
    app._page_hash = calc_hash(page)
    app.run()


def text(app: AppTest) -> str:
    """What a page says in Markdown."""
    return " ".join(block.value for block in app.markdown)


SENT: dict[str, bytes] = {}  # what a live map would fetch, by address


@pytest.fixture(autouse=True)
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors are strangers to one another, as on a server for many."""
    monkeypatch.setattr(people, "_for_many", True)
    monkeypatch.setattr(people, "address_here", lambda: "203.0.113.7")


@pytest.fixture(autouse=True)
def reading_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in this process. A process for each takes seconds; tests/serving and tests/browser have them."""
    here = JobPool(0, sentences=READING)
    monkeypatch.setattr(files, "readers", lambda: here)


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what is sent to live maps beside the page."""
    give = assets.address_of

    def given(content: bytes, name: str) -> str:
        url = give(content, name)
        SENT[url] = content
        return url

    monkeypatch.setattr(assets, "address_of", given)


@dataclass(frozen=True)
class Live:
    """The live map of the Plan page and its sentence, as they are sent to the browser."""

    map: dict[str, Any]
    sentence: dict[str, Any]

    @cached_property
    def plan(self) -> dict[str, Any]:
        return json.loads(SENT[self.map["plan"]])

    @property
    def text(self) -> str:
        """The sentence and what stands below it."""
        headline, detail, context = self.sentence["now"]
        return "".join(text for text, _ in [*headline, *detail]) + f" {context}"

    @property
    def t(self) -> float:
        return float(self.plan["values"][self.map["at"]])

    def sites(self, kind: str = "new") -> list[list[float]]:
        """Where facilities stand at this setting."""
        places = self.plan["lonlat"][self.map["at"]]
        return [place for place, one in zip(places, self.plan["kinds"], strict=True) if one == kind]


def live(app: AppTest) -> Live:
    """What the Plan page sent to the browser last."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    return Live(**{data["kind"]: data for data in sent})


def unfold(app: AppTest, key: str) -> AppTest:
    """Open a menu or a part of a page as a click on it does."""
    app.session_state[key] = True
    return app.run()


def turn_dial(app: AppTest, t: float) -> AppTest:
    """Turn the dial of the Plan page as its live map would."""
    app.session_state["t"] = t
    return app.run()


@pytest.fixture
def opened() -> Opened:
    """Opens a page with an address and runs it."""

    def go(page: str = "plan", **query: str) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        if page != "plan":
            turn_to(app, page)
        assert not app.exception, app.exception
        return app

    return go


def upload(opened: Opened, name: str, content: bytes) -> AppTest:
    """The Data page after a file of residents was given to it."""
    app = opened("data")
    app.file_uploader(key="upload").upload(name, content, "text/csv").run()
    assert not app.exception
    return app
