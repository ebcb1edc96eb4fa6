"""Progress reporting and cancellation of long work."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the fraction done (0 to 1, never falling) and a sentence; an exception it raises ends the work."""


def silent(_fraction: float, _text: str) -> None:
    """A progress function that does nothing."""


def never_falling(progress: Progress | None) -> Progress:
    """Wrap a progress function so that the fraction never falls and is at most 1; None becomes silent.

    >>> tell = never_falling(lambda fraction, text: print(fraction, text))
    >>> tell(0.5, "half"), tell(0.2, "less")
    0.5 half
    0.5 less
    (None, None)
    """
    told = progress or silent
    highest = 0.0

    def report(fraction: float, text: str) -> None:
        """Pass on the highest fraction so far."""
        nonlocal highest
        highest = max(highest, min(fraction, 1.0))
        told(highest, text)

    return report


def part(report: Progress, start: float, stop: float) -> Progress:
    """A progress function for one stage, whose 0 to 1 is ``start`` to ``stop`` of the whole.

    >>> part(lambda fraction, text: print(fraction, text), 0.5, 1.0)(0.5, "half of the second half")
    0.75 half of the second half
    """
    return lambda fraction, text: report(start + (stop - start) * fraction, text)
