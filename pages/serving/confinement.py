"""Confine a process that reads visitors' files, so that code which a file managed to run in it can do little.

By Landlock (Linux 5.13 and newer), which every process can apply to itself for good: it then opens no file but those of
the program, writes only into its own temporary folder, starts no other program, and neither looks into nor changes
another process. So it reads neither the database nor a password, and leaves nothing behind that the server or another
reader would load. From Linux 6.7 on it has no TCP connections either, and from 6.12 on sends no signals.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CREATE, ADD, RESTRICT = 444, 445, 446  # system calls; their numbers are the same on every processor
VERSION = 1  # as a flag of CREATE: say which version of Landlock there is
BENEATH = 1  # a rule for a file, or for everything in a folder
NO_NEW_PRIVILEGES = 38
EXECUTE, WRITE, READ, LIST = 1, 2, 4, 8
LATER = {
    2: 1 << 13,
    3: 1 << 14,
    5: 1 << 15,
}  # rights that came with a version: move, truncate, control devices
FIRST = (1 << 13) - 1  # the rights of the first version
ON_FILES = EXECUTE | WRITE | READ | LATER[3] | LATER[5]  # the rights that a single file can have
NETWORK, SIGNALS = 4, 6  # the versions with which these came
# what the system's libraries look at; of the processes only itself
SYSTEM = (
    *("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/sys", "/dev/urandom"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/vm"),
)
WRITTEN = ("/dev/null", "/proc/self/oom_score_adj")


class _Rules(ctypes.Structure):
    """What is forbidden unless a rule allows it."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    """What is allowed in a folder."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


@cache
def version() -> int:
    """The version of Landlock here; 0 if there is none.

    >>> version() >= 0
    True
    """
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _libc().syscall(CREATE, None, ctypes.c_size_t(0), VERSION))


def confine(folder: Path) -> None:
    """Confine this process to the program's files and to one folder for its own; nothing happens without Landlock.

    It holds for threads and processes started from now on, not for threads that run already.

    Parameters
    ----------
    folder : Path
        Where it may write.

    Raises
    ------
    OSError
        If the system has Landlock and refuses to use it.
    """
    found = version()
    if not found:
        return
    everything = FIRST | sum(right for since, right in LATER.items() if found >= since)
    rules = _Rules(everything, 3 if found >= NETWORK else 0, 3 if found >= SIGNALS else 0)
    ruleset = _call(CREATE, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0)
    try:
        for path, rights in _allowed(folder):
            with suppress(FileNotFoundError):
                _allow(ruleset, path, rights & everything)
        _check(_libc().prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _call(RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    os.environ["JOBLIB_MULTIPROCESSING"] = "0"  # it would try to share memory, and complain


def _allowed(folder: Path) -> Iterator[tuple[str, int]]:
    """Each path with what may be done there, and in everything below it."""
    for path in SYSTEM:
        yield path, READ | LIST
    for path in WRITTEN:
        yield path, READ | WRITE | LATER[3]
    for path in filter(None, (sys.prefix, sys.base_prefix, os.environ.get("NUMBA_CACHE_DIR", ""))):
        yield path, READ | LIST
    for path in filter(None, sys.path):
        # not everything in the program's folder: the secrets for signing in may lie there, or the database
        yield path, LIST if ROOT.is_relative_to(Path(path).resolve()) else READ | LIST
    for package in ROOT.glob("*/__init__.py"):
        yield str(package.parent), READ | LIST
    yield str(folder), (FIRST | sum(LATER.values())) & ~EXECUTE


def _allow(ruleset: int, path: str, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        wanted = rights if Path(path).is_dir() else rights & ON_FILES
        _call(ADD, ruleset, BENEATH, ctypes.byref(_Rule(wanted, opened)), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    return _check(_libc().syscall(number, *arguments))


def _check(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
