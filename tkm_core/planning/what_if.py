"""What if: measure a plan with one of its facilities moved by hand."""

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation
from tkm_core.planning.plan import Plan


def moved(plan: Plan, i: int, j: int, lonlat: npt.ArrayLike, standard: float | None = None) -> Evaluation:
    """Every measure at setting i, by the rules of the plan, if facility j stood elsewhere and all others stayed.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    j : int
        Which facility, counted from 0.
    lonlat : array-like of shape (2,)
        Where it stands instead, in degrees.
    standard : float, optional
        A service standard in metres or minutes.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3)
    >>> there = moved(plan, 0, 1, plan.centers_lonlat(0)[1])
    >>> abs(there.mean_distance - plan.evaluation(0).mean_distance) < 0.01
    True
    """
    home = plan.residents
    centers = plan.centers_xy(i).copy()
    centers[j] = home.lonlat_to_xy(np.asarray(lonlat, dtype=np.float64))
    return plan.serving.evaluate(centers, float(plan.t[i]), standard, limited=None)
