"""Every cache of the server: results kept by content key, the oldest go first, nothing is computed twice at once."""

import functools
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pages.serving.city import City
from pages.serving.jobs.documents import LARGEST_FILE
from pages.serving.jobs.turns import resting
from pages.serving.kept_plan import KeptPlan
from tkm_core.export import PlanFile
from tkm_core.figures import DrawnDeck, DrawnFigure
from tkm_core.planning import Plan
from tkm_core.residents import Existing

T = TypeVar("T")
UPLOAD_HOURS = 24
FILE_HOURS = 0.5  # a large file that was made for a download
TIDY = 300.0  # seconds between two looks for what is too old
_MAKING = threading.Lock()
FIGURE_BYTES = 256e6  # of drawn figures that are kept: those who look at the same city share them


class Cache(Generic[T]):
    """Results by key, for all sessions of a server.

    Parameters
    ----------
    room : float
        What the kept results may weigh together; the one used last always stays.
    hours : float, optional
        After so many hours unused a result is forgotten.
    clock : callable
        Seconds; for tests.

    Examples
    --------
    >>> cache = Cache(room=2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.put("c", 3)
    (1, 2, 3)
    >>> cache.get("a"), cache.get("c")
    (None, 3)
    """

    def __init__(
        self, room: float, *, hours: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.room, self.seconds, self.clock = room, None if hours is None else hours * 3600, clock
        self._kept: OrderedDict[Hashable, tuple[T, float, float]] = OrderedDict()
        self._weight = 0.0
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable) -> T | None:
        """What is kept under a key, or None."""
        with self._lock:
            self._forget()
            if key not in self._kept:
                return None
            value, weight, _ = self._kept.pop(key)
            self._kept[key] = value, weight, self.clock()
            return value

    def put(self, key: Hashable, value: T, weight: float = 1.0) -> T:
        """Keep a value, and make room for it."""
        with self._lock:
            self._drop(key)
            self._kept[key] = value, weight, self.clock()
            self._weight += weight
            self._forget()
        return value

    def remove(self, key: Hashable) -> None:
        """Forget a key."""
        with self._lock:
            self._drop(key)

    def remove_about(self, word: Hashable) -> None:
        """Forget every key that has a word in it, however deep.

        >>> cache = Cache(room=9)
        >>> cache.put((("town", 6), "map"), 1), cache.put("village", 2)
        (1, 2)
        >>> cache.remove_about("town")
        >>> cache.get((("town", 6), "map")), cache.get("village")
        (None, 2)
        """
        with self._lock:
            for key in [key for key in self._kept if _has(key, word)]:
                self._drop(key)

    def about(self, word: Hashable) -> list[T]:
        """All that is kept under keys that have a word in them.

        >>> cache = Cache(room=9)
        >>> cache.put(("secret", "town"), 1), cache.put("village", 2)
        (1, 2)
        >>> cache.about("secret")
        [1]
        """
        with self._lock:
            keys = [key for key in self._kept if _has(key, word)]
        return [value for value in map(self.get, keys) if value is not None]

    def values(self) -> list[T]:
        """All that is kept."""
        with self._lock:
            return [value for value, _, _ in self._kept.values()]

    def tidy(self) -> None:
        """Forget what is too old, even if nobody asks for anything."""
        with self._lock:
            self._forget()

    def once(
        self,
        key: Hashable,
        make: Callable[[], T],
        waiting: Callable[[], None] = lambda: None,
        weight: float | Callable[[T], float] = 1.0,
    ) -> T:
        """What is kept under a key, or make it; whoever comes second waits and calls `waiting` meanwhile."""
        with self._lock:
            lock = self._busy.setdefault(key, threading.Lock())
        if not lock.acquire(blocking=False):
            with resting():
                while not lock.acquire(timeout=0.1):
                    waiting()
        try:
            found = self.get(key)
            if found is not None:
                return found
            made = make()
            return self.put(key, made, weight(made) if callable(weight) else weight)
        finally:
            lock.release()
            with self._lock:
                if not lock.locked():
                    self._busy.pop(key, None)

    def _drop(self, key: Hashable) -> None:
        """Take a key off, if it is there; the lock is held."""
        if key in self._kept:
            self._weight -= self._kept.pop(key)[1]

    def _forget(self) -> None:
        """Drop what is too old, then the longest unused until the rest fits; the lock is held.

        What was used last stands last, so the oldest is always the first.
        """
        too_old = -math.inf if self.seconds is None else self.clock() - self.seconds
        while self._kept:
            key, (_, _, used) = next(iter(self._kept.items()))
            if used >= too_old and (self._weight <= self.room or len(self._kept) == 1):
                break
            self._drop(key)


def _has(key: Hashable, word: Hashable) -> bool:
    return key == word or (isinstance(key, tuple) and any(_has(part, word) for part in key))


@dataclass(frozen=True)
class Caches:
    """What all sessions of this server share; uploads and what is made of them only by secret token."""

    cities: Cache[City]
    uploads: Cache[City]
    existing: Cache[tuple[Existing, str | None]]  # with its project, as in `City`
    plans: Cache[Plan]
    kept_plans: Cache[KeptPlan]
    rules: Cache[tuple[Any, str | None]]  # with its project, as in `City`
    results: Cache[object]
    figures: Cache[DrawnDeck | DrawnFigure]
    files: Cache[bytes]
    plan_files: Cache[PlanFile]

    def remove_about(self, word: str) -> None:
        """Forget all that was made of what a token or a fingerprint names."""
        for cache in vars(self).values():
            cache.remove_about(word)

    def keep_tidy(self) -> None:
        """Let nothing outlive its hours because nobody comes by; never returns."""
        while True:
            time.sleep(TIDY)
            for cache in vars(self).values():
                cache.tidy()


def caches() -> Caches:
    """Make the caches, once per process."""
    with _MAKING:
        return _made()


@functools.cache
def _made() -> Caches:
    """Make the caches; weights are numbers of residents."""
    made = Caches(
        cities=Cache(4_000_000),
        uploads=Cache(10_000_000, hours=UPLOAD_HOURS),
        existing=Cache(200_000, hours=UPLOAD_HOURS),
        plans=Cache(8_000_000, hours=UPLOAD_HOURS),
        kept_plans=Cache(8_000_000, hours=UPLOAD_HOURS),
        rules=Cache(1_000, hours=UPLOAD_HOURS),  # megabytes of road files and tables
        results=Cache(400, hours=UPLOAD_HOURS),
        figures=Cache(FIGURE_BYTES, hours=UPLOAD_HOURS),
        files=Cache(LARGEST_FILE, hours=FILE_HOURS),
        plan_files=Cache(50, hours=UPLOAD_HOURS),
    )
    threading.Thread(target=made.keep_tidy, name="tidy", daemon=True).start()
    return made
