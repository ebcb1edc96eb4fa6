"""How long work tells how far it is, and is stopped."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the fraction done (0 to 1, never falling) and a sentence; what it raises ends the work."""


def silent(_fraction: float, _text: str) -> None:
    """Listen to nobody."""


def never_falling(progress: Progress | None) -> Progress:
    """The same listener, or none, behind a fraction that never runs backwards and ends at 1.

    >>> tell = never_falling(lambda fraction, text: print(fraction, text))
    >>> tell(0.5, "half"), tell(0.2, "less")
    0.5 half
    0.5 less
    (None, None)
    """
    told = progress or silent
    highest = 0.0

    def report(fraction: float, text: str) -> None:
        nonlocal highest
        highest = max(highest, min(fraction, 1.0))
        told(highest, text)

    return report


def part(report: Progress, start: float, stop: float) -> Progress:
    """A reporter for a stage of the work: its 0 to 1 is the whole's ``start`` to ``stop``.

    >>> part(lambda fraction, text: print(fraction, text), 0.5, 1.0)(0.5, "half of the second half")
    0.75 half of the second half
    """
    return lambda fraction, text: report(start + (stop - start) * fraction, text)
