"""The methods of the paper, one file each, all run by ``run_method`` and judged by ``evaluate``."""

from tkm_core.methods.method import Estimate, Method, MethodTooLargeError, Solution
from tkm_core.methods.registry import METHODS, describe
from tkm_core.methods.run import estimate, run_method

__all__ = [
    "METHODS",
    "Estimate",
    "Method",
    "MethodTooLargeError",
    "Solution",
    "describe",
    "estimate",
    "run_method",
]
