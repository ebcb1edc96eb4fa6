"""Measures of any set of facilities, computed in one place for every method."""

from tkm_core.evaluation.evaluation import Evaluation, evaluate, evaluate_distances
from tkm_core.evaluation.neighbourhood import neighbourhood_radius
from tkm_core.evaluation.scoring import MeasureScorer, scorer

__all__ = ["Evaluation", "MeasureScorer", "evaluate", "evaluate_distances", "neighbourhood_radius", "scorer"]
