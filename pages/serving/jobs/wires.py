"""How workers and readers talk to the server: workers are trusted and pickle, readers send nothing but plain data."""

import math
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol

from pages.serving.jobs import answers, failures, forms
from pages.serving.jobs.answers import AnswerError, TooMuchError, require
from pages.serving.jobs.worker import CANCELLED, DONE, FAILED, PROGRESS, READY

LONGEST = 200  # characters of a report of progress
MOST_MB = 10**9  # that a process can say it has used


class Wire(Protocol):
    """One way to send a message and to receive it; `function` is the one whose result it may be."""

    def send(
        self, connection: Connection, message: tuple[Any, ...], function: Callable[..., Any] | None
    ) -> None:
        """Send a message: its kind and two more values."""

    def receive(self, connection: Connection, function: Callable[..., Any] | None) -> tuple[Any, ...]:
        """The next message."""


class Pickled:
    """Any object, by pickle: whoever sends can run code at the other end."""

    def send(
        self, connection: Connection, message: tuple[Any, ...], _function: Callable[..., Any] | None
    ) -> None:
        """Send a message."""
        connection.send(message)

    def receive(self, connection: Connection, _function: Callable[..., Any] | None) -> tuple[Any, ...]:
        """The next message."""
        return tuple(connection.recv())


class Data:
    """Plain data only; the server makes anew what the function's form says."""

    def send(
        self, connection: Connection, message: tuple[Any, ...], function: Callable[..., Any] | None
    ) -> None:
        """Send a message; a result that is too large becomes a sentence."""
        kind, what, more = message
        if kind == PROGRESS:
            answers.send(connection, {"kind": kind, "fraction": what, "text": more[:LONGEST]})
            return
        head, packed = {"kind": kind, "peak": more}, None
        if kind == DONE and function is not None:
            packed = forms.form_of(function).pack(what)
        elif kind == FAILED:
            packed = failures.packed_problem(what)
        try:
            answers.send(connection, head, packed)
        except TooMuchError as problem:
            sentence = failures.packed_problem(ValueError(str(problem)))
            answers.send(connection, {**head, "kind": FAILED}, sentence)

    def receive(self, connection: Connection, function: Callable[..., Any] | None) -> tuple[Any, ...]:
        """The next message.

        Raises
        ------
        AnswerError
            If it is none that a reader sends.
        """
        head, packed = answers.receive(connection)
        try:
            return self._understood(head, packed, function)
        except (AnswerError, MemoryError):
            raise
        except Exception as problem:  # whatever is wrong with it, it is the reader's doing
            raise AnswerError(type(problem).__name__) from problem

    def _understood(
        self, head: dict[str, Any], packed: answers.Packed | None, function: Callable[..., Any] | None
    ) -> tuple[Any, ...]:
        kind = head["kind"]
        if kind == PROGRESS:
            fraction, text = float(head["fraction"]), head["text"]
            require(math.isfinite(fraction) and isinstance(text, str) and len(text) <= LONGEST, "no progress")
            return kind, fraction, text
        peak = head["peak"]
        require(type(peak) is int and 0 <= peak <= MOST_MB, "no amount of memory")
        if packed is None:
            require(kind in (READY, CANCELLED), "an unknown message")
            return kind, None, peak
        if kind == FAILED:
            return kind, failures.unpacked_problem(packed), peak
        require(kind == DONE and function is not None, "an unknown message")
        return kind, forms.form_of(function).unpack(packed), peak  # type: ignore[arg-type]


WIRES: dict[str, Wire] = {"pickled": Pickled(), "data": Data()}
