"""Starts chosen by the caller (`init`): given centres, a function that makes them, or k-means++ seeds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering.checks import check_centers
from tkm_core.clustering.compiled.starts import KMEANS_PP
from tkm_core.clustering.descent import seeds
from tkm_core.clustering.frame import Framed

RUNS = 10  # starts that are drawn by default

Init = str | ArrayLike | Callable[..., Any]


def given_starts(init: Init, framed: Framed, n_init: int | None, random_state: RandomState) -> Floats:
    """Starts (r, k + f, d) in the solver's coordinates, each with the existing facilities last.

    Parameters
    ----------
    init : "k-means++", array (k, d) or callable
        As in ``TiltedKMeans``.
    framed : Framed
    n_init : int or None
        How many to draw; given centres count as one.
    random_state : RandomState
    """
    problem, k = framed.problem, framed.problem.n_free
    d = problem.X.shape[1]
    count = n_init or RUNS
    if isinstance(init, str):
        drawn = np.concatenate(
            [np.zeros((count, k, d)), np.repeat(framed.fixed[None], count, axis=0)], axis=1
        )
        for start in drawn:
            seeds(problem.X, problem.weights, start, k, KMEANS_PP, int(random_state.randint(2**31 - 1)))
        return drawn
    made = [init(framed.X, k, random_state) for _ in range(count)] if callable(init) else [init]
    return np.array([np.vstack([framed.frame.inside(_checked(one, k, d)), framed.fixed]) for one in made])


def _checked(centers: ArrayLike, k: int, d: int) -> Floats:
    """Check that there is a start for each new facility."""
    found = check_centers(centers, d, "init")
    if len(found) != k:
        msg = f"init has {len(found)} centres, and n_clusters is {k}; it needs one centre for each new facility."
        raise ValueError(msg)
    return found
