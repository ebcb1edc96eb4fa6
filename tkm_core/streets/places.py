"""Choose junctions where a facility could be built: near people and evenly spread."""

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.streets.joining import FAR, Joined
from tkm_core.streets.network import Network

NEAR = FAR  # metres: a junction is near people if a resident lives within this distance


def near_people(network: Network, junctions_xy: Floats, people: Joined) -> Ints:
    """The junctions within 300 metres of a resident, and both ends of every resident's street."""
    from scipy.spatial import cKDTree

    distance, _ = cKDTree(people.xy).query(junctions_xy, distance_upper_bound=NEAR)
    near = np.isfinite(distance)
    near[network.start[people.edge]] = near[network.end[people.edge]] = True
    return np.flatnonzero(near)


def thin_out(junctions: Ints, xy: Floats, people_xy: Floats, weights: Floats, at_most: int) -> Ints:
    """At most `at_most` junctions, evenly spread: in each cell of a grid, the one nearest to its people's middle.

    Parameters
    ----------
    junctions : ndarray of shape (c,)
        Their indices.
    xy : ndarray of shape (c, 2)
        Where they are, in metres.
    people_xy, weights : ndarray
        Where people live, and how many.
    at_most : int
        How many to keep.
    """
    if len(junctions) <= at_most:
        return junctions
    low = np.minimum(xy.min(axis=0), people_xy.min(axis=0))
    fine, coarse = 1.0, float(np.ptp(np.concatenate([xy, people_xy]), axis=0).max()) + 1.0
    while coarse > 1.01 * fine:  # the finest grid with few enough cells
        size = np.sqrt(fine * coarse)
        if len(np.unique(_cells(xy, low, size))) > at_most:
            fine = size
        else:
            coarse = size
    cells, own = np.unique(_cells(xy, low, coarse), return_inverse=True)
    place = np.minimum(np.searchsorted(cells, _cells(people_xy, low, coarse)), len(cells) - 1)
    here = cells[place] == _cells(people_xy, low, coarse)
    total = np.bincount(place[here], weights[here], len(cells))
    size = np.bincount(own, minlength=len(cells))
    middle = np.empty((len(cells), 2))
    for axis in (0, 1):
        lived = np.bincount(place[here], (weights * people_xy[:, axis])[here], len(cells))
        plain = np.bincount(own, xy[:, axis], len(cells)) / size
        middle[:, axis] = np.where(total > 0, lived / np.where(total > 0, total, 1), plain)
    apart = np.hypot(*(xy - middle[own]).T)
    order = np.lexsort((apart, own))
    first = np.flatnonzero(np.diff(own[order], prepend=-1))
    return np.sort(junctions[order[first]])


def _cells(xy: Floats, low: Floats, size: float) -> Ints:
    """The number of the grid cell that each point lies in."""
    column, row = np.floor((xy - low) / size).astype(np.int64).T
    return column * (1 << 31) + row


def neighbours(network: Network, junctions: Ints) -> Ints:
    """The junctions one edge away from the given ones, in either direction, without those themselves."""
    given = np.zeros(len(network.lonlat), dtype=bool)
    given[junctions] = True
    reached = np.zeros(len(network.lonlat), dtype=bool)
    reached[network.end[given[network.start]]] = True
    reached[network.start[given[network.end]]] = True
    return np.flatnonzero(reached & ~given)
