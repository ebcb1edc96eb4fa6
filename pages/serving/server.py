"""The server of the app: ``python -m pages.serving.server``. It opens once settings are checked and all is warm.

``streamlit run app.py`` serves the same pages; this adds what a team needs around them: settings that are checked at
the start, workers that are ready before the first visitor, security headers, a health check that means healthy, one
line of log a job, the HTTP API, and links that survive signing in.
"""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from anyio.to_thread import run_sync
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from streamlit.web.bootstrap import load_config_options

from pages.serving import browser, confinement, people, retention, sockets, theme_message, uploads
from pages.serving.bodies import MB
from pages.serving.config import Config, ConfigError, config
from pages.serving.connections import Patient
from pages.serving.gate import API, HEALTH, Gate
from pages.serving.headers import AskedForLink, SecurityHeaders
from pages.serving.jobs import JobError, turns
from pages.serving.shares import shares
from pages.serving.store import store

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parents[2]
AUTH_KEYS = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
SHORTEST_SECRET = 32
MESSAGE_MB = 1  # largest message a browser may send: what is in its controls
PING = 30  # seconds between two pings to a browser, and for its answer
MOST_CONNECTIONS, FILES = 2_000, 8_192  # of all together; an upload of many parts has many files

log = logging.getLogger("evenreach")
UNCONFINED = (
    "This system has no Landlock (Linux 5.13 or newer): processes that read uploaded files have all rights of the "
    "server's user."
)
SWITCH = 0.0003  # seconds a thread computes before others get their turn: Python's 5 ms add up to a third of an answer


def check_login(settings: Config) -> None:
    """Say what is missing for signing in, if it is wanted.

    Raises
    ------
    ConfigError
        With the name of what is missing, never with a secret.
    """
    if not settings.login:
        return
    try:
        auth = dict(st.secrets["auth"])
    except (FileNotFoundError, KeyError) as problem:
        msg = "EVENREACH_LOGIN is on, but there is no [auth] section in .streamlit/secrets.toml."
        raise ConfigError(msg) from problem
    missing = [key for key in AUTH_KEYS if not auth.get(key)]
    if missing:
        msg = f"EVENREACH_LOGIN is on, but [auth] in .streamlit/secrets.toml lacks {', '.join(missing)}."
        raise ConfigError(msg)
    if len(str(auth["cookie_secret"])) < SHORTEST_SECRET:
        msg = (
            f"cookie_secret in .streamlit/secrets.toml is too short: use {SHORTEST_SECRET} random characters."
        )
        raise ConfigError(msg)
    if not str(auth["redirect_uri"]).endswith("/oauth2callback"):
        msg = (
            "redirect_uri in .streamlit/secrets.toml must be this app's address followed by /oauth2callback."
        )
        raise ConfigError(msg)


async def health(_request: Request) -> JSONResponse:
    """200 if pages can be drawn, files taken, work done and plans saved, else 503; with how busy it is."""
    from pages.serving.jobs import tasks

    now = tasks.health()
    disk_full = await uploads.disk_full()
    database = await run_sync(store().state, limiter=uploads.prober())
    well = now.well and not disk_full and not database
    wrong = "disk full" if disk_full else f"database {database}" if database else "no worker"
    body = {
        "status": "ok" if well else wrong,
        "workers": now.workers,
        "alive": now.alive,
        "running": now.running,
        "waiting": now.waiting,
        "computing": turns.turns().running,
        "uploads_mb": round(uploads.ledger().taken() / MB),
    }
    return JSONResponse(body, status_code=200 if well else 503, headers={"Cache-Control": "no-store"})


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Keep the workers and the clean-up of uploads running as long as the server."""
    from pages.serving.jobs import tasks

    tasks.start()
    brooms = [
        asyncio.create_task(uploads.ledger().keep_sweeping()),
        asyncio.create_task(retention.keep_sweeping()),
    ]
    yield
    for broom in brooms:
        broom.cancel()
    tasks.close()


def build(settings: Config) -> st.App:
    """The app with what surrounds it."""
    from pages.serving import api  # brings the solver along: not before the settings are checked

    base = settings.base_path.strip("/")
    names = [*settings.names, *_sign_in_host(settings)]
    middleware = [
        Middleware(SecurityHeaders, offline=settings.offline_maps),
        Middleware(
            Gate,
            shares=shares(),
            identify=api.identify,
            names=names,
            base=base,
            login=settings.login,
            proxied=bool(settings.trusted),
            patience=settings.patience_s,
        ),
    ]
    middleware.append(Middleware(browser.Cookies, base=base, named=not settings.login))
    if settings.login:
        middleware.append(Middleware(AskedForLink))
    routes = [Route(HEALTH, health), Mount(f"/{base}{API}" if base else API, api.build())]
    return st.App(ROOT / "app.py", lifespan=lifespan, routes=routes, middleware=middleware)


def _sign_in_host(settings: Config) -> list[str]:
    """The name people come back to from signing in is one of this server's."""
    name = urlsplit(str(st.secrets["auth"]["redirect_uri"])).hostname if settings.login else None
    return [name.lower()] if name else []


def serve(app: st.App, settings: Config) -> None:
    """Serve until a signal ends it; uvicorn is set up here, because Streamlit leaves its limits wide open."""
    load_config_options(
        {
            "client.allowedOrigins": [],  # nobody else's page frames this one
            "server.headless": True,
            "server.port": settings.port,
            "server.address": settings.address,
            "server.baseUrlPath": settings.base_path,
            "server.allowedHosts": [],  # the gate knows them
            "server.fileWatcherType": "none",
            "server.maxUploadSize": settings.upload_mb,
            "server.maxWidgetStateSize": MESSAGE_MB,
        }
    )
    theme_message.keep()
    _many_files()
    setup = uvicorn.Config(
        app,
        host=settings.address,
        port=settings.port,
        http=Patient,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_MB * MB,
        ws_ping_interval=PING,
        ws_ping_timeout=PING,
        ws_per_message_deflate=False,
        lifespan="on",  # without its sweepers the server does not start
        proxy_headers=bool(settings.trusted),
        forwarded_allow_ips=settings.trusted,
        limit_concurrency=MOST_CONNECTIONS,
        server_header=False,
        use_colors=False,
        access_log=False,
    )
    uvicorn.Server(setup).run(sockets=[setup.bind_socket()])


def _many_files() -> None:
    """Let this process have enough open files and connections; some systems start with 1,024."""
    if resource:
        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))


def main() -> None:
    """Check the settings, get warm, and serve until a signal ends it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # as process 1, even before the server takes over
    log.addHandler(logging.StreamHandler())  # lines of JSON, without Streamlit's decoration
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        settings = config()
        check_login(settings)
        _ = settings.database_url  # the password is there
    except ConfigError as problem:
        sys.exit(f"EvenReach cannot start. {problem}")
    people.serve_many()
    turns.found_by(sockets.turn_here)
    sys.argv = [str(ROOT / "app.py")]  # whose neighbours .streamlit/ and static/ are
    sys.setswitchinterval(SWITCH)
    try:
        import_module("app").warm()
    except (JobError, ValueError, MemoryError) as problem:  # serve all the same: each page says what is wrong
        log.info(json.dumps({"event": "cold", "why": str(problem)}))
    if not confinement.version():
        log.info(json.dumps({"event": "notice", "about": UNCONFINED}))
    log.info(json.dumps({"event": "serving", "port": settings.port, "workers": settings.workers}))
    serve(build(settings), settings)


if __name__ == "__main__":
    main()
