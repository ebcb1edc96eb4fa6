"""Number of processors available to this process."""

import os


def processors() -> int:
    """Number of processors this process may use; a container or ``taskset`` may allow fewer than exist."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
