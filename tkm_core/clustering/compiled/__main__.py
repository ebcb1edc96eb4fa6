"""Compile the solver ahead of time: every compiled function once, through the public names, as users call them.

With ``--intermediate`` from the sources, and what comes out is shipped with the package: see ``intermediate``.
"""

import sys
from contextlib import suppress
from importlib import import_module

import numpy as np

from tkm_core import TiltedKMeans, capacity_path, evaluate, neighbourhood_radius, site_path, tilted_path
from tkm_core.clustering.compiled import intermediate
from tkm_core.partitions import array_rows


def compile_all() -> None:
    """Call everything that is compiled."""
    for n in (300, 70_000):
        X = np.random.default_rng(0).normal(size=(n, 2))
        path = tilted_path(X, 3, t=[0.0, 0.1, 10.0, 1e4, np.inf], random_state=0)
        evaluate(X[:300], path.centers[0], neighbourhood=neighbourhood_radius(X[:300], 3))
    tilted_path(array_rows(X), 3, t=[0.0, 0.1, np.inf], random_state=0)
    TiltedKMeans(12, t=np.inf, scale=1.0).fit(X[:100])  # many facilities
    TiltedKMeans(2, solver="sgd", max_iter=1).fit(X[:300])
    site_path(np.abs(X[:30, :1] - X[:20, 0]), 2, t=[0.0, 1.0, np.inf]).improve(1.0)
    capacity_path(X[:300], 3, 110, t=[0.0, 1.0])
    TiltedKMeans(2, n_init=1).fit(X[:400].reshape(40, 20))  # many columns
    # on its own: reading a road file would take longer, and without the extra "geo" there are no streets to search
    with suppress(ModuleNotFoundError):
        import_module("tkm_core.streets.compiled").search.compile_now()


if __name__ == "__main__":
    if "--intermediate" in sys.argv:
        intermediate.collected = {}
    compile_all()
    if intermediate.collected is not None:
        intermediate.write(intermediate.collected)
