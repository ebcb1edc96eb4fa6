"""Tilted k-means: where to put facilities so that everyone is reached evenly.

>>> import tkm_core as tkm
>>> model = tkm.TiltedKMeans(2, t=0.5, random_state=0).fit([[0, 0], [0, 1], [5, 5], [5, 6]])
>>> round(tkm.evaluate([[0, 0], [0, 1], [5, 5], [5, 6]], model.cluster_centers_).largest_distance, 6)
0.5
"""

from tkm_core.evaluation import Evaluation, evaluate
from tkm_core.methods import METHODS, MethodTooLargeError, Solution, run_method
from tkm_core.neighbourhood import neighbourhood_radius
from tkm_core.path import TiltedPath, tilted_path
from tkm_core.solver import TiltedKMeans

__all__ = [
    "METHODS",
    "Evaluation",
    "MethodTooLargeError",
    "Solution",
    "TiltedKMeans",
    "TiltedPath",
    "evaluate",
    "neighbourhood_radius",
    "run_method",
    "tilted_path",
]
