"""Start a server on a free local port, for benchmarks and tests."""

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300.0  # allowed for the start on a busy machine; a server that ends is noticed at once
FIRST_PORT, LAST_PORT = 15_000, 32_000
STREAMLIT = ("--server.headless", "true")


def free_port() -> int:
    """A free port, below those that the system gives to outgoing connections: none of them can take it meanwhile.

    >>> FIRST_PORT <= free_port() < LAST_PORT
    True
    """
    while True:
        port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """A running server; it ends with its ``with`` block, or when it is stopped.

    Parameters
    ----------
    plain : bool
        True runs the app as ``streamlit run`` does, False as a team does.
    script : str
        The script for ``streamlit run``.
    port : int, optional
        A free one by default.
    log : file, optional
        Where its messages go: nowhere by default; None for the terminal.
    python : sequence of str, optional
        The program that gets Python's arguments: this Python by default.
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
        python: Sequence[str] = (sys.executable,),
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
            [*python, "-m", *command],
            cwd=ROOT,
            env=os.environ | where | settings,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        self._wait(f"{self.url}/{health}")

    def workers(self) -> list[int]:
        """The processes that do its long work."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").parent.parent
        found = [int(pid) for task in children.glob("*/children") for pid in task.read_text().split()]
        # readers come and go with the files they read
        return [
            pid for pid in found if b"pages.serving.jobs.tasks" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def _wait(self, health: str) -> None:
        """Wait until the server answers."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            try:
                urllib.request.urlopen(health, timeout=1)
                return
            except OSError:
                time.sleep(0.1)
        code = self.process.poll()
        self.stop()
        msg = (
            f"The server did not answer within {SECONDS:g} s."
            if code is None
            else f"The server ended: {code}."
        )
        raise RuntimeError(msg)

    def stop(self) -> None:
        """Stop it as an operator would."""
        self.process.terminate()
        self.process.wait(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
