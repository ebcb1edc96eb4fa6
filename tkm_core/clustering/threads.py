"""Threads for compiled loops that release the GIL."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from tkm_core.processors import processors

_pools: dict[int, ThreadPoolExecutor] = {}


def pool() -> ThreadPoolExecutor:
    """The thread pool of this process (a fork starts its own)."""
    pid = os.getpid()
    if pid not in _pools:
        _pools[pid] = ThreadPoolExecutor(processors(), thread_name_prefix="tkm")
    return _pools[pid]


def in_parallel(
    run: Callable[[slice], None], n: int, size: int, stop: NDArray[np.int64] | None = None
) -> None:
    """Run over slices of 0..n of the given size, each by one thread.

    If one fails, or Ctrl-C is pressed, waiting ones are cancelled and running ones are told to ``stop``.
    """
    tasks = [slice(i, min(n, i + size)) for i in range(0, n, size)]
    if len(tasks) == 1:
        run(tasks[0])
        return
    running = [pool().submit(run, task) for task in tasks]
    try:
        for each in running:
            each.result()
    except BaseException:
        if stop is not None:
            stop[0] = 1
        for each in running:
            each.cancel()
        wait(running)
        raise
