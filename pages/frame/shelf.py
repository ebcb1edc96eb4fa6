"""A shelf for results: kept by content key, the oldest go first, nothing is computed twice at once."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
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
    >>> shelf = Shelf(room=2)
    >>> shelf.put("a", 1), shelf.put("b", 2), shelf.put("c", 3)
    (1, 2, 3)
    >>> shelf.get("a"), shelf.get("c")
    (None, 3)
    """

    def __init__(
        self, room: float, *, hours: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.room, self.seconds, self.clock = room, None if hours is None else hours * 3600, clock
        self._kept: OrderedDict[Hashable, tuple[T, float, float]] = OrderedDict()
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
            self._kept.pop(key, None)
            self._kept[key] = value, weight, self.clock()
            self._forget()
        return value

    def remove(self, key: Hashable) -> None:
        """Forget a key."""
        with self._lock:
            self._kept.pop(key, None)

    def once(
        self, key: Hashable, make: Callable[[], T], waiting: Callable[[], None], weight: float = 1.0
    ) -> T:
        """What is kept under a key, or make it; whoever comes second waits and calls `waiting` meanwhile."""
        with self._lock:
            lock = self._busy.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=0.1):
            waiting()
        try:
            found = self.get(key)
            return self.put(key, make(), weight) if found is None else found
        finally:
            lock.release()
            with self._lock:
                if not lock.locked():
                    self._busy.pop(key, None)

    def _forget(self) -> None:
        """Drop what is too old, then the longest unused until the rest fits; the lock is held."""
        if self.seconds is not None:
            too_old = self.clock() - self.seconds
            for key in [key for key, (_, _, used) in self._kept.items() if used < too_old]:
                del self._kept[key]
        while len(self._kept) > 1 and sum(weight for _, weight, _ in self._kept.values()) > self.room:
            self._kept.popitem(last=False)
