"""Tables of travel times and distances between many places, computed in parallel."""

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats, Ints
from tkm_core.progress import Progress, never_falling
from tkm_core.streets.joining import Joined
from tkm_core.streets.network import Network
from tkm_core.streets.rules import StreetsError

LARGEST_TABLE = 4 << 30  # bytes
BLOCK = 400_000  # junctions searched between two checks for cancellation
DIRECTIONS = ("there", "back")


@dataclass(frozen=True)
class Graph:
    """The network in the form that the search needs, for one measure and one direction.

    ``along`` and ``against`` are the cost of a metre of each edge, in minutes or metres, infinite if it is closed.
    The arcs that leave junction j are ``arc_head`` and ``arc_cost`` from ``first_arc[j]`` to ``first_arc[j + 1]``.
    """

    first_arc: Ints
    arc_head: npt.NDArray[np.int32]
    arc_cost: Floats
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    metres: Floats
    along: Floats
    against: Floats
    pace: float


def make_graph(network: Network, pace: float, *, measure: str, reverse: bool) -> Graph:
    """Build the graph for the search.

    Parameters
    ----------
    network : Network
        Junctions and edges.
    pace : float
        Walking speed in km/h, for the straight way between a place and the street.
    measure : {"minutes", "metres"}
        What a path costs.
    reverse : bool
        Search backwards, from the ends of the paths.
    """
    with np.errstate(divide="ignore"):
        if measure == "minutes":
            along, against = 0.06 / network.forward, 0.06 / network.backward
        else:
            along, against = np.ones(len(network.start)), np.where(network.backward > 0, 1.0, np.inf)
    if reverse:
        along, against = against, along
    tails = np.concatenate([network.start, network.end])
    heads = np.concatenate([network.end, network.start])
    costs = np.concatenate([along * network.metres, against * network.metres])
    useful = np.flatnonzero(np.isfinite(costs) & (tails != heads))
    useful = useful[np.argsort(tails[useful], kind="stable")]
    degree = np.bincount(tails[useful], minlength=len(network.lonlat))
    return Graph(
        first_arc=np.concatenate([[0], np.cumsum(degree)]).astype(np.int64),
        arc_head=heads[useful],
        arc_cost=costs[useful],
        start=network.start,
        end=network.end,
        metres=network.metres,
        along=along,
        against=against,
        pace=0.06 / pace if measure == "minutes" else 1.0,
    )


def cost_table(
    graph_of: Callable[[bool], Graph],
    rows: Joined,
    columns: Joined,
    *,
    direction: str = "there",
    limit: float | None = None,
    dtype: npt.DTypeLike = np.float64,
    progress: Progress | None = None,
) -> npt.NDArray[Any]:
    """The cost of the cheapest path between every row and every column.

    The search starts from whichever are fewer; from the columns, it runs backwards.

    Parameters
    ----------
    graph_of : callable
        Returns the graph, or the reversed one for True.
    rows, columns : Joined
        Places.
    direction : {"there", "back"}
        From the rows to the columns, or from the columns to the rows.
    limit : float, optional
        More expensive paths are not searched and become infinite.
    dtype : dtype
        float64 or float32.
    progress : callable, optional
        Called with the fraction done and a sentence; an exception it raises stops the work.
    """
    if direction not in DIRECTIONS:
        msg = f"direction must be “there” or “back”, not {direction!r}."
        raise StreetsError(msg)
    if limit is not None and not limit > 0:
        msg = f"limit must be above 0, not {limit!r}."
        raise StreetsError(msg)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        msg = f"dtype must be float64 or float32, not {kind}."
        raise StreetsError(msg)
    if len(rows) * len(columns) * kind.itemsize > LARGEST_TABLE:
        msg = (
            f"A table of {len(rows):,} × {len(columns):,} would take more than {LARGEST_TABLE >> 30} GB. "
            "Use dtype=float32, or fewer places."
        )
        raise StreetsError(msg)
    swap = len(columns) < len(rows)
    sources, targets = (columns, rows) if swap else (rows, columns)
    graph = graph_of(swap != (direction == "back"))
    table = np.empty((len(rows), len(columns)), dtype=kind)
    if table.size == 0:
        return table
    most = np.inf if limit is None else float(limit)

    def run(part: slice) -> int:
        """Search from some of the sources and fill their part of the table."""
        out = np.empty((len(sources.edge[part]), len(targets)))
        _search(graph, sources.take(part), targets, most, out)
        if swap:
            table[:, part] = out.T
        else:
            table[part] = out
        return len(out)

    # Parts for every thread, short enough to be cancelled soon and narrow enough for memory.
    size = max(1, min(BLOCK // (len(graph.first_arc) + len(targets)), len(sources) // (os.cpu_count() or 1)))
    parts = [slice(begin, begin + size) for begin in range(0, len(sources), size)]
    _run_all(run, parts, len(sources), never_falling(progress))
    return table


def _search(graph: Graph, sources: Joined, targets: Joined, limit: float, out: Floats) -> None:
    """Fill `out` with the costs from every source to every target."""
    from tkm_core.streets.compiled import search  # numba is loaded only when it is needed

    search(
        graph.first_arc, graph.arc_head, graph.arc_cost,
        graph.start, graph.end, graph.metres, graph.along, graph.against,
        sources.edge, sources.at, sources.metres * graph.pace, sources.xy,
        targets.edge, targets.at, targets.metres * graph.pace, targets.xy,
        graph.pace, limit, out,
    )  # fmt: skip


def _run_all(run: Callable[[slice], int], parts: list[slice], total: int, progress: Progress) -> None:
    """Run the parts on all cores and report progress; an error or a cancellation stops the rest."""
    done = 0
    threads = min(os.cpu_count() or 1, len(parts))
    with ThreadPoolExecutor(threads, thread_name_prefix="streets") as pool:
        waiting = {pool.submit(run, part) for part in parts}
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                done += sum(future.result() for future in ended)
                progress(done / total, f"Travel times: {done:,} of {total:,} places")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
