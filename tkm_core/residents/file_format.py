"""Definition of an input format: how its files are recognised and read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tkm_core.residents.source import Source
from tkm_core.residents.table import Table


@dataclass(frozen=True)
class Asked:
    """What the planner said about the file; whatever is None is guessed."""

    sheet: str | int | None = None
    layer: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    lines: bool = False  # for map files: lines (streets) are wanted, not places
    crs: object = None
    within: Any = None  # the area to cut out: a polygon in degrees
    cells: int = 100_000  # for rasters: the most cells to keep; more are merged into larger ones


def no_sign(_head: bytes) -> bool:
    """The `sign` of a format that cannot be recognised by its first bytes."""
    return False


@dataclass(frozen=True)
class FileFormat:
    """One entry of `FORMATS`.

    Attributes
    ----------
    kind : str
        The name of the format in code.
    name, upload : str
        What it is called, and how “You can upload ...” names it if that differs.
    suffixes : tuple of str
        With the dot, in lower case.
    read : callable
        ``read(source, asked)`` gives the table.
    sign : callable
        Whether a file that begins with these bytes (up to 64 kB) is of this format. The file name decides only
        where no sign does.
    is_map : bool
        Whether it holds features with geometry, not just a table with columns of coordinates.
    only : tuple of str
        Suffixes that no other format may have: other content is refused.
    mismatch : str
        The message for such content, if there is more to say than that the name is wrong.
    zip_suffixes, zip_member : tuple of str, str
        For formats that are zip files themselves: their suffixes, and a member that tells them from an archive.
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
