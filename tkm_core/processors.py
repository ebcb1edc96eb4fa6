"""How many processors there are for this process."""

import os


def processors() -> int:
    """How many processors this process may use: a container or ``taskset`` may have left it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
