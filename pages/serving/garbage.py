"""Python's garbage collector, kept away from what never goes."""

import gc
from functools import cache


@cache
def settle() -> None:
    """Put the libraries out of the garbage collector's sight, once a process, at the end of its first run.

    A full collection would visit each of their objects: tens of milliseconds in which nobody is served. For the same
    reason .streamlit/config.toml switches off the collection that Streamlit adds to every run: Python's own remains.
    """
    gc.collect()
    gc.freeze()
