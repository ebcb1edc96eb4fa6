"""The pool: one line of jobs, a few workers, and everyone who waits for a job's result."""

import contextlib
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tkm_core.jobs.problems import BUSY, CLOSED, LOST, NO_WORKER, TOO_LONG, BusyError, JobError
from tkm_core.jobs.process import Worker
from tkm_core.jobs.worker import CANCELLED, DONE, PROGRESS, READY, rest_of
from tkm_core.progress import Progress, silent

BEAT = 0.15  # seconds between two looks at a job by those who wait for it
HURRY = 0.5  # seconds it goes on where it is certain that whoever left will not come back
LINGER = 3.0  # seconds a job goes on without anyone: a page that is drawn anew asks again at once
GRACE = 2.0  # seconds a worker gets to stop by itself
GATHERING = 5  # times as long, if it has to gather what is finished
PATIENCE = 60.0  # seconds a worker gets to start

log = logging.getLogger("evenreach.jobs")


@dataclass(eq=False)
class Job:
    """One piece of work, and what is known of it."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    about: Mapping[str, Any]
    asked: float = field(default_factory=time.monotonic)
    begun: float | None = None
    fraction: float = 0.0
    text: str = ""
    askers: int = 0
    alone_since: float | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    problem: BaseException | None = None
    rest: Callable[[Any], object] | None = None

    def unwanted(self) -> bool:
        """Whether nobody has waited for it for a while."""
        return self.alone_since is not None and time.monotonic() - self.alone_since > LINGER


@dataclass(frozen=True)
class Health:
    """How the pool is."""

    workers: int
    alive: int
    running: int
    waiting: int

    @property
    def well(self) -> bool:
        """Whether work can be done: a worker is there, or none is wanted."""
        return self.workers == 0 or self.alive > 0


class JobPool:
    """Does jobs in a few processes; who asks for the same gets the same.

    Parameters
    ----------
    workers : int
        Processes; 0 does every job at once in the thread that asks.
    memory_mb : int
        What a worker may use; 0: as much as there is.
    most_waiting : int
        Jobs that may wait in line.
    minutes : float
        Longest time of one job.
    modules : sequence of str
        What workers import before their first job, so that it does not wait for it.

    Examples
    --------
    >>> from statistics import fmean
    >>> pool = JobPool(0)
    >>> pool.run("mean", lambda values, progress: fmean(values), [1, 2, 6], about={"job": "mean"})
    3.0
    """

    def __init__(
        self,
        workers: int,
        *,
        memory_mb: int = 0,
        most_waiting: int = 40,
        minutes: float = 30,
        modules: Sequence[str] = (),
    ) -> None:
        self.workers, self.memory_mb, self.most_waiting = workers, memory_mb, most_waiting
        self.minutes, self.modules = minutes, tuple(modules)
        self._jobs: dict[Hashable, Job] = {}
        self._line: OrderedDict[int, Job] = OrderedDict()
        self._running: set[int] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._started = threading.Event()
        self._staff: dict[int, Worker] = {}
        self._desks = [
            threading.Thread(target=self._desk, args=(number,), name=f"desk-{number}", daemon=True)
            for number in range(workers)
        ]
        for desk in self._desks:
            desk.start()

    def run(
        self,
        key: Hashable,
        function: Callable[..., Any],
        *arguments: Any,
        about: Mapping[str, Any],
        progress: Progress | None = None,
        small: bool = False,
        rest: Callable[[Any], object] | None = None,
    ) -> Any:
        """Do a job, or join those who wait for the same one.

        Parameters
        ----------
        key : hashable
            Everything the result depends on.
        function : callable
            Called with the arguments and ``progress=``, in another process: it must be importable by name.
        *arguments
            Sent to the worker.
        about : mapping
            What the log says about the job: what and how large, never who or what names.
        progress : callable, optional
            Called in this thread several times a second with a fraction and a text, the place in line included.
            An exception raised in it leaves the job; when all have left, it is cancelled.
        small : bool
            Whether it takes so little that it is done in this thread until the first worker has started.
        rest : callable, optional
            Called with what was finished of a cancelled job, if its function says so (see `leave_rest`).

        Raises
        ------
        JobError
            If the worker was lost or the line is full. What the function raises is raised here, too.
        """
        tell = progress or silent
        if self.workers == 0 or (small and not self._started.is_set()):
            return self._here(function, arguments, about, tell, rest)
        job = self._ask(key, function, arguments, about, rest)
        try:
            while not job.finished.wait(BEAT):
                tell(job.fraction, self._standing(job))
        finally:
            self._leave(job)
        if job.problem is not None:
            raise job.problem
        return job.result

    def give_up(self, key: Hashable) -> bool:
        """Say that whoever left a job will not come back; returns whether it runs and so may leave a rest."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.alone_since is None:
                return False
            job.alone_since = min(job.alone_since, time.monotonic() - LINGER + HURRY)
            return job.begun is not None

    def health(self) -> Health:
        """How the pool is now."""
        with self._changed:
            alive = sum(worker.alive for worker in list(self._staff.values()))
            return Health(self.workers, alive, len(self._running), len(self._line))

    def close(self) -> None:
        """End all workers; whoever still waits is told."""
        with self._changed:
            self._closed = True
            jobs = list(self._jobs.values())
            self._changed.notify_all()
        for worker in list(self._staff.values()):
            worker.end()
        for job in jobs:
            self._finish(job, "closed", problem=JobError(CLOSED))
        for desk in self._desks:
            desk.join(GRACE)

    # what happens in the thread of whoever asks

    def _here(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        about: Mapping[str, Any],
        tell: Progress,
        rest: Callable[[Any], object] | None,
    ) -> Any:
        job = Job(None, function, arguments, about, begun=time.monotonic())
        outcome = "cancelled"  # unless it ends in another way: its asker has left
        try:
            result = function(*arguments, progress=tell)
            outcome = "done"
        except BaseException as problem:
            if rest is not None and rest_of(problem) is not None:
                rest(rest_of(problem))
            elif isinstance(problem, Exception):
                outcome = "failed"
            raise
        finally:
            _write(job, outcome)
        return result

    def _ask(
        self,
        key: Hashable,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        about: Mapping[str, Any],
        rest: Callable[[Any], object] | None,
    ) -> Job:
        with self._changed:
            if self._closed:
                raise JobError(CLOSED)
            job = self._jobs.get(key)
            if job is None:
                if len(self._line) >= self.most_waiting:
                    raise BusyError(BUSY.format(waiting=len(self._line)))
                job = self._jobs[key] = Job(key, function, arguments, about, rest=rest)
                self._line[id(job)] = job
                self._changed.notify()
            job.askers += 1
            job.alone_since = None
        return job

    def _leave(self, job: Job) -> None:
        with self._changed:
            job.askers -= 1
            if job.askers == 0:
                job.alone_since = time.monotonic()

    def _standing(self, job: Job) -> str:
        """How far a job is, in a few words."""
        with self._changed:
            if job.begun is not None:
                return job.text or "starting"
            before = list(self._line).index(id(job)) if id(job) in self._line else 0
        if before == 0:
            return "next in line"
        return f"waiting in line, {before} {'job' if before == 1 else 'jobs'} before it"

    # what happens at the desk of a worker

    def _desk(self, number: int) -> None:
        """Give one worker its jobs, and replace it when it is lost."""
        worker = None
        while not self._closed:
            if worker is None or not worker.alive:
                worker = self._hire(number)
            job = self._next()
            if job is None:
                continue
            if worker is None or not worker.alive:  # lost while it had nothing to do
                worker = self._hire(number)
            if worker is None:
                self._finish(job, "failed", problem=JobError(NO_WORKER))
                continue
            outcome, result, problem, peak = self._through(worker, job)
            if isinstance(problem, MemoryError):  # what it was doing may be half done: a new one is sound
                worker.end()
            self._finish(job, outcome, result=result, problem=problem, peak_mb=peak)
        if worker is not None:
            worker.end()

    def _hire(self, number: int) -> Worker | None:
        """Start a worker and wait until it has imported what it needs."""
        try:
            worker = Worker(self.memory_mb, self.modules)
        except OSError:
            return None
        with self._changed:
            if self._closed:
                worker.end()
                return None
            self._staff[number] = worker
        with contextlib.suppress(EOFError, OSError):
            if worker.connection.poll(PATIENCE) and worker.connection.recv()[0] == READY:
                self._started.set()
                return worker
        worker.end()
        return None

    def _next(self) -> Job | None:
        """The next job that someone still wants, if one comes within a second."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._line, timeout=1.0)
            unwanted = [one for one in self._line.values() if self._given_up(one)]
            for one in unwanted:
                del self._line[id(one)]
            job = self._line.popitem(last=False)[1] if self._line and not self._closed else None
            if job is not None:
                job.begun = time.monotonic()
                self._running.add(id(job))
        for one in unwanted:
            self._finish(one, "cancelled", problem=JobError(LOST))
        return job

    def _through(self, worker: Worker, job: Job) -> tuple[str, Any, BaseException | None, int]:
        """Bring a job through its worker; returns the outcome, the result, the problem and the memory used."""
        started, stop_by, why = time.monotonic(), float("inf"), ""
        try:
            worker.connection.send((job.function, job.arguments))
            while True:
                if worker.connection.poll(BEAT):
                    kind, *told = worker.connection.recv()
                    if kind != PROGRESS:
                        return self._answer(job, kind, told[0], told[1], why)
                    job.fraction, job.text = told
                now = time.monotonic()
                if not why:
                    late = now - started > 60 * self.minutes
                    why = "too long" if late else "cancelled" if self._given_up(job) else ""
                    if why:
                        stop_by = now + GRACE * (1 if job.rest is None else GATHERING)
                        worker.connection.send((None, ()))
                if now > stop_by:
                    worker.end()
                    return self._answer(job, CANCELLED, None, 0, why)
        except (EOFError, OSError):
            worker.end()
            return "lost", None, JobError(LOST), 0
        except Exception as problem:  # noqa: BLE001  what cannot be sent or read back must not end the desk
            worker.end()
            return "failed", None, problem, 0

    def _answer(
        self, job: Job, kind: str, what: Any, peak: int, why: str
    ) -> tuple[str, Any, BaseException | None, int]:
        if kind == DONE:
            return "done", what, None, peak
        if kind == CANCELLED:
            if job.rest is not None and what is not None:
                job.rest(what)
            sentence = TOO_LONG.format(minutes=f"{self.minutes:g}") if why == "too long" else LOST
            return why, None, JobError(sentence), peak
        return "out of memory" if isinstance(what, MemoryError) else "failed", None, what, peak

    def _given_up(self, job: Job) -> bool:
        """Whether nobody wants a job any more; if so, whoever asks from now on gets a new one."""
        with self._changed:
            if not job.unwanted():
                return False
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]
            return True

    def _finish(
        self,
        job: Job,
        outcome: str,
        *,
        result: Any = None,
        problem: BaseException | None = None,
        peak_mb: int = 0,
    ) -> None:
        with self._changed:
            if job.finished.is_set():
                return
            self._line.pop(id(job), None)
            self._running.discard(id(job))
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]
            job.result, job.problem, job.arguments = result, problem, ()
            job.finished.set()
        _write(job, outcome, peak_mb)


def _write(job: Job, outcome: str, peak_mb: int = 0) -> None:
    """One line a job: what and how long, never who."""
    now = time.monotonic()
    begun = now if job.begun is None else job.begun
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **job.about,
        "outcome": outcome,
        "waited_s": max(0.0, round(begun - job.asked, 3)),
        "took_s": round(now - begun, 3),
    }
    if peak_mb:
        line["worker_peak_mb"] = peak_mb
    if outcome == "failed" and job.problem is not None:
        line["error"] = type(job.problem).__name__
    log.info(json.dumps(line))
