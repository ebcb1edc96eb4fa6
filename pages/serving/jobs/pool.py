"""The pool: one line of jobs, a few workers, and everyone who waits for a job's result."""

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pages.serving.jobs import asker
from pages.serving.jobs.answers import AnswerError
from pages.serving.jobs.job import Job
from pages.serving.jobs.line import Line
from pages.serving.jobs.problems import CLOSED, NO_WORKER, PLANNING, JobError, Sentences
from pages.serving.jobs.process import Worker
from pages.serving.jobs.turns import resting
from pages.serving.jobs.wires import WIRES
from pages.serving.jobs.worker import CANCELLED, DONE, PROGRESS, READY, rest_of
from tkm_core.progress import Progress, silent

BEAT = 0.15  # seconds between two looks at a job by those who wait for it
HURRY = 0.5  # seconds it goes on where it is certain that whoever left will not come back
LINGER = 3.0  # seconds a job goes on without anyone: a page that is drawn anew asks again at once
GRACE = 2.0  # seconds a worker gets to stop by itself
GATHERING = 5  # times as long, if it has to gather what is finished
PATIENCE = 60.0  # seconds a worker gets to start


@dataclass(frozen=True)
class Health:
    """The state of the pool."""

    workers: int
    alive: int
    running: int
    waiting: int
    well: bool  # work can be done: a worker is there, or none is wanted


class JobPool:
    """Does jobs in a few processes; who asks for the same gets the same.

    Parameters
    ----------
    workers : int
        Processes; 0 does every job at once in the thread that asks.
    memory_mb : int
        What a worker may use; 0: as much as there is.
    most_waiting : int
        Jobs that may wait in line; see `Line` for the shares of it.
    seconds : float
        Longest time of one job.
    modules : sequence of str
        What workers import before their first job, so that it does not wait for it.
    sentences : Sentences
        What is said of a job that is lost or takes too long.
    single_use : bool
        Whether a worker ends after one job, so that the next finds nothing of the former; it is then not asked to
        stop but killed, confined to its own folder (see `confinement`), and what it sends is taken as plain data (see
        `wires`). Of several workers one address always leaves one to the others.

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
        seconds: float = 1_800,
        modules: Sequence[str] = (),
        sentences: Sentences = PLANNING,
        single_use: bool = False,
    ) -> None:
        self.workers, self.memory_mb, self.seconds = workers, memory_mb, seconds
        self.modules, self.sentences, self.single_use = tuple(modules), sentences, single_use
        self.wire = "data" if single_use else "pickled"
        self._jobs: dict[Hashable, Job] = {}
        self._line: Line[Job] = Line(most_waiting, max(1, workers - 1) if single_use else workers)
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
            with resting():
                while not job.finished.wait(BEAT):
                    tell(job.fraction, self._standing(job))
        finally:
            self._leave(job)
        if job.problem is not None:
            raise job.problem
        return job.result

    def give_up(self, key: Hashable) -> bool:
        """Say that whoever left a job will not come back; returns whether it runs and may leave a partial result."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.alone_since is None:
                return False
            job.alone_since = min(job.alone_since, time.monotonic() - LINGER + HURRY)
            return job.begun is not None

    def health(self) -> Health:
        """The state of the pool now."""
        with self._changed:
            staff = list(self._staff.values())
            # one that was ended after its job is being replaced
            alive = sum(worker.alive or (self.single_use and worker.ended) for worker in staff)
            well = self.workers == 0 or alive > 0
            return Health(self.workers, alive, len(self._line.running), len(self._line), well)

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
            job.write(outcome)
        return result

    def _ask(
        self,
        key: Hashable,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        about: Mapping[str, Any],
        rest: Callable[[Any], object] | None,
    ) -> Job:
        who = asker.current()
        with self._changed:
            if self._closed:
                raise JobError(CLOSED)
            job = self._jobs.get(key)
            if job is None:
                for left in self._line.crowded_by(who):  # what nobody waits for makes room
                    if not left.askers:
                        self._finish(left, "cancelled", problem=JobError(self.sentences.lost))
                job = Job(key, function, arguments, about, who, rest=rest)
                self._line.join(job)
                self._jobs[key] = job
                self._changed.notify()
            self._line.also_for(job, who)
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
            before = self._line.place(job)
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
            # after a lack of memory, what it was doing may be half done: a new one is sound
            if self.single_use or isinstance(problem, MemoryError):
                worker.end()
            self._finish(job, outcome, result=result, problem=problem, peak_mb=peak)
        if worker is not None:
            worker.end()

    def _hire(self, number: int) -> Worker | None:
        """Start a worker and wait until it has imported what it needs."""
        former = self._staff.get(number)
        if former is not None:
            former.end()  # what it left on the disk goes, however it ended
        try:
            worker = Worker(self.memory_mb, self.modules, self.wire, confined=self.single_use)
        except OSError:
            self._staff.pop(number, None)
            return None
        with self._changed:
            if self._closed:
                worker.end()
                return None
            self._staff[number] = worker
        with contextlib.suppress(EOFError, OSError):
            ready = worker.connection.poll(PATIENCE)
            if ready and WIRES[self.wire].receive(worker.connection, None)[0] == READY:
                self._started.set()
                return worker
        worker.end()
        self._staff.pop(number, None)
        return None

    def _next(self) -> Job | None:
        """The next job that someone still wants, if one comes within a second."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._line.next(), timeout=1.0)
            for unwanted in filter(self._given_up, self._line):
                self._finish(unwanted, "cancelled", problem=JobError(self.sentences.lost))
            job = None if self._closed else self._line.next()
            if job is not None:
                job.begun = time.monotonic()
                self._line.begin(job)
        return job

    def _through(self, worker: Worker, job: Job) -> tuple[str, Any, BaseException | None, int]:
        """Bring a job through its worker; returns the outcome, the result, the problem and the memory used."""
        started, stop_by, why = time.monotonic(), float("inf"), ""
        # one that was taken over by its file may stop in the middle of a message
        patience = threading.Timer(self.seconds + GRACE, worker.cut_off)
        if self.single_use:
            patience.start()
        try:
            worker.connection.send((job.function, job.arguments))
            while True:
                if worker.connection.poll(BEAT):
                    kind, *told = WIRES[self.wire].receive(worker.connection, job.function)
                    if kind != PROGRESS:
                        return self._answer(job, kind, told[0], told[1], why)
                    job.fraction, job.text = told
                now = time.monotonic()
                if not why:
                    late = now - started > self.seconds
                    why = "too long" if late else "cancelled" if self._given_up(job) else ""
                    if why:
                        stop_by = now + self._grace(job)
                        worker.connection.send((None, ()))
                if now >= stop_by:
                    worker.end()
                    return self._answer(job, CANCELLED, None, 0, why)
        except (EOFError, OSError, AnswerError):
            worker.end()
            return "lost", None, JobError(self.sentences.lost), 0
        except Exception as problem:  # noqa: BLE001  what cannot be sent or read back must not end the desk
            worker.end()
            return "failed", None, problem, 0
        finally:
            patience.cancel()

    def _answer(
        self, job: Job, kind: str, what: Any, peak: int, why: str
    ) -> tuple[str, Any, BaseException | None, int]:
        if kind == DONE:
            return "done", what, None, peak
        if kind == CANCELLED:
            if job.rest is not None and what is not None:
                job.rest(what)
            said = self.sentences.too_long if why == "too long" else self.sentences.lost
            return why, None, JobError(said.format(limit=_in_words(self.seconds))), peak
        return "out of memory" if isinstance(what, MemoryError) else "failed", None, what, peak

    def _grace(self, job: Job) -> float:
        """Seconds a worker gets to stop a job by itself."""
        if self.single_use:
            return 0.0
        return GRACE if job.rest is None else GRACE * GATHERING

    def _given_up(self, job: Job) -> bool:
        """Whether nobody wants a job any more; if so, whoever asks from now on gets a new one."""
        with self._changed:
            if job.alone_for() <= LINGER:
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
            self._line.leave(job)
            self._changed.notify_all()  # another of the same address may run now
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]
            job.result, job.problem, job.arguments = result, problem, ()
            job.finished.set()
        job.write(outcome, peak_mb)


def _in_words(seconds: float) -> str:
    """A length of time; minutes where they are whole.

    >>> _in_words(60), _in_words(90), _in_words(1800)
    ('60 seconds', '90 seconds', '30 minutes')
    """
    return f"{seconds / 60:g} minutes" if seconds > 60 and seconds % 60 == 0 else f"{seconds:g} seconds"
