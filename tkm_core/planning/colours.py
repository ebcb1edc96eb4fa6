"""A colour for each facility: neighbours never share one, and it stays the same while the dial turns."""

import numpy as np
from scipy.spatial import Delaunay, QhullError

from tkm_core.arrays import Floats, Ints

COLOURS = 9  # that can be told apart on a map
# Pairs that look alike as the pale fill of an area, in the light or the dark theme: neighbours avoid them if possible.
ALIKE = ((0, 7), (1, 6), (1, 8), (2, 7), (2, 8))


def neighbours(sites: Floats) -> Ints:
    """Pairs of facilities whose service areas touch, shape (p, 2).

    Examples
    --------
    >>> neighbours(np.array([[0.0, 0], [4, 0], [0, 4], [4.1, 4.2], [2, 9]])).tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [2, 4], [3, 4]]
    """
    everyone = np.argwhere(np.triu(np.ones((len(sites), len(sites)), bool), 1))
    if len(sites) < 4:
        return everyone
    try:
        corners = Delaunay(sites, qhull_options="QJ").simplices
    except QhullError:  # all in one place
        return everyone
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    return np.asarray(np.unique(pairs, axis=0), np.int64)


def apart(path: Floats, count: int = COLOURS) -> Ints:
    """Colours for facilities such that no two that are neighbours at any setting share one.

    Parameters
    ----------
    path : ndarray of shape (m, f, 2)
        Facilities at every setting of the dial.
    count : int
        Number of colours. If they are too few, facilities share one that are neighbours at the fewest settings.

    Returns
    -------
    ndarray of shape (f,)
        From 0.

    Examples
    --------
    >>> row = np.arange(12.0)[:, None] * [[1.0, 0.0]] + np.arange(12)[:, None] % 2 * [[0.0, 0.3]]
    >>> colours = apart(row[None], 4)
    >>> any(colours[a] == colours[b] for a, b in neighbours(row))
    False
    """
    facilities = path.shape[1]
    if facilities <= count:
        return np.arange(facilities)
    meet = np.zeros((facilities, facilities))
    for sites in path:
        a, b = neighbours(sites).T
        meet[a, b] += 1
        meet[b, a] += 1
    alike = np.zeros((count, count))
    for one, other in ALIKE:
        if max(one, other) < count:
            alike[one, other] = alike[other, one] = 1
    colours = np.full(facilities, -1)
    near = np.zeros((facilities, count))  # settings at which a neighbour has a similar colour
    clashes = np.zeros((facilities, count))  # settings at which a neighbour has the colour
    used = np.zeros(count)
    for _ in range(facilities):
        # the facility with the fewest colours left chooses first
        busy = np.where(colours < 0, (clashes > 0).sum(axis=1) + meet.sum(axis=1) / (meet.sum() + 1), -1.0)
        chosen = int(np.argmax(busy))
        colour = int(np.lexsort((used, near[chosen], clashes[chosen]))[0])
        colours[chosen] = colour
        used[colour] += 1
        clashes[:, colour] += meet[chosen]
        near += np.outer(meet[chosen], alike[colour])
    return colours
