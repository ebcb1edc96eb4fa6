"""What is temporary never stays: not when a reader is killed or crashes, not when the server is."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.serving.jobs import JobError, JobPool, folders
from pages.serving.jobs import pool as pool_module
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT, GoneError, visitor
from tests.waiting import until

ROOT = Path(__file__).parents[3]
# a server that reads without end
SERVER = """
from tests.serving.jobs import work
from pages.serving.jobs import JobPool
JobPool(1, single_use=True).run("read", work.leave_files, "endless", about={"job": "read"})
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder for the servers of one test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folders._root.cache_clear()
    yield tmp_path
    folders._root.cache_clear()


def left(place: Path) -> list[str]:
    """Every file but the locks."""
    return [str(file) for file in place.rglob("*") if file.is_file() and file.name != folders.LOCK]


def server(place: Path) -> subprocess.Popen[bytes]:
    """Another server with the same temporary folder, in the middle of a read."""
    before = len(left(place))
    made = subprocess.Popen([sys.executable, "-c", SERVER], cwd=ROOT, env=os.environ | {"TMPDIR": str(place)})
    until(lambda: len(left(place)) > before)
    return made


@pytest.mark.parametrize("how", ["killed", "crashed"])
@pytest.mark.parametrize("single_use", [True, False])
def test_nothing_stays_of_a_reader_that_is_killed_or_crashes(place: Path, how: str, single_use: bool) -> None:
    pool = JobPool(1, single_use=single_use)
    with pytest.raises(JobError):
        pool.run(how, work.leave_files, how, about=ABOUT)
    assert left(place) == []
    pool.close()
    assert [folder.name for folder in folders.root().iterdir()] == [folders.LOCK]


def test_nothing_stays_of_a_worker_killed_between_two_jobs(place: Path) -> None:
    pool = JobPool(1)
    assert Path(pool.run("read", work.leave_files, "done", about=ABOUT)).is_relative_to(folders.root())
    (worker,) = pool._staff.values()
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    pool.run("after", work.pid, about=ABOUT)
    assert left(place) == []
    pool.close()


@pytest.mark.parametrize("how", ["done", "refused"])
def test_nothing_stays_of_a_read(place: Path, how: str) -> None:
    pool = JobPool(1, single_use=True)
    try:
        pool.run(how, work.leave_files, how, about=ABOUT)
    except ValueError as told:
        assert "too many" in str(told)
    assert left(place) == []
    pool.close()


def test_nothing_stays_of_a_read_that_is_left_or_takes_too_long(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "LINGER", 0.1)
    pool = JobPool(1, single_use=True, seconds=2)
    with pytest.raises(JobError, match="longer than the 2 seconds"):
        pool.run("long", work.leave_files, "endless", about=ABOUT)
    assert left(place) == []
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        pool.run("left", work.leave_files, "endless", about=ABOUT, progress=progress)
    until(lambda: pool.health().running == 0 and pool.health().waiting == 0)
    assert left(place) == []
    pool.close()


def test_the_next_start_removes_what_a_killed_server_left(place: Path) -> None:
    killed, lives = server(place), server(place)
    try:
        assert len(left(place)) == 2
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        own = folders.root()  # as at a start, while the killed server's reader may not know yet
        (kept,) = left(place)
        assert lives.poll() is None
        assert sorted(folder for folder in place.iterdir() if folder != own) == [
            next(folder for folder in place.iterdir() if Path(kept).is_relative_to(folder))
        ]
        time.sleep(1.5)  # by now the reader of the killed server has ended, and has written nothing more
        assert left(place) == [kept]
    finally:
        lives.kill()
        lives.wait()
    folders.sweep()
    assert left(place) == []


def test_a_server_that_ends_leaves_nothing(place: Path) -> None:
    code = (
        "from tests.serving.jobs import work; from pages.serving.jobs import JobPool; "
        "JobPool(1).run('p', work.pid, about={})"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"TMPDIR": str(place)}, check=True
    )
    assert list(place.iterdir()) == []


def test_everything_temporary_of_a_worker_is_in_one_private_folder(place: Path) -> None:
    pool = JobPool(1)
    found = {Path(name) for name in pool.run("places", work.places_to_write, about=ABOUT)}
    assert len(found) == 1
    (folder,) = found
    assert folder.parent == folders.root()
    for private in (folder, folders.root()):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    pool.close()


def test_folders_of_others_are_left_alone(place: Path) -> None:
    """One that only has such a name, and one that a link makes look like a server's."""
    named, elsewhere = place / f"{folders.PREFIX}notes", place / "elsewhere"
    for folder in (named, elsewhere):
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    (elsewhere / folders.LOCK).touch()
    (place / f"{folders.PREFIX}link").symlink_to(elsewhere)
    folders.sweep()
    assert sorted(Path(name).name for name in left(place)) == ["notes.txt"] * 2


def test_a_worker_that_cannot_start_leaves_no_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(place / "no such program"))
    pool = JobPool(1)
    with pytest.raises(JobError, match="could not start a process"):
        pool.run("none", work.pid, about=ABOUT)
    assert not pool.health().well
    pool.close()
    assert [folder.name for folder in folders.root().iterdir()] == [folders.LOCK]
