"""Tilted k-means: the objective, the estimator, the path over t, and the search behind them."""

from tkm_core.clustering.checks import (
    TiltWarning,
    check_centers,
    check_clusters,
    check_fixed,
    check_grid,
    check_number,
    check_points,
    check_scale,
    check_t,
    check_weights,
    check_whole,
    named_weights,
)
from tkm_core.clustering.compiled.costs import clearly_lower
from tkm_core.clustering.compiled.kernel import inner, kernel
from tkm_core.clustering.compiled.neighbourhoods import fill_reach
from tkm_core.clustering.compiled.records import frozen
from tkm_core.clustering.compiled.starts import FARTHEST, KMEANS_PP, RESIDENTS
from tkm_core.clustering.compiled.tilted_mean import tilted_mean
from tkm_core.clustering.continuity import VISIBLE
from tkm_core.clustering.descent import CHUNK, Descent, Problem, box, descend, descend_all, nearest, seeds
from tkm_core.clustering.estimator import TiltedKMeans
from tkm_core.clustering.frame import Frame, Framed, in_units_of, level_weights, served, tilt, unit_for
from tkm_core.clustering.objective import city_cost, squared_distances, tilted_sse, tilted_sse_by_cluster
from tkm_core.clustering.path import TiltedPath, tilted_path
from tkm_core.clustering.search import LARGE
from tkm_core.clustering.sgd import descend_by_sgd
from tkm_core.clustering.stand_ins import cells
from tkm_core.clustering.streamed.grid import survey
from tkm_core.clustering.streamed.path import Condensed, condensed, finish
from tkm_core.clustering.threads import in_parallel

__all__ = [
    "CHUNK",
    "FARTHEST",
    "KMEANS_PP",
    "LARGE",
    "RESIDENTS",
    "VISIBLE",
    "Condensed",
    "Descent",
    "Frame",
    "Framed",
    "Problem",
    "TiltWarning",
    "TiltedKMeans",
    "TiltedPath",
    "box",
    "cells",
    "check_centers",
    "check_clusters",
    "check_fixed",
    "check_grid",
    "check_number",
    "check_points",
    "check_scale",
    "check_t",
    "check_weights",
    "check_whole",
    "city_cost",
    "clearly_lower",
    "condensed",
    "descend",
    "descend_all",
    "descend_by_sgd",
    "fill_reach",
    "finish",
    "frozen",
    "in_parallel",
    "in_units_of",
    "inner",
    "kernel",
    "level_weights",
    "named_weights",
    "nearest",
    "seeds",
    "served",
    "squared_distances",
    "survey",
    "tilt",
    "tilted_mean",
    "tilted_path",
    "tilted_sse",
    "tilted_sse_by_cluster",
    "unit_for",
]
