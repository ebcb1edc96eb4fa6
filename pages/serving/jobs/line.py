"""The line before workers and the server's own threads: what share of it each may have, and whose turn is next."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from pages.serving.jobs.asker import Asker
from pages.serving.jobs.problems import BUSY, BUSY_ADDRESS, BUSY_VISITOR, BusyError

MOST_OF_VISITOR = 4  # jobs of one visitor that may wait: a page asks for one or two at a time


class Waiting(Protocol):
    """Something that waits on behalf of somebody."""

    asker: Asker


W = TypeVar("W", bound=Waiting)


class Line(Generic[W]):
    """Jobs, or turns, that wait. Addresses take turns, and the visitors of an address take turns within its own.

    Whoever has the fewest jobs running comes first, then who was served longest ago. The pool holds its lock around
    every call.

    Parameters
    ----------
    most : int
        Jobs that may wait; of one address half of them, so that an office behind one address still gets in, but
        never has the line to itself.
    most_running : int
        Jobs of one address that may run at once.
    of_visitor : int
        Jobs of one visitor that may wait.

    Examples
    --------
    >>> from pages.serving.jobs.job import Job
    >>> line = Line(100, 1)
    >>> flood = [Job(i, print, (), {}, Asker("Eve", "203.0.113.7")) for i in range(3)]
    >>> ann = Job("plan", print, (), {}, Asker("Ann", "198.51.100.4"))
    >>> for job in (*flood, ann):
    ...     line.join(job)
    >>> [line.place(job) for job in (*flood, ann)]
    [0, 2, 3, 1]
    """

    def __init__(self, most: int, most_running: int, of_visitor: int = MOST_OF_VISITOR) -> None:
        self.most, self.most_running = most, most_running
        self.of_address = max(1, most // 2)
        self.of_visitor = min(of_visitor, self.of_address)
        self.running: set[W] = set()
        self._waiting: dict[W, None] = {}  # in the order they came
        self._busy: Counter[Hashable] = Counter()  # jobs that run, by visitor and by address
        self._served: dict[Hashable, int] = {}  # the turn at which each was last served
        self._turn = 0
        self._order: list[W] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[W]:
        return iter(list(self._waiting))

    def crowded_by(self, asker: Asker) -> list[W]:
        """The jobs of a visitor whose share of the line is full; none as long as it is not."""
        own = [job for job in self._waiting if job.asker == asker]
        return own if len(own) >= self.of_visitor else []

    def join(self, job: W) -> None:
        """Take a job into the line, unless it runs already.

        Raises
        ------
        BusyError
            If the line is full, or the visitor's or the address's share of it is.
        """
        if job in self.running:
            return
        if job.asker.visitor and len(self) >= self.of_visitor:  # the server's own work has no share
            visitor = sum(other.asker == job.asker for other in self._waiting)
            if visitor >= self.of_visitor:
                raise BusyError(BUSY_VISITOR.format(waiting=visitor))
            address = sum(other.asker.address == job.asker.address for other in self._waiting)
            if address >= self.of_address:
                raise BusyError(BUSY_ADDRESS.format(waiting=address))
        if len(self) >= self.most:
            raise BusyError(BUSY.format(waiting=len(self)))
        self._waiting[job] = None
        self._order = None

    def also_for(self, job: W, asker: Asker) -> None:
        """Somebody else asks for a job that waits: it counts for whoever's turn is sooner."""
        if job not in self._waiting or job.asker == asker:
            return
        first, before = job.asker, self.place(job)
        job.asker, self._order = asker, None
        if self.place(job) >= before:
            job.asker, self._order = first, None

    def place(self, job: W) -> int:
        """How many jobs are to be served before this one."""
        order = self._in_order()
        return order.index(job) if job in self._waiting else 0

    def next(self) -> W | None:
        """The job whose turn it is, if one may run."""
        order = self._in_order()  # fewest running first: if the first may not run, no other may
        return order[0] if order and self._busy[order[0].asker.address] < self.most_running else None

    def begin(self, job: W) -> None:
        """Let a job run, whether it waited or not; from then on it waits no more."""
        self._waiting.pop(job, None)
        self._order = None
        if job in self.running:
            return
        self._turn += 1
        self.running.add(job)
        for name in _names(job):
            self._busy[name] += 1
            self._served[name] = self._turn

    def leave(self, job: W) -> None:
        """A job has ended, in the line or with a worker."""
        self._waiting.pop(job, None)
        if job in self.running:
            self.running.remove(job)
            self._busy.subtract(_names(job))
        here = {name for other in (*self._waiting, *self.running) for name in _names(other)}
        for name in self._busy.keys() - here:  # whoever comes back later counts as new
            del self._busy[name]
            del self._served[name]
        self._order = None

    def _in_order(self) -> list[W]:
        """All that wait in the order in which they will be served, if nobody else comes."""
        if self._order is None:
            homes: dict[str, dict[Asker, list[W]]] = {}
            for job in self._waiting:
                homes.setdefault(job.asker.address, {}).setdefault(job.asker, []).append(job)
            within = {
                address: self._turns({asker: iter(jobs) for asker, jobs in visitors.items()})
                for address, visitors in homes.items()
            }
            self._order = list(self._turns(within))
        return self._order

    def _turns(self, queues: Mapping[Any, Iterator[W]]) -> Iterator[W]:
        """One job of each queue after the other: fewest running first, then the one served longest ago."""
        heap = [
            (self._busy[name], self._served.get(name, 0), number, queue)
            for number, (name, queue) in enumerate(queues.items())
        ]
        heapify(heap)
        for turn in count(self._turn + 1):
            if not heap:
                return
            busy, _, number, queue = heap[0]
            job = next(queue, None)
            if job is None:
                heappop(heap)
            else:
                yield job
                heapreplace(heap, (busy + 1, turn, number, queue))


def _names(job: W) -> tuple[Hashable, ...]:
    """The keys under which a job counts: its visitor's and its address's."""
    return job.asker, job.asker.address
