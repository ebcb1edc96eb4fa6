"""Who asks for a job: a visitor at an address. The pool needs it for a fair line and tells nobody."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Asker(NamedTuple):
    """A visitor and the address of the visitor's network; both empty: the server itself."""

    visitor: str = ""
    address: str = ""


NOBODY = Asker()
_said: ContextVar[Asker | None] = ContextVar("asker", default=None)


def _nobody() -> Asker:
    return NOBODY


_find: Callable[[], Asker] = _nobody


def found_by(find: Callable[[], Asker]) -> None:
    """Set how a thread finds out who asks."""
    global _find
    _find = find


@contextmanager
def asking(asker: Asker) -> Iterator[None]:
    """Ask on somebody's behalf, in a thread that cannot find out whose.

    >>> with asking(Asker("Ann", "203.0.113.7")):
    ...     current().visitor
    'Ann'
    """
    token = _said.set(asker)
    try:
        yield
    finally:
        _said.reset(token)


def current() -> Asker:
    """Who asks in this thread."""
    return _said.get() or _find()
