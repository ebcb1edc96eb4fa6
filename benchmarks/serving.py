"""A server of its own on a free port of loopback, for measurements and for tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300.0  # it may take to start on a busy machine; one that ends is noticed at once
STREAMLIT = ("--server.headless", "true", "--server.fileWatcherType", "none")


def free_port() -> int:
    """A port that nobody listens on.

    >>> 1024 <= free_port() < 65536
    True
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server that answers; it ends with its block, or when it is stopped.

    Parameters
    ----------
    plain : bool
        True runs the app as ``streamlit run`` does, False as a team does.
    script : str
        What ``streamlit run`` runs.
    port : int, optional
        A free one by default.
    log : file, optional
        Where its messages go; nowhere by default, None to the terminal.
    **settings : str
        Environment variables.
    """

    def __init__(
        self,
        *,
        plain: bool = False,
        script: str = "app.py",
        port: int | None = None,
        log: int | IO[str] | None = subprocess.DEVNULL,
        **settings: str,
    ) -> None:
        self.port = free_port() if port is None else port
        self.url = f"http://127.0.0.1:{self.port}"
        if plain:
            own = ["--server.address", "127.0.0.1", "--server.port", str(self.port)]
            command, health, where = ["streamlit", "run", script, *STREAMLIT, *own], "_stcore/health", {}
        else:
            command, health = ["pages.serving.server"], "healthz"
            where = {"EVENREACH_PORT": str(self.port), "EVENREACH_ADDRESS": "127.0.0.1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=os.environ | where | settings,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        self._wait(f"{self.url}/{health}")

    def _wait(self, health: str) -> None:
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            try:
                urllib.request.urlopen(health, timeout=1)
                return
            except OSError:
                time.sleep(0.1)
        self.stop()
        msg = f"The server did not answer within {SECONDS:g} s."
        raise RuntimeError(msg)

    def stop(self) -> None:
        """End it as an operator does."""
        self.process.terminate()
        self.process.wait(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
