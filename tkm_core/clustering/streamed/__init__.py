"""Fit and path for data beyond memory: a few passes over all rows, and everything else on cells of a grid."""
