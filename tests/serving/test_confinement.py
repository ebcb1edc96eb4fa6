"""A reader that was taken over reaches nothing of the server, and leaves nothing that anyone else would load."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.serving import confinement
from pages.serving.jobs import JobPool
from pages.serving.jobs.process import CONFINED
from tests.waiting import until
from tkm_core.clustering.compiled import kernel

ROOT = Path(__file__).parents[2]
TRIES = """
import json, os, signal, socket, subprocess, sys
from pathlib import Path
def tried(work):
    try:
        work()
    except PermissionError:
        return "refused"
    except OSError as problem:
        return str(problem)
    return "done"
def link_to(path):
    link = Path(os.environ["TMPDIR"]) / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    return link
ways = {
    "read": lambda path: Path(path).read_bytes(),
    "list": lambda path: os.listdir(path),
    "write": lambda path: Path(path).open("ab").close(),
    "make": lambda path: (Path(path) / "made").write_text("x"),
    "replace": lambda path: (Path(os.environ["TMPDIR"]) / "new").rename(path),
    "remove": lambda path: Path(path).unlink(),
    "truncate": lambda path: os.truncate(path, 0),
    "read through a link": lambda path: link_to(path).read_bytes(),
    "write through a link": lambda path: link_to(path).open("ab").close(),
    "run": lambda path: subprocess.run([path], check=True),
    "connect": lambda port: socket.create_connection(("127.0.0.1", int(port)), 5).close(),
    "signal": lambda pid: os.kill(int(pid), 0),
}
(Path(os.environ["TMPDIR"]) / "new").write_text("x")
print(json.dumps([tried(lambda: ways[way](what)) for way, what in json.loads(sys.argv[1])]))
"""

# the versions of Landlock that began to refuse these; all else is refused by the first
SINCE = {"truncate": 3, "connect": 4, "signal": 6}


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def tried(folder: Path, *tries: tuple[str, object], code: str = CONFINED, **variables: str) -> list[str]:
    """What comes of each try in a process that is confined as readers are."""
    own = folder / "own"
    own.mkdir(exist_ok=True)
    wanted = json.dumps([(way, str(what)) for way, what in tries])
    done = subprocess.run(
        [sys.executable, "-c", code + TRIES, wanted],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(own)} | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def refused(*tries: tuple[str, object]) -> list[str]:
    """What has to come of each try, by what this system's Landlock can refuse."""
    found = confinement.version()
    return ["refused" if found >= SINCE.get(way, 1) else "done" for way, _ in tries]


def test_a_confined_process_reads_and_writes_nothing_of_the_server(folder: Path) -> None:
    kept = folder / "evenreach.db"
    kept.write_text("where Ann lives")
    ways = ("read", "write", "replace", "remove", "read through a link", "write through a link", "truncate")
    tries: list[tuple[str, object]] = [(way, kept) for way in ways]
    assert tried(folder, *tries) == refused(*tries)
    if confinement.version() >= SINCE["truncate"]:
        assert kept.read_text() == "where Ann lives"
    # the secrets for signing in lie beside this file, in the program's own folder
    config = ROOT / ".streamlit" / "config.toml"
    tries = [("read", config), ("list", folder), ("make", folder)]
    assert tried(folder, *tries) == refused(*tries)
    own = [("make", folder / "own"), ("read", folder / "own" / "made"), ("list", folder / "own")]
    assert tried(folder, *own) == ["done"] * 3
    assert tried(folder, ("read", kept), ("write", kept), code="") == ["done"] * 2, (
        "it is not for another reason"
    )


def test_nothing_that_a_process_loads_can_be_written_by_a_confined_one(folder: Path) -> None:
    """Programs, libraries and compiled code, wherever they are kept."""
    asked = folder / "numba"
    (asked / "evenreach").mkdir(parents=True)
    code = asked / "evenreach" / "a.machine"
    code.write_text("x")
    loaded = [*filter(os.path.isdir, sys.path), ROOT, sys.prefix, *kernel.folders(), asked / "evenreach"]
    places = [place for place in loaded if Path(place).is_dir()]
    tries = [("make", place) for place in places]
    tries += [(way, file) for way in ("write", "replace", "remove") for file in (kernel.__file__, code)]
    assert tried(folder, *tries, NUMBA_CACHE_DIR=str(asked)) == ["refused"] * len(tries)
    assert (
        tried(folder, ("read", code), ("read", kernel.__file__), NUMBA_CACHE_DIR=str(asked)) == ["done"] * 2
    )


def test_a_confined_process_reaches_no_other_process(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        other = Path(f"/proc/{os.getpid()}")
        tries = [("read", other / name) for name in ("environ", "mem", "maps", "cmdline")]
        tries += [("connect", listening.getsockname()[1]), ("signal", os.getpid()), ("run", sys.executable)]
        assert tried(folder, *tries) == refused(*tries)
        assert tried(folder, *tries[-3:-1], ("read", "/proc/self/status"), code="") == ["done"] * 3


def test_every_thread_of_a_reader_is_confined_and_no_worker_is() -> None:
    """Confining holds for threads that start later; the flag that comes with it tells which did."""
    for single_use in (True, False):
        pool = JobPool(1, single_use=single_use, modules=("pages.serving.jobs.rehearsal",))
        try:
            until(pool._started.is_set)
            (staff,) = pool._staff.values()
            threads = [*Path(f"/proc/{staff.process.pid}/task").iterdir()]
            assert len(threads) > 1
            flags = {"NoNewPrivs:\t1" in (thread / "status").read_text() for thread in threads}
            assert flags == {single_use}
        finally:
            pool.close()
