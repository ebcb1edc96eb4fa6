"""Benchmarks: speed and quality, as ratios against other libraries in the same run."""
