"""Compile the solver into numba's cache: every compiled function once, through the public names, as users call them."""

import numpy as np

from tkm_core import TiltedKMeans, evaluate, neighbourhood_radius, tilted_path

if __name__ == "__main__":
    for n in (300, 70_000):
        X = np.random.default_rng(0).normal(size=(n, 2))
        path = tilted_path(X, 3, t=[0.0, 0.1, 10.0, 1e4, np.inf], random_state=0)
        evaluate(X[:300], path.centers[0], neighbourhood=neighbourhood_radius(X[:300], 3))
    TiltedKMeans(2, solver="sgd", max_iter=1).fit(X[:300])
