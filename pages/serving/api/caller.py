"""Who calls, and the work that is done for them: in the same line and under the same limits as for pages."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, HTTPException, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from pages.serving.config import config
from pages.serving.doors import who
from pages.serving.jobs.asker import Asker, asking
from pages.serving.store import NOBODY, Actor, store
from tkm_core.progress import Progress

T = TypeVar("T")
LOOK = 0.5  # seconds between two checks that the caller is still there
QUICK, LONG = 16, 64  # calls that are worked on at once: what only asks the store, and what plans or reads
BEARER = HTTPBearer(
    auto_error=False, description="A person's token: made, and withdrawn, on the Scenarios page of the app."
)
KEY = APIKeyHeader(
    name="X-Project-Key",
    auto_error=False,
    description="The secret of a link to a project: what follows `project=` in that link.",
)
ELSEWHERE = "Pages of other sites cannot call this server."
SIGN_IN = (
    "This server needs a person's token: Authorization: Bearer evenreach_... Make one on the Scenarios page."
)
UNKNOWN = "This token does not work: it has expired, was withdrawn, or belongs to another server."


class GoneError(Exception):
    """The caller has hung up."""


@dataclass(frozen=True)
class Caller:
    """Somebody who calls: who they are to the store, who they are to the line, and the call itself."""

    actor: Actor
    asker: Asker
    request: Request

    async def quick(self, work: Callable[[], T]) -> T:
        """Ask the store, in a thread."""
        return await run_sync(work, limiter=_limiter(QUICK))

    async def long(self, work: Callable[[Progress], T]) -> T:
        """Do long work in a thread; it ends when the caller hangs up.

        Parameters
        ----------
        work : callable
            Gets `progress`, which it has to call often.
        """
        gone = threading.Event()

        def progress(_fraction: float, _text: str) -> None:
            if gone.is_set():
                raise GoneError

        def at_work() -> T:
            with asking(self.asker):
                return work(progress)

        watcher = asyncio.create_task(self._watch(gone))
        try:
            return await run_sync(at_work, limiter=_limiter(LONG))
        finally:
            watcher.cancel()

    async def _watch(self, gone: threading.Event) -> None:
        while not await self.request.is_disconnected():
            await asyncio.sleep(LOOK)
        gone.set()


@cache
def _limiter(most: int) -> anyio.CapacityLimiter:
    """Threads for the API alone: however many calls there are, the pages keep theirs."""
    return anyio.CapacityLimiter(most)


def from_here(request: Request) -> None:
    """Refuse what a page of another site sends: a browser says where a call comes from."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, ELSEWHERE)


async def caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
    key: Annotated[str | None, Security(KEY)],
) -> Caller:
    """Who calls: the person whose token was given, and whoever a link to a project lets in."""
    actor = NOBODY
    if bearer is not None:
        found = await run_sync(store().person_with, bearer.credentials, limiter=_limiter(QUICK))
        if found is None:
            raise HTTPException(401, UNKNOWN, {"WWW-Authenticate": "Bearer"})
        actor = found
    elif config().login:
        raise HTTPException(401, SIGN_IN, {"WWW-Authenticate": "Bearer"})
    address = who(request.scope)
    asked = Asker(actor.person or f"program at {address}", address)
    return Caller(replace(actor, keys=(key,) if key else ()), asked, request)


Calls = Annotated[Caller, Depends(caller)]
