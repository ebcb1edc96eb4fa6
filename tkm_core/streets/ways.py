"""Streets as read from a file: lines through shared points, with a speed in each direction."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats, Ints
from tkm_core.streets.rules import StreetsError

MOST_POINTS = 10_000_000  # of all streets; each takes about 400 bytes while the network is built
LONGEST_WAY = 100_000  # points of one line; OpenStreetMap allows 2,000


@dataclass
class Ways:
    """Lines that share points.

    Attributes
    ----------
    lonlat : ndarray of shape (p, 2)
        Longitude and latitude of every point; NaN if missing from the file.
    points : ndarray of int
        Indices of the points of all lines, one line after another.
    starts : ndarray of shape (w + 1,)
        Where in `points` each line begins; the last entry is the end.
    forward, backward : ndarray of shape (w,)
        Speed in km/h along and against the line; 0 if closed.
    classes : ndarray of shape (w,)
        Index of each line's class in `class_names`.
    class_names : list of str
        Classes of streets, for drawing.
    read : int
        Number of streets in the file, including those closed to the mode.
    notes : list of str
        What a planner should know about how the file was understood.
    columns : tuple of str
        All columns of a layer of lines.
    """

    lonlat: Floats
    points: Ints
    starts: Ints
    forward: Floats
    backward: Floats
    classes: npt.NDArray[np.int16]
    class_names: list[str]
    read: int
    file_format: str = ""
    notes: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()


def check_length(points: int, name: str) -> None:
    """Refuse a line with absurdly many points."""
    if points > LONGEST_WAY:
        msg = (
            f"“{name}” has a street with {points:,} points; {LONGEST_WAY:,} is the most. "
            "That is not a street: check how the file was made, or split the line."
        )
        raise StreetsError(msg)


def check_size(points: int, name: str) -> None:
    """Refuse a file with more points than memory allows."""
    if points > MOST_POINTS:
        msg = (
            f"“{name}” has streets with more than {MOST_POINTS:,} points, which is more than a city or a region. "
            "Cut it to your area first (for instance with osmium extract)."
        )
        raise StreetsError(msg)
