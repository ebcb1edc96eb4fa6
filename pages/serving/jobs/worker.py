"""A worker: a process that does one job after the other, at low priority and within a limit of memory.

The pool starts it as a plain process: ``multiprocessing`` would import the server's main script in it again.
"""

import contextlib
import errno
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pages.serving.jobs.wires import Wire

if sys.platform != "win32":
    import resource

# pages come first where cores are short, but somebody watches while a file is read
NICE = {"pickled": 10, "data": 4}
BEAT = 0.05  # seconds between two reports of progress: more often only costs

READY, PROGRESS, DONE, FAILED, CANCELLED = "ready", "progress", "done", "failed", "cancelled"
NO_MEMORY = (
    "There is not enough memory on this server for this much work. "
    "Try it with fewer residents or fewer facilities, or ask whoever runs the server for more memory."
)

NO_ROOM = (
    "The server's disk is full, so this could not be finished. Nothing was lost; "
    "please tell whoever runs the server, and try again later."
)


class CancelledJobError(Exception):
    """Nobody waits for the job any more."""


def leave_rest(wish: BaseException, rest: Any) -> None:
    """Put what is finished into the exception by which a job is stopped, before it is raised again."""
    wish.rest = rest  # type: ignore[attr-defined]


def rest_of(wish: BaseException) -> Any:
    """What was finished when a job was stopped, or None."""
    return getattr(wish, "rest", None)


def sendable(problem: Exception) -> Exception:
    """The same problem if whoever waits can read it back, or else one of Python's own with the same sentence."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301 - our own, dumped a moment ago
    except Exception:  # noqa: BLE001 - whatever its class does when it is read
        if isinstance(problem, ValueError):
            return ValueError(str(problem))
        return RuntimeError(f"{type(problem).__name__}: {problem}"[:500])
    return problem


def limit(memory_mb: int) -> None:
    """A bound on memory, and the first to go where the whole machine runs out of it."""
    with contextlib.suppress(OSError):  # not on every system
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")
    if memory_mb:
        # DATA, not AS: threads and compiled code reserve far more addresses than they ever fill
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * 2**20, memory_mb * 2**20))


def peak_mb() -> int:
    """Most memory this process has used so far, in megabytes."""
    with contextlib.suppress(OSError):
        # not from getrusage: there a process begins with the most its parent has used
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        if found:
            return int(found[1]) // 2**10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // (2**20 if sys.platform == "darwin" else 2**10)


class Desk:
    """The worker's end of the connection."""

    def __init__(self, connection: Connection, wire: "Wire") -> None:
        self.connection, self.wire = connection, wire
        self._told = 0.0

    def send(self, *message: Any, of: Callable[..., Any] | None = None) -> None:
        """Send a message, which may be the result of a function."""
        self.wire.send(self.connection, message, of)

    def progress(self, fraction: float, text: str) -> None:
        """Pass on how far the job is, and stop it if nobody waits any more."""
        now = time.monotonic()
        if now - self._told < BEAT:
            return
        self._told = now
        if self.connection.poll():
            self.connection.recv()  # the only thing ever sent during a job
            raise CancelledJobError
        self.send(PROGRESS, float(fraction), str(text))

    def do(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Do a job; whatever happens in it becomes an answer."""
        try:
            return DONE, function(*arguments, progress=self.progress), peak_mb()
        except CancelledJobError as wish:
            return CANCELLED, rest_of(wish), peak_mb()
        except (MemoryError, SystemError):  # compiled code that gets no memory fails without saying why
            return FAILED, MemoryError(NO_MEMORY), peak_mb()
        except OSError as problem:
            # where nothing can be written at all, Python finds no temporary folder
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "temporary dir" in str(
                problem
            )
            return FAILED, ValueError(NO_ROOM) if full else problem, peak_mb()
        except Exception as problem:  # noqa: BLE001  a job's fault is an answer, not the worker's end
            return FAILED, sendable(problem), peak_mb()

    def serve(self) -> None:
        """Do jobs until the server hangs up."""
        self.send(READY, None, peak_mb())
        while True:
            try:
                function, arguments = self.connection.recv()
            except (EOFError, ConnectionError):
                return
            except MemoryError:
                self.send(FAILED, MemoryError(NO_MEMORY), peak_mb())
                continue
            except (ImportError, AttributeError) as problem:
                self.send(FAILED, problem, peak_mb())
                continue
            if function is None:  # a cancellation that came after its job's answer
                continue
            answer = self.do(function, arguments)
            del arguments  # before the answer is sent, which may take its size once more
            self._answer(answer, function)
            del answer

    def _answer(self, answer: tuple[Any, ...], function: Callable[..., Any]) -> None:
        try:
            self.send(*answer, of=function)
        except ConnectionError:
            raise
        except MemoryError:
            self.send(FAILED, MemoryError(NO_MEMORY), peak_mb())
        except Exception:  # noqa: BLE001  an answer that cannot be sent; what it says can
            text = f"{type(answer[1]).__name__}: {answer[1]}"
            self.send(FAILED, RuntimeError(text[:500]), peak_mb())


def leave_with(parent: int) -> None:
    """End when the server is gone, even in the middle of a job: it may have had no time to say so."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Serve the connection that the pool passed on: FD MEMORY_MB WIRE MODULE..., the modules to import beforehand."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers itself
    threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    limit(int(arguments[1]))
    with contextlib.suppress(MemoryError):  # then every job says so
        for name in arguments[3:]:
            import_module(name)
    from pages.serving.jobs import wires  # which needs the words above

    # only now: on a busy server it would take minutes to start, and whoever comes next would wait for it
    os.nice(NICE[arguments[2]])
    with contextlib.suppress(ConnectionError):
        Desk(Connection(int(arguments[0])), wires.WIRES[arguments[2]]).serve()
