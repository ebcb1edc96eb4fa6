"""The API in memory, without a server."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from pages.serving.api import build, caller
from pages.serving.config import Config
from pages.serving.jobs import files
from pages.serving.store import Actor, store
from tests.waiting import finish

CITY = "generated-301"
TOWN = "lon,lat,people\n" + "".join(
    f"{1 + i % 10 * 0.01:.2f},{43 + i // 10 * 0.01:.2f},{i % 7 + 1}\n" for i in range(100)
)
ANN = Actor("ann@example.org", "Ann")
Call = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def app() -> FastAPI:
    return build()


@pytest.fixture
def call(app: FastAPI) -> Call:
    """Calls a route as somebody; `token` and `key` are what the caller brings along."""

    def ask(method: str, path: str, *, token: str = "", key: str = "", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"X-Project-Key": key} if key else {}

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, headers=headers | more.pop("headers", {}), **more)

        found: httpx.Response = finish(send())
        return found

    return ask


def token_of(actor: Actor, days: float = 1.0) -> str:
    """A new token of somebody; those made before open nothing any more."""
    store().withdraw_all(actor.person)
    return store().new_token(actor, "a program", days=days)[1]


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in this process: one of its own for each takes a second, and is tested elsewhere."""

    class Here:
        def run(
            self, _key: object, function: Callable[..., Any], *given: Any, about: object, progress: Any
        ) -> Any:
            assert about
            return function(*given, progress=progress)

    monkeypatch.setattr(files, "readers", Here)


@pytest.fixture
def sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """People sign in on this server."""
    monkeypatch.setattr(caller, "config", lambda: Config(login=True))
