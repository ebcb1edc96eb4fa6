"""The API as an app of its own, which the server mounts at /api; whatever goes wrong becomes a sentence."""

import logging
from collections.abc import Callable

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.requests import Request

from pages.serving.api import datasets, plans, projects, scenarios
from pages.serving.api.caller import Calls, GoneError
from pages.serving.api.messages import Me, Problem
from pages.serving.config import config
from pages.serving.jobs import BusyError, JobError
from pages.serving.shares import Refusal
from pages.serving.store import AwayError, ConflictError, DeniedError, FullError, InUseError
from pages.serving.store.problems import DENIED
from tkm_core.version import VERSION

LOG = logging.getLogger(__name__)
UNEXPECTED = "Something went wrong that should not have. The server's log has the details."
ABOUT = """What the pages of EvenReach do, for programs: upload where people live, plan, save scenarios, read their
figures and download files. It uses the same workers, limits and log as the pages.

Where people sign in, every call needs a person's token. Where nobody signs in, a project belongs to whoever has its
key. When something is wrong, `detail` in the answer says what."""
SAID = {
    400: "What was sent cannot be read.",
    401: "The caller is not known.",
    403: "The caller is not allowed to do this.",
    404: "It does not exist, or the caller may not see it.",
    408: "What was sent came too slowly.",
    409: "Somebody else changed it first, or it is in use.",
    413: "Too large.",
    422: "What was sent cannot be used.",
    429: "Too many at once: try again later.",
    507: "There is no room for it: delete something first.",
    503: "The server or its database cannot do this now: try again later.",
}
# what each problem is answered with; the first that fits
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (AwayError, 503),
    (ConflictError, 409),
    (InUseError, 409),
    (FullError, 507),
    (BusyError, 429),
    (JobError, 503),
    (MemoryError, 503),
    (GoneError, 503),
    (ValueError, 422),
)


def build() -> FastAPI:
    """The API, to be mounted."""
    app = FastAPI(
        title="EvenReach",
        version=VERSION,
        description=ABOUT,
        docs_url=None,  # it would load its scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {"model": Problem, "description": words} for status, words in SAID.items()},
    )
    app.get("/me", tags=["caller"])(me)
    for part in (datasets, plans, projects, scenarios):
        app.include_router(part.router)
    app.exception_handler(RequestValidationError)(_not_understood)
    app.exception_handler(DeniedError)(_denied)
    app.exception_handler(Refusal)(_refused)
    for problem, status in STATUS:
        app.exception_handler(problem)(_told(status))
    app.exception_handler(Exception)(_unexpected)
    return app


async def me(caller: Calls) -> Me:
    """Who the caller is to this server, and what it allows."""
    now = config()
    return Me(
        person=caller.actor.person,
        name=caller.actor.name,
        upload_mb=now.upload_mb,
        most_residents=now.most_residents,
        most_facilities=now.most_facilities,
    )


def _answer(status: int, sentence: str) -> JSONResponse:
    retry = {"Retry-After": "10"} if status in (429, 503) else {}
    return JSONResponse({"detail": sentence}, status, retry)


def _told(status: int) -> Callable[[Request, Exception], JSONResponse]:
    def told(_request: Request, problem: Exception) -> JSONResponse:
        return _answer(status, str(problem) or SAID[status])

    return told


def _denied(_request: Request, problem: Exception) -> JSONResponse:
    """404 whether there is none or it is somebody else's; 403 for those who may look."""
    return _answer(404 if str(problem) in ("", DENIED) else 403, str(problem) or DENIED)


def _refused(_request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, Refusal)  # noqa: S101  by its registration
    answer = _answer(problem.status, str(problem))
    if problem.scheme:
        answer.headers["WWW-Authenticate"] = problem.scheme
    return answer


def _not_understood(_request: Request, problem: Exception) -> JSONResponse:
    """Where something is wrong, and what: as one sentence."""
    assert isinstance(problem, RequestValidationError)  # noqa: S101  by its registration
    said = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:5]]
    return _answer(422, "; ".join(said) + ".")


def _unexpected(_request: Request, problem: Exception) -> JSONResponse:
    LOG.error("a call could not be answered", exc_info=problem)
    return _answer(500, UNEXPECTED)
