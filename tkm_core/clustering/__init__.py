"""Tilted k-means: the objective, the estimator, the path over t, and the search behind them."""

from tkm_core.clustering.checks import (
    check_centers,
    check_clusters,
    check_fixed,
    check_points,
    check_t,
    check_weights,
)
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.passes import nearest
from tkm_core.clustering.compiled.starts import FARTHEST, KMEANS_PP, RESIDENTS, seeds
from tkm_core.clustering.descent import CHUNK, Descent, Problem, descend, descend_all
from tkm_core.clustering.estimator import TiltedKMeans
from tkm_core.clustering.frame import Frame, Framed, in_units_of, level_weights, served, tilt
from tkm_core.clustering.objective import city_cost, squared_distances, tilted_sse, tilted_sse_by_cluster
from tkm_core.clustering.path import TiltedPath, tilted_path
from tkm_core.clustering.search import LARGE
from tkm_core.clustering.sgd import descend_by_sgd

__all__ = [
    "CHUNK",
    "FARTHEST",
    "KMEANS_PP",
    "LARGE",
    "RESIDENTS",
    "Descent",
    "Frame",
    "Framed",
    "Problem",
    "TiltedKMeans",
    "TiltedPath",
    "check_centers",
    "check_clusters",
    "check_fixed",
    "check_points",
    "check_t",
    "check_weights",
    "city_cost",
    "clearly_lower",
    "descend",
    "descend_all",
    "descend_by_sgd",
    "in_units_of",
    "level_weights",
    "nearest",
    "seeds",
    "served",
    "squared_distances",
    "tilt",
    "tilted_path",
    "tilted_sse",
    "tilted_sse_by_cluster",
]
