"""Keep Python's garbage collector away from objects that live as long as the process."""

import gc
from functools import cache


@cache
def settle() -> None:
    """Exempt the libraries from garbage collection, once per process, at the end of its first run.

    A full collection would visit each of their objects: tens of milliseconds in which nobody is served. For the same
    reason .streamlit/config.toml switches off the collection that Streamlit adds to every run: Python's own remains.
    """
    gc.collect()
    gc.freeze()
