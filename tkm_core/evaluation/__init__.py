"""Measures of any set of facilities, computed in one place for every method."""

from tkm_core.evaluation.evaluation import Evaluation, evaluate
from tkm_core.evaluation.neighbourhood import neighbourhood_radius

__all__ = ["Evaluation", "evaluate", "neighbourhood_radius"]
