"""Move facilities that were planned without rules to where the rules allow them."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats
from tkm_core.planning.rules import Rules
from tkm_core.residents import Residents


def put_where_allowed(lonlat: Floats, residents: Residents, rules: Rules) -> Floats:
    """Move facilities that were planned without rules to where the rules allow them.

    With candidate sites, each facility gets a site of its own, such that together they move as little as possible.
    Along streets, each moves to the nearest junction that the zones allow. Otherwise they stay.

    Parameters
    ----------
    lonlat : ndarray of shape (f, 2)
        Facilities in degrees, longitude first.
    residents : Residents
        Their map is used to measure distances.
    rules : Rules

    Returns
    -------
    ndarray of shape (f, 2)

    Examples
    --------
    >>> from tkm_core.residents import Sites
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61]])
    >>> sites = Sites(np.array([[1.40, 43.61], [1.43, 43.60], [1.41, 43.60]]))
    >>> put_where_allowed(np.array([[1.401, 43.609], [1.402, 43.609]]), town, Rules(sites=sites)).tolist()
    [[1.4, 43.61], [1.41, 43.6]]
    """
    if rules.sites is not None:
        spots, alone = rules.sites.lonlat, True
    elif rules.travel.places is not None:
        spots, alone = rules.travel.places, False
    else:
        return lonlat
    spots = spots[rules.allows(spots)]
    if not len(spots) or not len(lonlat):
        return lonlat
    there, here = residents.lonlat_to_xy(spots), residents.lonlat_to_xy(lonlat)
    if alone and len(spots) >= len(lonlat):
        _, chosen = linear_sum_assignment(cdist(here, there, "sqeuclidean"))
    else:
        _, chosen = cKDTree(there).query(here)
    return np.asarray(spots[chosen], dtype=np.float64)
