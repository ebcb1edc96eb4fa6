"""Threads for compiled loops that release the interpreter."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_pools: dict[int, ThreadPoolExecutor] = {}


def pool() -> ThreadPoolExecutor:
    """One pool a process (a fork starts its own)."""
    pid = os.getpid()
    if pid not in _pools:
        _pools[pid] = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="tkm")
    return _pools[pid]


def in_parallel(run: Callable[[slice], None], n: int, size: int) -> None:
    """Run over slices of 0..n of the given size, each by one thread."""
    tasks = [slice(i, min(n, i + size)) for i in range(0, n, size)]
    if len(tasks) == 1:
        run(tasks[0])
    else:
        list(pool().map(run, tasks))
