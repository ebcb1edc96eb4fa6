"""`share_out`: assign residents to given facilities of limited room."""

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import check_t
from tkm_core.sites.capacity import Capacity, Room, Warm, as_capacity, assign
from tkm_core.sites.table import Table, check_distances


def share_out(
    distances: ArrayLike,
    capacity: Capacity | ArrayLike,
    *,
    t: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """The part of each resident's people that each facility serves, at the least city-wide cost.

    Parameters
    ----------
    distances : array (n, k)
        From each resident to each facility; infinite where there is no route.
    capacity : number, array (k,) or Capacity
        The most people a facility may serve; ``Capacity(most, least)`` for both limits.
    t : float
        The dial, in units of 1 / distances².
    sample_weight : array (n,), optional
        Population of each row.

    Returns
    -------
    ndarray of shape (n, k)
        Rows of people add up to 1; rows without people have only zeros.

    Raises
    ------
    ValueError
        If there is too little room, with the numbers.

    Examples
    --------
    >>> share_out([[1.0, 5.0], [2.0, 3.0], [4.0, 1.0]], 2).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    known = check_distances(distances)
    table = Table.of(known, sample_weight)
    k = known.shape[1]
    limits = as_capacity(capacity) or Capacity()
    people = float(len(known)) if sample_weight is None else float(np.asarray(sample_weight).sum())
    room = Room.of(limits, k, people, float(table.weights.sum()), 0, np.arange(k))
    found = assign(table.F, table.weights, room.least, room.most, table.tilt(check_t(t)), Warm(np.zeros(k)))
    if found is None:
        msg = "The facilities that people can reach have too little room. Allow more of them, or more people each."
        raise ValueError(msg)
    shares = np.zeros((len(known), k))
    shares[table.rows] = (found[0] / table.weights).T
    return shares
