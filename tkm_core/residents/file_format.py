"""What a format of files in is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tkm_core.residents.source import Source
from tkm_core.residents.table import Table


@dataclass(frozen=True)
class Asked:
    """What the planner said about the file; None is guessed."""

    sheet: str | int | None = None
    layer: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    lines: bool = False  # of a map: streets are asked for, not places
    crs: object = None
    within: Any = None  # the area to cut out: a polygon in degrees
    cells: int = 100_000  # of a raster: more are added up to larger ones


def no_sign(_head: bytes) -> bool:
    """The sign of a format that its first bytes do not tell."""
    return False


@dataclass(frozen=True)
class FileFormat:
    """One entry of `FORMATS`.

    Attributes
    ----------
    kind : str
        Names the format in code.
    name, upload : str
        How it is called, and in “You can upload ...” where that is said in other words.
    suffixes : tuple of str
        With the dot, in lower case.
    read : callable
        ``read(source, asked)`` gives the table.
    sign : callable
        Whether a file that begins with these bytes (up to 64 kB) is of this format; the name decides only what no
        sign tells.
    is_map : bool
        Whether it holds places with geometry, not just a table with coordinates in it.
    only : tuple of str
        Suffixes that nothing but this format may have: other content is refused.
    mismatch : str
        What is said of such content, if it is more than that the name is wrong.
    zip_suffixes, zip_member : tuple of str, str
        Where the format is a zip itself: its suffixes, and a file in it that tells it from an archive of files.
    """

    kind: str
    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Asked], Table]
    sign: Callable[[bytes], bool] = no_sign
    is_map: bool = False
    upload: str = ""
    only: tuple[str, ...] = ()
    mismatch: str = ""
    zip_suffixes: tuple[str, ...] = ()
    zip_member: str = ""
