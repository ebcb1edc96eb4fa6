"""Passes over rows (map and merge), on the threads of this process or on the workers of a Dask cluster.

A pass consists of a function from the blocks of some pieces to a small result, and one that merges results. Which
pieces go together, and in which order results are merged, depends on the rows alone. So the result is the same to the
last bit wherever it is computed, and with any number of workers.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

from tkm_core.extras import needs_extra
from tkm_core.partitions.block import Block
from tkm_core.partitions.source import Piece, Rows
from tkm_core.processors import processors
from tkm_core.progress import Progress, silent

SCHEDULER = "EVENREACH_SCHEDULER"
RUNS, LEAST, MOST = 16, 1 << 18, 1 << 23  # number of runs of a pass; the fewest and the most rows of a run
TOGETHER = 8  # results merged at a time
BEAT = 0.1  # seconds between two progress reports

Result = TypeVar("Result")
Work = Callable[[Iterator[Block], Any], Result]
Merge = Callable[[list[Result]], Result]


class StoppedError(Exception):
    """The pass was cancelled, and the result of this part is no longer needed."""


@dataclass(frozen=True)
class Passes:
    """Where passes over some rows run."""

    rows: Rows
    client: Any = None

    def __call__(
        self,
        work: Work[Result],
        merge: Merge[Result],
        shared: Any = None,
        report: Progress = silent,
        text: str = "",
    ) -> Result:
        """One pass: apply ``work(blocks, shared)`` to runs of pieces, and merge the results."""
        together = runs_of(self.rows.pieces)

        def alive(fraction: float) -> None:
            """Report progress."""
            report(fraction, text)

        if self.client is not None:
            from tkm_core.partitions.cluster import on_cluster

            return on_cluster(self.client, together, work, merge, shared, alive)
        return _here(together, work, merge, shared, alive)


@contextmanager
def over_rows(rows: Rows, scheduler: str | None = None) -> Iterator[Passes]:
    """Make passes over rows, on a cluster if one is given, set in the environment, or already connected.

    Parameters
    ----------
    rows : Rows
    scheduler : str, optional
        The address of a Dask scheduler, such as "tcp://10.0.0.5:8786"; by default ``EVENREACH_SCHEDULER``, then the
        Dask client of this process.
    """
    with cluster_client(scheduler) as client:
        yield Passes(rows, client)


@contextmanager
def cluster_client(scheduler: str | None = None) -> Iterator[Any]:
    """The Dask client to use, or None; a client opened here is closed again."""
    address = scheduler or os.environ.get(SCHEDULER, "").strip()
    if address:
        try:
            from tkm_core.partitions.cluster import connected
        except ModuleNotFoundError as missing:
            error = needs_extra("A Dask cluster", missing)
            raise error from missing
        with connected(address) as opened:
            yield opened
        return
    distributed = sys.modules.get("distributed")
    client: Any = None
    if distributed is not None:
        try:
            client = distributed.client.default_client()
        except ValueError:
            client = None
    if client is not None:
        from tkm_core.partitions.cluster import check_versions

        check_versions(client)
    yield client


def runs_of(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Groups of neighbouring pieces that one task reads together; they depend on the rows alone."""
    sizes = [piece.n_rows for piece in pieces]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return [[piece] for piece in pieces]
    room = min(max(sum(known) // RUNS, LEAST), MOST)
    runs: list[list[Piece]] = [[]]
    taken = 0
    for piece, size in zip(pieces, known, strict=True):
        if runs[-1] and taken + size > room:
            runs.append([])
            taken = 0
        runs[-1].append(piece)
        taken += size
    return runs


def tree(count: int) -> list[list[tuple[int, ...]]]:
    """The indices of the results to merge at each level; the merged results are the input of the next level.

    >>> tree(9)
    [[(0, 1, 2, 3, 4, 5, 6, 7), (8,)], [(0, 1)]]
    """
    levels = []
    while count > 1:
        levels.append([tuple(range(at, min(at + TOGETHER, count))) for at in range(0, count, TOGETHER)])
        count = len(levels[-1])
    return levels


def work_on(
    pieces: Sequence[Piece],
    work: Work[Result],
    shared: Any,
    stopped: Callable[[], bool],
    done: Callable[[int], None],
) -> Result:
    """Pass the blocks of some pieces to the work, unless it is stopped."""

    def blocks() -> Iterator[Block]:
        """The blocks of all pieces; counts the rows that are done."""
        for piece in pieces:
            for block in piece.blocks():
                if stopped():
                    raise StoppedError
                yield block
                done(len(block.X))

    return work(blocks(), shared)


def _here(
    runs: list[list[Piece]],
    work: Work[Result],
    merge: Merge[Result],
    shared: Any,
    alive: Callable[[float], None],
) -> Result:
    """A pass on the threads of this process, with at most one block per thread in memory."""
    stop = Event()
    counted = [0] * len(runs)
    sizes = [sum(piece.n_rows or 0 for piece in run) for run in runs]

    def one(number: int) -> Result:
        """Work on one run."""

        def done(rows: int) -> None:
            """Count rows that are done."""
            counted[number] += rows

        return work_on(runs[number], work, shared, stop.is_set, done)

    def fraction(finished: int) -> float:
        """The part of the pass that is done."""
        return sum(counted) / sum(sizes) if all(sizes) else finished / len(runs)

    levels = tree(len(runs))
    waiting: list[list[Result]] = [[] for _ in range(len(levels) + 1)]

    def keep(result: Result, level: int, *, last: bool) -> None:
        """Merge as soon as there are enough results of a level, so that few are in memory."""
        waiting[level].append(result)
        if level < len(levels) and (len(waiting[level]) == TOGETHER or last):
            merged = merge(waiting[level]) if len(waiting[level]) > 1 else waiting[level][0]
            waiting[level] = []
            keep(merged, level + 1, last=last)

    alive(0.0)
    with ThreadPoolExecutor(processors(), thread_name_prefix="rows") as pool:
        ahead = 2 * processors()
        tasks: list[Future[Result]] = []
        try:
            for number in range(len(runs)):
                while len(tasks) < min(number + ahead, len(runs)):
                    tasks.append(pool.submit(one, len(tasks)))
                while not tasks[number].done():
                    alive(fraction(number))
                    wait([tasks[number]], BEAT)
                result = tasks[number].result()
                tasks[number] = Future()
                keep(result, 0, last=number == len(runs) - 1)
        except BaseException:
            stop.set()
            for task in tasks:
                task.cancel()
            raise
    alive(1.0)
    (found,) = waiting[-1]
    return found
