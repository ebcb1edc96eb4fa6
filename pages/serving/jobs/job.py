"""A job: one piece of work, who waits for it, and the line it leaves in the log."""

import json
import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pages.serving.jobs.asker import NOBODY, Asker

log = logging.getLogger("evenreach.jobs")


@dataclass(eq=False)
class Job:
    """One piece of work, and what is known of it."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    about: Mapping[str, Any]
    asker: Asker = NOBODY
    asked: float = field(default_factory=time.monotonic)
    begun: float | None = None
    fraction: float = 0.0
    text: str = ""
    askers: int = 0
    alone_since: float | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    problem: BaseException | None = None
    rest: Callable[[Any], object] | None = None

    def alone_for(self) -> float:
        """How long nobody has been waiting for it, in seconds."""
        return 0.0 if self.alone_since is None else time.monotonic() - self.alone_since

    def write(self, outcome: str, peak_mb: int = 0) -> None:
        """One line in the log: what and how long, never who."""
        now = time.monotonic()
        begun = now if self.begun is None else self.begun
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **self.about,
            "outcome": outcome,
            "waited_s": max(0.0, round(begun - self.asked, 3)),
            "took_s": round(now - begun, 3),
        }
        if peak_mb:
            line["worker_peak_mb"] = peak_mb
        if outcome == "failed" and self.problem is not None:
            line["error"] = getattr(self.problem, "where", "") or type(self.problem).__name__
        log.info(json.dumps(line))
