"""Clustering methods of the paper and later work, one file each, all run by ``run_method``."""

from tkm_core.methods.method import MAX_BYTES, MAX_SECONDS, Estimate, Method, MethodTooLargeError, Solution
from tkm_core.methods.registry import BASELINE, FOR_ANYONE, METHODS, OWN, describe
from tkm_core.methods.run import estimate, run_method
from tkm_core.methods.service_lp import fair_service
from tkm_core.methods.solver_comparison import SolverComparison, SolverRun, compare_solvers

__all__ = [
    "BASELINE",
    "FOR_ANYONE",
    "MAX_BYTES",
    "MAX_SECONDS",
    "METHODS",
    "OWN",
    "Estimate",
    "Method",
    "MethodTooLargeError",
    "Solution",
    "SolverComparison",
    "SolverRun",
    "compare_solvers",
    "describe",
    "estimate",
    "fair_service",
    "run_method",
]
