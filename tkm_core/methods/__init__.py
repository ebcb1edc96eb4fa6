"""The methods of the paper, one file each, all run by ``run_method`` and judged by ``evaluate``."""

from tkm_core.methods.method import MAX_BYTES, MAX_SECONDS, Estimate, Method, MethodTooLargeError, Solution
from tkm_core.methods.registry import METHODS, describe
from tkm_core.methods.run import estimate, run_method
from tkm_core.methods.service_lp import fair_service
from tkm_core.methods.solver_race import Leg, Race, race

__all__ = [
    "MAX_BYTES",
    "MAX_SECONDS",
    "METHODS",
    "Estimate",
    "Leg",
    "Method",
    "MethodTooLargeError",
    "Race",
    "Solution",
    "describe",
    "estimate",
    "fair_service",
    "race",
    "run_method",
]
