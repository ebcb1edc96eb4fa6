"""Find coordinates that cannot be right: missing, invalid, at (0, 0), or alone and far from all others."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from tkm_core.arrays import Floats
from tkm_core.residents.projection import BLOCK, EARTH_RADIUS, distance_from, unit_vectors
from tkm_core.residents.report import Dropped

Mask = npt.NDArray[np.bool_]

EXAMPLES = 5  # rows given as examples for each reason
# Least and greatest distance in metres to all others beyond which a point is lone.
GAP = (300_000.0, 1_500_000.0)
FEW = (0.001, 10)  # a lone group holds at most this share of all points, and at most this many
ENOUGH = 10  # with fewer points, nobody can tell which one is stray

REASONS = {
    "missing": "no coordinates",
    "range": "coordinates that are not on earth (longitude beyond ±180° or latitude beyond ±90°)",
    "zero": "coordinates 0, 0, which stand for an unknown place",
    "people": "a population that is missing or negative",
    "outside": "a place outside the area that was asked for",
    "far": "a single place far away from all others",
}


def check_positions(
    lonlat: Floats,
    weights: Floats,
    *,
    keep_suspect: bool,
    zero: Mask | None = None,
    outside: Mask | None = None,
    describe: Callable[[int, str], str] | None = None,
    first_row: int = 1,
) -> tuple[Mask | None, list[Dropped]]:
    """Decide which points to keep.

    Parameters
    ----------
    lonlat : ndarray of shape (n, 2)
        Degrees.
    weights : ndarray of shape (n,)
        People at each point.
    keep_suspect : bool
        Keep the points that are unlikely but possible: (0, 0) and lone ones.
    zero : ndarray of bool of shape (n,), optional
        Points whose coordinates in the file are (0, 0); by default those at (0, 0) in degrees.
    outside : ndarray of bool of shape (n,), optional
        Points outside the area that was asked for.
    describe : callable, optional
        Maps a row index and the code of a reason to what the file says there.
    first_row : int, default=1
        Number of the first row as people count.

    Returns
    -------
    keep : ndarray of bool of shape (n,), or None
        None if every point is kept.
    dropped : list of Dropped
        Counts, reasons and example rows.
    """
    lon, lat = lonlat[:, 0], lonlat[:, 1]
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(lon) & np.isfinite(lat)
        wrong = {"missing": ~finite, "range": finite & ((np.abs(lon) > 180) | (np.abs(lat) > 90))}
        if not keep_suspect:
            wrong["zero"] = (np.abs(lon) < 1e-6) & (np.abs(lat) < 1e-6) if zero is None else zero.copy()
        wrong["people"] = ~(np.isfinite(weights) & (weights >= 0))
    if outside is not None:
        wrong["outside"] = outside.copy()
    keep = np.ones(len(lonlat), dtype=bool)
    dropped = []
    describe = describe or (lambda row, code: _shown(code, lonlat[row], weights[row]))

    def leave_out(code: str, rows: npt.NDArray[np.intp]) -> None:
        """Mark rows as dropped for a reason, with some examples."""
        examples = tuple((row + first_row, describe(row, code)) for row in rows[:EXAMPLES].tolist())
        dropped.append(Dropped(REASONS[code], len(rows), examples, code))
        keep[rows] = False

    for code, mask in wrong.items():
        mask &= keep
        if mask.any():
            leave_out(code, np.flatnonzero(mask))
    if not keep_suspect:
        place = np.flatnonzero(keep) if not keep.all() else None
        strays = lone_points(lonlat if place is None else lonlat[place])
        if len(strays):
            strays = strays if place is None else place[strays]
            leave_out("far", strays)
    return (None if keep.all() else keep), dropped


def _shown(code: str, place: Floats, people: float) -> str:
    """What a dropped row held, if the file cannot be quoted."""
    if code in ("missing", "people"):
        return "empty" if code == "missing" else f"{people:g}"
    return f"longitude {place[0]:g}, latitude {place[1]:g}"


def lone_points(lonlat: Floats) -> npt.NDArray[np.intp]:
    """Find the points in small groups that lie far from everything else.

    Far is twice the typical distance from the middle of the data, but at least 300 and at most 1,500 km;
    small is at most one in a thousand points and never more than ten. So an overseas district with its towns
    stays, a typing error does not.

    Examples
    --------
    >>> import numpy as np
    >>> town = np.random.default_rng(0).normal([2.35, 48.85], 0.05, (200, 2))
    >>> lone_points(np.vstack([town, [-2.35, 18.85]]))
    array([200])
    """
    nothing = np.empty(0, dtype=np.intp)
    if len(lonlat) < ENOUGH:
        return nothing
    step = max(1, len(lonlat) // 10_000)
    middle = np.median(unit_vectors(lonlat[::step]), axis=0)
    if not np.linalg.norm(middle) > 0.1:  # spread all around the globe
        return nothing
    middle /= np.linalg.norm(middle)
    centre = np.degrees([np.arctan2(middle[1], middle[0]), np.arcsin(np.clip(middle[2], -1, 1))])
    gap = float(np.clip(2 * np.median(distance_from(centre, lonlat[::step])), *GAP))
    if _within(lonlat, centre, gap):
        return nothing
    blocks = [lonlat[start : start + BLOCK] for start in range(0, len(lonlat), BLOCK)]
    side = gap / 3 / EARTH_RADIUS  # side of cells on the unit sphere, small compared with the gap
    cells = np.concatenate([_cell_numbers(block, side) for block in blocks])
    numbers, cell_of, counts = np.unique(cells, return_inverse=True, return_counts=True)
    width = _cells_across(side)
    corners = np.column_stack([numbers // width**2, numbers // width % width, numbers % width])
    places = (corners + 0.5) * side - 1
    pairs = cKDTree(places).query_pairs(gap / EARTH_RADIUS, output_type="ndarray")
    links = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(len(places),) * 2)
    n_groups, group_of = connected_components(links, directed=False)
    size = np.bincount(group_of, weights=counts, minlength=n_groups)
    small = size <= min(max(1, FEW[0] * len(lonlat)), FEW[1])
    if size[small].sum() > 0.1 * len(lonlat):  # so many lone points are not errors: the data are scattered
        return nothing
    return np.flatnonzero(small[group_of][cell_of])


def _within(lonlat: Floats, centre: Floats, gap: float) -> bool:
    """Whether all points certainly lie within a distance of the centre, judged by their box: true for any city."""
    lon, lat = lonlat[:, 0], lonlat[:, 1]
    west, east, south, north = lon.min(), lon.max(), lat.min(), lat.max()
    if east - west > 30 or max(abs(south), abs(north)) > 80:
        return False
    rim = np.array([[lon, lat] for lon in np.linspace(west, east, 9) for lat in (south, north)])
    return bool(distance_from(centre, rim).max() < 0.9 * gap)


def _cells_across(side: float) -> int:
    """Number of cells along each axis of the cube around the unit sphere."""
    return int(2 / side) + 2


def _cell_numbers(lonlat: Floats, side: float) -> npt.NDArray[np.int64]:
    """The number of the cell that each point lies in."""
    corners = ((unit_vectors(lonlat) + 1) / side).astype(np.int64)
    width = _cells_across(side)
    return (corners[:, 0] * width + corners[:, 1]) * width + corners[:, 2]
