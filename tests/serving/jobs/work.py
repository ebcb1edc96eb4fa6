"""Jobs for the tests: each does one thing that can happen to work."""

import os
import resource
import signal
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pages.serving.jobs.worker import leave_rest, peak_mb

if TYPE_CHECKING:
    from tkm_core.planning import Plan

Progress = Callable[[float, str], None]


def double(value: int, progress: Progress) -> int:
    progress(0.5, "half")
    return 2 * value


def count_calls(path: str, gate: str, progress: Progress) -> int:
    """Leave a mark for each call, so that calls can be counted from outside."""
    with Path(path).open("a") as file:
        file.write("called\n")
    wait(gate, progress)
    return os.getpid()


def wait(gate: str, progress: Progress) -> str:
    """Go on until a gate is opened."""
    while not Path(gate).exists():
        progress(0.5, "stepping")
        time.sleep(0.01)
    return "walked"


def when(gate: str, progress: Progress) -> float:
    """The time at which a gate that is waited for was found open."""
    wait(gate, progress)
    return time.monotonic()


def tell(times: int, progress: Progress) -> str:
    for number in range(times):
        progress(number / times, "stepping")
        time.sleep(0.05)
    return "told"


def steps(seconds: float, progress: Progress) -> str:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        progress(1 - left / seconds, "stepping")
        time.sleep(0.01)
    return "walked"


def deaf(seconds: float, progress: Progress) -> str:
    """Work that never looks up: no progress, no chance to stop it kindly."""
    time.sleep(seconds)
    return "slept"


def die(progress: Progress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def devour(megabytes: int, progress: Progress) -> float:
    return float(np.ones(megabytes * 2**17).sum())


def fail_silently(progress: Progress) -> None:
    """As compiled code does that gets no memory."""
    msg = "error return without exception set"
    raise SystemError(msg)


def write_on_full_disk(plan: "Plan", file_format: str, progress: Progress) -> bytes:
    """As on a disk that gets full on the way: no file may have more than 20,000 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    try:
        from pages.serving.jobs import documents  # not at the top: readers must not bring it along

        return documents._table(plan, 1, "allocations", file_format, progress)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Gone:
    """Sent as a bool: whether something is no longer in memory when it is sent."""

    def __init__(self, what: object) -> None:
        self.what = weakref.ref(what)

    def __reduce__(self) -> tuple[type, tuple[bool]]:
        return bool, (self.what() is None,)


def outlived(argument: set[int], progress: Progress) -> Gone:
    return Gone(argument)


def allocator(progress: Progress) -> str:
    """Which allocator Arrow uses here."""
    import pyarrow as pa

    return str(pa.default_memory_pool().backend_name)


def refuse(progress: Progress) -> None:
    msg = "9 facilities are too many for residents in 3 different places."
    raise ValueError(msg)


class UnpicklableError(Exception):
    def __init__(self) -> None:
        super().__init__("a problem that cannot be sent")
        self.held = lambda: None


class UnreadableError(ValueError):
    """It can be sent, but not read back: its class takes more than its sentence."""

    def __init__(self, sentence: str, rows: int) -> None:
        super().__init__(sentence)
        self.rows = rows


def refuse_oddly(progress: Progress) -> None:
    sentence = "only 4.25 miles are possible"
    raise UnreadableError(sentence, 3)


def fail_oddly(progress: Progress) -> None:
    raise UnpicklableError


def answer_oddly(progress: Progress) -> object:
    return lambda: None


def priority(progress: Progress) -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def pid(progress: Progress) -> int:
    return os.getpid()


def fill_disk(progress: Progress) -> None:
    """As on a full disk: no file may grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x" * 100_000)
            file.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def count_up(seconds: float, progress: Progress) -> list[int]:
    """Work in steps that leaves what is finished when it is cancelled."""
    done: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done.append(len(done))
        try:
            progress(0.5, "counting")
        except BaseException as wish:
            leave_rest(wish, done)
            raise
        time.sleep(0.06)
    return done


held: list[str] = []
born = os.nice(0)  # the priority with which this process started


def remember(secret: str, progress: Progress) -> tuple[int, list[str]]:
    """What earlier jobs left in the memory of this process, and this one leaves."""
    held.append(secret)
    return os.getpid(), list(held)


def priorities(progress: Progress) -> tuple[int, int]:
    """The priority of this process when it started, and now that it works."""
    return born, os.nice(0)


def leave_files(how: str, progress: Progress) -> str:
    """Put homes on the disk, as readers do that need a file, and come to an end in one of several ways."""
    folder = Path(tempfile.mkdtemp(prefix="residents-"))
    (folder / "residents.gpkg").write_text("where Ann lives")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "crashed":
        os.abort()
    if how == "refused":
        refuse(progress)
    if how == "endless":
        deaf(600, progress)
    return str(folder)


def places_to_write(progress: Progress) -> list[str]:
    """Where Python, GDAL and SQLite of this process put what is temporary."""
    return [tempfile.gettempdir(), os.environ["CPL_TMPDIR"], os.environ["SQLITE_TMPDIR"]]


def imported(progress: Progress) -> list[str]:
    return sorted(sys.modules)


def peak_and_inherited(progress: Progress) -> tuple[int, int]:
    """The most memory of this process, as the log says it and as the system counts it from its parent's on."""
    return peak_mb(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10


def speak(messages: list[bytes], progress: Progress) -> None:
    """Say anything to the server, as a reader can that was taken over, and then nothing for ever."""
    connection = Connection(os.dup(int(sys.argv[1])))
    for message in messages:
        connection.send_bytes(message)
    deaf(600, progress)


def stammer(progress: Progress) -> None:
    """Begin a message and never end it, also not in a process that outlives this one."""
    if os.fork():
        os.write(int(sys.argv[1]), b"\0\0\1\0" + b"{")
    deaf(600, progress)
