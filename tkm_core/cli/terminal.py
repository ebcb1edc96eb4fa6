"""Terminal output: sentences, tables and a progress bar."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tkm_core.progress import Progress

BAR = "{percentage:3.0f} %|{bar:30}| {desc} [{elapsed}]"


@contextmanager
def progress_bar(prefix: str = "") -> Iterator[Progress]:
    """Show a progress bar on the error stream, unless that is a file or a pipe.

    Parameters
    ----------
    prefix : str
        Shown before every text.

    Yields
    ------
    callable
        Takes the fraction done and a text.
    """
    from tqdm import tqdm  # not needed to report a mistyped option

    # miniters=0: after a quick start, tqdm would otherwise wait for another step as large
    with tqdm(total=1.0, disable=None, leave=False, file=sys.stderr, bar_format=BAR, miniters=0) as bar:

        def show(fraction: float, text: str) -> None:
            """Update the bar."""
            bar.set_description_str(f"{prefix}{text}", refresh=bar.n == 0)
            bar.update(max(0.0, fraction - bar.n))

        yield show


def say(text: object) -> None:
    """Print a text without control characters, since names come from other people's files."""
    print(_printable(str(text)))


def complain(text: str) -> None:
    """Print a sentence on the error stream."""
    print(f"evenreach: {_printable(text)}", file=sys.stderr)


def say_table(rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns, the first aligned left and the others right.

    >>> say_table([("", "km"), ("average", "7.5")])
                km
    average    7.5
    """
    cells = [tuple(row) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        say("   ".join([first, *others]).rstrip())


def _printable(text: str) -> str:
    """The text without characters that control a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)
