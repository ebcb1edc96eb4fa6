"""The loops of the solver that are compiled by numba."""
