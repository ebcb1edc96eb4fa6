"""Wait for conditions instead of fixed times, so that a busy machine makes a test slower but never fail."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PATIENCE = 180.0  # seconds after which nobody believes any more that it will happen


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """Run to its end in a thread of its own: the browser tests keep a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class Gate:
    """A file that work in another process waits for; it is closed until it is opened."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "gate")

    def open(self) -> None:
        Path(self.path).touch()
