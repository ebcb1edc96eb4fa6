"""Snap places to the street network: find the nearest point of an edge and the straight distance to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from pyproj import CRS

from tkm_core.arrays import Floats, Ints
from tkm_core.residents import WGS84, local_crs, transform
from tkm_core.streets.network import Network
from tkm_core.streets.rules import StreetsError

FAR = 300.0  # metres from the nearest street beyond which a place is reported
AT_JUNCTION = 0.001  # metres: a point closer than this to the end of an edge counts as the end
Places = npt.ArrayLike | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Joined:
    """Places and the points where they join the streets.

    Attributes
    ----------
    edge : ndarray of shape (n,)
        The nearest edge.
    at : ndarray of shape (n,)
        Metres along the edge from its start.
    metres : ndarray of shape (n,)
        The straight distance from the place to the street.
    xy : ndarray of shape (n, 2)
        The places themselves, in metres on the local map.
    """

    edge: npt.NDArray[np.int32]
    at: Floats
    metres: Floats
    xy: Floats

    def __len__(self) -> int:
        return len(self.edge)

    def far(self, beyond: float = FAR) -> Ints:
        """Indices of the places farther than `beyond` metres from every street."""
        return np.flatnonzero(self.metres > beyond)

    def take(self, which: Any) -> "Joined":
        """Some of the places."""
        return Joined(self.edge[which], self.at[which], self.metres[which], self.xy[which])


class Ground:
    """The edges as lines on a map in metres, with an index to find the nearest."""

    def __init__(self, network: Network) -> None:
        self.crs: CRS = local_crs(network.lonlat)
        self.xy = transform(network.shape, WGS84, self.crs)
        which = np.repeat(np.arange(len(network.start)), np.diff(network.shape_starts))
        self.lines = shapely.linestrings(self.xy, indices=which)
        self.tree = shapely.STRtree(self.lines)
        self._metres = network.metres

    def join(self, lonlat: Floats) -> Joined:
        """Find the nearest point of an edge for every place."""
        xy = transform(lonlat, WGS84, self.crs)
        lost = np.flatnonzero(~np.isfinite(xy).all(axis=1))
        if len(lost):
            lon, lat = lonlat[lost[0]]
            msg = (
                f"Place number {lost[0] + 1} (longitude {lon:g}, latitude {lat:g}) is nowhere near the streets. "
                "Check that the road file and the places are of the same city."
            )
            raise StreetsError(msg)
        if len(xy) == 0:
            return Joined(np.empty(0, np.int32), np.empty(0), np.empty(0), xy)
        points = shapely.points(xy)
        (_, edge), metres = self.tree.query_nearest(points, all_matches=False, return_distance=True)
        lines = self.lines[edge]
        long = self._metres[edge]
        drawn = np.maximum(shapely.length(lines), AT_JUNCTION)  # a street may begin and end at the same point
        at = shapely.line_locate_point(lines, points) / drawn * long
        at = np.where(at < AT_JUNCTION, 0.0, np.where(long - at < AT_JUNCTION, long, at))
        return Joined(edge.astype(np.int32), at, metres, xy)


def as_lonlat(places: Places, what: str = "Places") -> Floats:
    """Longitudes and latitudes as an array of shape (n, 2), checked.

    Examples
    --------
    >>> as_lonlat([[190.0, 0.0]])
    Traceback (most recent call last):
    ...
    tkm_core.streets.rules.StreetsError: Places need longitude and latitude in degrees; row 1 has 190 and 0.
    """
    try:
        lonlat = np.asarray(places, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{what} must be numbers: one row of longitude and latitude for each."
        raise StreetsError(msg) from error
    if lonlat.ndim == 1 and len(lonlat) == 2:
        lonlat = lonlat.reshape(1, 2)
    if lonlat.size == 0:
        return lonlat.reshape(0, 2)
    if lonlat.ndim != 2 or lonlat.shape[1] != 2:
        msg = f"{what} must have two columns, longitude and latitude, not the shape {lonlat.shape}."
        raise StreetsError(msg)
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((np.abs(lonlat[:, 0]) <= 180) & (np.abs(lonlat[:, 1]) <= 90)))
    if len(bad):
        lon, lat = lonlat[bad[0]]
        msg = f"{what} need longitude and latitude in degrees; row {bad[0] + 1} has {lon:g} and {lat:g}."
        raise StreetsError(msg)
    return lonlat
