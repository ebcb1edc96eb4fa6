"""What every long work promises to a progress function: it hears how far the work is, and can end it."""

from collections.abc import Callable

import pytest

from tkm_core.progress import Progress


class StoppedError(Exception):
    """What a listener who has had enough raises."""


def stops(work: Callable[[Progress], object], after: float = 0.3) -> None:
    """What a listener raises comes out of the work."""

    def stop(fraction: float, _text: str) -> None:
        if fraction > after:
            raise StoppedError

    with pytest.raises(StoppedError):
        work(stop)


def reports_and_stops(work: Callable[[Progress], object]) -> None:
    """The fractions grow to 1, each with a text, and what a listener raises comes out of the work."""
    heard: list[tuple[float, str]] = []
    work(lambda *said: heard.append(said))
    fractions = [fraction for fraction, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(text for _, text in heard)
    stops(work)
