"""A table in pieces, so that one of millions of rows is never in memory as a whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import geopandas as gpd
from pyproj import CRS

from tkm_core.progress import Progress

ROWS = 100_000  # of a piece; with its points and its text in a format it takes about 100 MB


@dataclass(frozen=True, eq=False)
class Pieces:
    """A table that is made piece by piece while it is written.

    Attributes
    ----------
    rows : int
        Of the whole table.
    crs : CRS
    make : callable
        ``make(rows)`` makes the rows of a slice, with the same types in every piece.
    size : int
        Rows of one piece.
    points : bool
        Whether every shape is known to be a point.

    Examples
    --------
    >>> town = gpd.GeoDataFrame({"homes": [1, 2, 3]}, geometry=gpd.points_from_xy([1, 2, 3], [4, 5, 6]), crs=4326)
    >>> [len(piece) for piece in Pieces(3, town.crs, lambda rows: town.iloc[rows], size=2)]
    [2, 1]
    """

    rows: int
    crs: CRS
    make: Callable[[slice], gpd.GeoDataFrame]
    size: int = ROWS
    points: bool = False

    @classmethod
    def of(cls, frame: gpd.GeoDataFrame) -> "Pieces":
        """A table that is in memory already, as one piece."""
        return cls(len(frame), frame.crs, lambda _: frame, max(len(frame), 1))

    @property
    def several(self) -> bool:
        """Whether there is more than one piece."""
        return self.rows > self.size

    def __iter__(self) -> Iterator[gpd.GeoDataFrame]:
        for start in range(0, max(self.rows, 1), self.size):
            yield self.make(slice(start, min(start + self.size, self.rows)))

    def whole(self) -> gpd.GeoDataFrame:
        """The whole table at once."""
        return self.make(slice(0, self.rows))

    def watched(self, progress: Progress) -> "Pieces":
        """The same, telling before each piece how far it is; that is where writing can be stopped."""

        def make(rows: slice) -> gpd.GeoDataFrame:
            """Make a piece, after saying so."""
            if self.several:
                progress(rows.start / self.rows, f"row {rows.start:,} of {self.rows:,}")
            return self.make(rows)

        return Pieces(self.rows, self.crs, make, self.size, self.points)
