"""Measures of any set of facilities: average and longest distance, variance, Gini and others."""

from tkm_core.evaluation.evaluation import Evaluation, at_standard, evaluate, evaluate_distances
from tkm_core.evaluation.neighbourhood import neighbourhood_radius
from tkm_core.evaluation.scoring import MeasureScorer, scorer
from tkm_core.evaluation.streamed import evaluate_settings
from tkm_core.evaluation.trips import Changes, Trips, compare_trips

__all__ = [
    "Changes",
    "Evaluation",
    "MeasureScorer",
    "Trips",
    "at_standard",
    "compare_trips",
    "evaluate",
    "evaluate_distances",
    "evaluate_settings",
    "neighbourhood_radius",
    "scorer",
]
