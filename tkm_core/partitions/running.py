"""Passes over rows: on the threads of this process with bounded memory, or on the workers of a Dask cluster.

A pass is a function from the blocks of some pieces to a small result, and one that merges results. Which pieces go
together, and in which order results are merged, depends on the rows alone: so the result is the same wherever it is
computed, to the last bit, and however many workers there are.
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
RUNS, LEAST, MOST = 16, 1 << 18, 1 << 22  # runs that a pass is cut into if each then has so many rows
TOGETHER = 8  # results merged at a time
BEAT = 0.1  # seconds between two calls of progress

Result = TypeVar("Result")
Work = Callable[[Iterator[Block], Any], Result]
Merge = Callable[[list[Result]], Result]


class StoppedError(Exception):
    """The pass was cancelled: nobody waits for this part any more."""


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
        """One pass: ``work(blocks, shared)`` over all rows, in runs of pieces, and its results merged."""
        together = runs_of(self.rows.pieces)

        def alive(fraction: float) -> None:
            report(fraction, text)

        if self.client is not None:
            from tkm_core.partitions.cluster import on_cluster

            return on_cluster(self.client, together, work, merge, shared, alive)
        return _here(together, work, merge, shared, alive)


@contextmanager
def over_rows(rows: Rows, scheduler: str | None = None) -> Iterator[Passes]:
    """Passes over these rows; on the cluster that is named, set in the environment, or connected to, if any is.

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
    """The Dask client to work with, or None; one that is opened here is closed again."""
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
    """Pieces that one task reads together: neighbours, up to a number of rows that depends on the rows alone."""
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
    """Which results are merged, level by level; each merge is numbered after the results it follows.

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
    """Hand the blocks of some pieces to the work, until somebody stops it."""

    def blocks() -> Iterator[Block]:
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
    """A pass on the threads of this process: no more blocks are in memory than there are threads."""
    stop = Event()
    counted = [0] * len(runs)
    sizes = [sum(piece.n_rows or 0 for piece in run) for run in runs]

    def one(number: int) -> Result:
        def done(rows: int) -> None:
            counted[number] += rows

        return work_on(runs[number], work, shared, stop.is_set, done)

    def fraction(finished: int) -> float:
        return sum(counted) / sum(sizes) if all(sizes) else finished / len(runs)

    levels = tree(len(runs))
    waiting: list[list[Result]] = [[] for _ in range(len(levels) + 1)]

    def keep(result: Result, level: int, *, last: bool) -> None:
        """Merge as soon as enough results of a level are there, so that few are in memory."""
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
