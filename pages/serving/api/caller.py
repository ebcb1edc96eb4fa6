"""Settle who calls, and do the work for them: in the same line, by the same turns and limits as for pages."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.types import Scope

from pages.serving.config import config
from pages.serving.jobs.asker import Asker, asking
from pages.serving.jobs.turns import having, turns
from pages.serving.network import network_of
from pages.serving.shares import ALL_CALLS, Refusal
from pages.serving.store import NOBODY, Actor, AwayError, store
from tkm_core.progress import Progress

T = TypeVar("T")
LOOK = 0.5  # seconds between two checks that the caller is still there
ACTOR = "evenreach.actor"  # where a request keeps who calls
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
        async with turns().turn(self.asker):
            return await run_sync(work, limiter=_threads())

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

        watcher = asyncio.create_task(self._watch(gone))
        try:
            async with turns().turn(self.asker) as turn:

                def at_work() -> T:
                    with asking(self.asker), having(turn):
                        return work(progress)

                return await run_sync(at_work, limiter=_threads())
        finally:
            watcher.cancel()

    async def _watch(self, gone: threading.Event) -> None:
        while not await self.request.is_disconnected():
            await asyncio.sleep(LOOK)
        gone.set()


@cache
def _threads() -> anyio.CapacityLimiter:
    """Threads for the API alone, one for each call that the gate lets in: nobody waits for one."""
    return anyio.CapacityLimiter(ALL_CALLS)


async def identify(scope: Scope) -> str:
    """Settle who calls, from the head of the request alone; returns the person, or nothing where nobody signs in.

    Raises
    ------
    Refusal
        If a page of another site calls, the token does not work, or there is none and people sign in here.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")  # a browser says where a call comes from
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise Refusal(403, ELSEWHERE)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    actor = NOBODY
    if scheme.lower() == "bearer" and token:
        try:
            found = await run_sync(store().person_with, token.strip(), limiter=_threads())
        except AwayError as problem:
            raise Refusal(503, str(problem), retry=10) from problem
        if found is None:
            raise Refusal(401, UNKNOWN, scheme="Bearer")
        actor = found
    elif config().login:
        raise Refusal(401, SIGN_IN, scheme="Bearer")
    scope[ACTOR] = actor
    return actor.person


async def caller(
    request: Request,
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
    key: Annotated[str | None, Security(KEY)],
) -> Caller:
    """Who calls: the person whose token was given, and whoever a link to a project lets in."""
    if ACTOR not in request.scope:  # the gate has asked, where there is one
        await identify(request.scope)
    actor: Actor = request.scope[ACTOR]
    address = network_of(request.scope)
    asked = Asker(actor.person or f"program at {address}", address)
    return Caller(replace(actor, keys=(key,) if key else (), address=address), asked, request)


Calls = Annotated[Caller, Depends(caller)]
