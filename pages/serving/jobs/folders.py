"""Temporary folders of this server and its workers: private, and removed by whoever outlives their owner."""

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX, LOCK = "evenreach-server-", ".lock"
# where Python, GDAL and SQLite look for a place to write
VARIABLES = ("TMPDIR", "TMP", "TEMP", "CPL_TMPDIR", "SQLITE_TMPDIR")


_making = threading.Lock()


def root() -> Path:
    """The one folder for everything temporary of this server; what servers that were killed left is removed first.

    Only its owner can look into it. It goes when the process ends. A server that is killed has no time for that,
    but the system lets go of its lock, and so the next start knows.
    """
    with _making:
        return _root()


@cache
def _root() -> Path:
    sweep()
    made = Path(tempfile.mkdtemp(prefix=PREFIX))
    if sys.platform != "win32":
        lock = os.open(made / LOCK, os.O_RDWR | os.O_CREAT, 0o600)  # held open to the end of this process
        with contextlib.suppress(OSError):  # a file system without locks: then nobody ever sweeps it
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():  # another start saw it in the moment before it was locked
            os.close(lock)
            return _root()
    atexit.register(remove, made)
    return made


def make(purpose: str) -> Path:
    """A new folder in the server's own."""
    return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=root()))


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, if it is still there."""
    shutil.rmtree(folder, ignore_errors=True)


def temporary_here(folder: Path) -> Mapping[str, str]:
    """Environment variables by which a process puts everything temporary into a folder."""
    return dict.fromkeys(VARIABLES, str(folder))


def sweep() -> None:
    """Remove the folders of servers that no longer live."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _abandoned(folder):
            # a worker that has not yet noticed its server's end no longer finds its folder, and writes nothing new
            remove(folder.rename(folder.with_name(f"{folder.name}-gone")))


@contextlib.contextmanager
def _abandoned(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; an OSError says that its server lives, or that it is no folder of ours."""
    if sys.platform == "win32":
        msg = "there are no locks on Windows, and no workers either"
        raise OSError(msg)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(folder)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)
