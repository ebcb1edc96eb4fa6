"""A shelf for results: kept by content key, the oldest go first, nothing is computed twice at once."""

import math
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

        >>> shelf = Shelf(room=9)
        >>> shelf.put((("town", 6), "map"), 1), shelf.put("village", 2)
        (1, 2)
        >>> shelf.remove_about("town")
        >>> shelf.get((("town", 6), "map")), shelf.get("village")
        (None, 2)
        """
        with self._lock:
            for key in [key for key in self._kept if _has(key, word)]:
                self._drop(key)

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
        waiting: Callable[[], None],
        weight: float | Callable[[T], float] = 1.0,
    ) -> T:
        """What is kept under a key, or make it; whoever comes second waits and calls `waiting` meanwhile."""
        with self._lock:
            lock = self._busy.setdefault(key, threading.Lock())
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
