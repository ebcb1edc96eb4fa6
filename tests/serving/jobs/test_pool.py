"""The pool, with every fault that can befall a job made to happen."""

import json
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from pickle import PicklingError

import numpy as np
import pytest

from pages.serving.jobs import BusyError, JobError, JobPool
from pages.serving.jobs import pool as pool_module
from pages.serving.jobs.worker import sendable
from tests.serving.jobs import work
from tests.waiting import PATIENCE, Gate, until
from tkm_core.methods import MethodTooLargeError, estimate
from tkm_core.sites import UnreachableError

ABOUT = {"job": "test"}


@pytest.fixture(scope="module")
def pool() -> Iterator[JobPool]:
    made = JobPool(2, memory_mb=700)
    yield made
    made.close()


@pytest.fixture
def one() -> Iterator[JobPool]:
    made = JobPool(1, most_waiting=3)
    yield made
    made.close()


@pytest.fixture
def people() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as threads:
        yield threads


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "LINGER", 0.2)
    monkeypatch.setattr(pool_module, "GRACE", 0.5)


class GoneError(Exception):
    """What a browser that goes away does to whoever waits."""


def visitor() -> tuple[Callable[[float, str], None], threading.Event, list[tuple[float, str]]]:
    """Progress that records what it is told, and leaves when the event is set."""
    leave, told = threading.Event(), []

    def progress(fraction: float, text: str) -> None:
        told.append((fraction, text))
        if leave.is_set():
            raise GoneError

    return progress, leave, told


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """What work waits for; open at the end, whatever happened."""
    made = Gate(tmp_path)
    yield made
    made.open()


def occupied(one: JobPool, people: ThreadPoolExecutor, gate: Gate, key: str = "first") -> Future[object]:
    """Work that keeps the only worker until the gate is opened."""
    one.run("warm", work.pid, about=ABOUT)
    waiting = people.submit(one.run, key, work.wait, gate.path, about=ABOUT)
    until(lambda: one.health().running == 1)
    return waiting


def test_a_job_is_done_elsewhere_at_low_priority(pool: JobPool) -> None:
    assert pool.run("double", work.double, 21, about=ABOUT) == 42
    assert pool.run("pid", work.pid, about=ABOUT) != os.getpid()
    assert pool.run("priority", work.priority, about=ABOUT) > os.getpriority(os.PRIO_PROCESS, 0)


def test_without_workers_the_same_is_done_here() -> None:
    assert JobPool(0).run("pid", work.pid, about=ABOUT) == os.getpid()
    with pytest.raises(ValueError, match="9 facilities are too many"):
        JobPool(0).run("refuse", work.refuse, about=ABOUT)


def test_a_small_job_does_not_wait_for_the_first_worker(one: JobPool) -> None:
    assert one.run("pid", work.pid, about=ABOUT, small=True) == os.getpid()
    one.run("warm", work.pid, about=ABOUT)
    assert one.run("pid", work.pid, about=ABOUT, small=True) != os.getpid()


def test_progress_comes_through_and_rises(pool: JobPool) -> None:
    progress, _, told = visitor()
    pool.run("tell", work.tell, 20, about=ABOUT, progress=progress)
    shares = [share for share, text in told if text == "stepping"]
    assert len(shares) >= 3
    assert shares == sorted(shares)
    assert shares[-1] > 0.5


def test_who_asks_for_the_same_gets_the_same(
    pool: JobPool, people: ThreadPoolExecutor, tmp_path: Path, gate: Gate
) -> None:
    marks = tmp_path / "calls"
    asked = [
        people.submit(pool.run, "shared", work.count_calls, str(marks), gate.path, about=ABOUT)
        for _ in range(8)
    ]
    until(lambda: "shared" in pool._jobs and pool._jobs["shared"].askers == 8)
    gate.open()
    assert len({future.result(PATIENCE) for future in asked}) == 1
    assert marks.read_text().split() == ["called"]


def test_place_in_line_is_told(one: JobPool, people: ThreadPoolExecutor, gate: Gate) -> None:
    one.run("warm", work.pid, about=ABOUT)
    seen: list[list[tuple[float, str]]] = []
    asked: list[Future[object]] = []
    for number in range(3):
        progress, _, told = visitor()
        seen.append(told)
        asked.append(people.submit(one.run, number, work.wait, gate.path, about=ABOUT, progress=progress))
        until(lambda told=told: bool(told))
    gate.open()
    assert [future.result(PATIENCE) for future in asked] == ["walked"] * 3
    assert seen[0][-1][1] == "stepping"
    assert seen[1][0][1] == "next in line"
    assert seen[2][0][1] == "waiting in line, 1 job before it"


def test_a_full_line_turns_away_with_a_sentence(one: JobPool, people: ThreadPoolExecutor, gate: Gate) -> None:
    asked = [occupied(one, people, gate)]
    asked += [people.submit(one.run, number, work.double, number, about=ABOUT) for number in range(3)]
    until(lambda: one.health().waiting == 3)
    with pytest.raises(BusyError, match=r"3 jobs are waiting already\. Please try again"):
        one.run("one too many", work.double, 1, about=ABOUT)
    gate.open()
    assert [future.result(PATIENCE) for future in asked] == ["walked", 0, 2, 4]


def test_what_the_work_refuses_is_said_in_its_own_words(pool: JobPool) -> None:
    with pytest.raises(ValueError, match="9 facilities are too many for residents in 3"):
        pool.run("refuse", work.refuse, about=ABOUT)
    with pytest.raises(RuntimeError, match="a problem that cannot be sent"):
        pool.run("oddly", work.fail_oddly, about=ABOUT)
    with pytest.raises(ValueError, match=r"only 4\.25 miles are possible"):
        pool.run("unread", work.refuse_oddly, about=ABOUT)
    with pytest.raises(RuntimeError, match="function"):
        pool.run("odd answer", work.answer_oddly, about=ABOUT)
    assert pool.run("after", work.double, 1, about=ABOUT) == 2


def test_the_problems_of_the_product_are_the_same_on_the_way_back() -> None:
    unreachable = pickle.loads(pickle.dumps(UnreachableError("There is no route.", np.array([3, 5]))))
    assert (str(unreachable), unreachable.rows.tolist()) == ("There is no route.", [3, 5])
    need = estimate("jkl", 10**7, 2, 5)
    assert pickle.loads(pickle.dumps(MethodTooLargeError(need))).estimate == need
    assert sendable(unreachable) is unreachable


def test_what_cannot_be_sent_harms_nobody(pool: JobPool) -> None:
    with pytest.raises((AttributeError, PicklingError), match="<lambda>"):
        pool.run("lambda", lambda progress: 1, about=ABOUT)
    assert pool.run("after", work.double, 1, about=ABOUT) == 2


def test_killed_worker_gives_one_a_sentence_and_the_others_their_results(
    pool: JobPool, people: ThreadPoolExecutor, gate: Gate
) -> None:
    other = people.submit(pool.run, "other", work.wait, gate.path, about=ABOUT)
    with pytest.raises(JobError, match=r"ended from outside .* Try again"):
        pool.run("die", work.die, about=ABOUT)
    gate.open()
    assert other.result(PATIENCE) == "walked"
    assert pool.run("after", work.double, 4, about=ABOUT) == 8
    until(lambda: pool.health().alive == 2)


def test_all_workers_killed_while_idle_are_replaced(pool: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    until(lambda: pool.health().alive == 2)
    killed = {worker.process.pid for worker in pool._staff.values()}
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_hire", lambda number: None)  # else new ones may be there before anyone looks
        for worker in list(pool._staff.values()):
            os.kill(worker.process.pid, signal.SIGKILL)
            worker.process.wait()
        assert not pool.health().well
    assert pool.run("after", work.pid, about=ABOUT) not in killed
    assert pool.health().well
    until(lambda: pool.health().alive == 2)


@pytest.mark.parametrize("way", ["devour", "fail_silently"])
def test_out_of_memory_is_a_sentence_and_the_next_job_finds_a_sound_worker(pool: JobPool, way: str) -> None:
    until(lambda: pool.health().alive == 2)
    how = {"devour": (work.devour, 2_000), "fail_silently": (work.fail_silently,)}[way]
    with pytest.raises(MemoryError, match=r"not enough memory on this server .* fewer residents"):
        pool.run(way, *how, about=ABOUT)
    assert pool.run("small", work.devour, 10, about=ABOUT) == 10 * 2**17
    until(lambda: pool.health().alive == 2)


@pytest.mark.usefixtures("impatient")
def test_work_nobody_waits_for_is_cancelled(one: JobPool) -> None:
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        one.run("left", work.steps, 60.0, about=ABOUT, progress=progress)
    until(lambda: one.health().running == 0 and one.health().waiting == 0)
    assert one.run("after", work.double, 1, about=ABOUT) == 2


def test_what_was_finished_of_cancelled_work_is_handed_on_at_once(
    one: JobPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "LINGER", 10 * PATIENCE)  # who will not come back is not waited for
    one.run("warm", work.pid, about=ABOUT)
    progress, leave, told = visitor()
    rests: list[list[int]] = []

    def counting(fraction: float, text: str) -> None:
        if text == "counting":
            leave.set()
        progress(fraction, text)

    with pytest.raises(GoneError):
        one.run("count", work.count_up, 60.0, about=ABOUT, progress=counting, rest=rests.append)
    assert one.give_up("count")
    until(lambda: not one.give_up("count") and bool(rests))  # saying it again delays nothing
    assert rests[0] == list(range(len(rests[0])))
    assert not one.give_up("count")
    assert told


def test_work_in_line_that_is_given_up_leaves_nothing(
    one: JobPool, people: ThreadPoolExecutor, gate: Gate
) -> None:
    first = occupied(one, people, gate)
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        one.run("second", work.count_up, 60.0, about=ABOUT, progress=progress)
    assert not one.give_up("second")
    gate.open()
    assert first.result(PATIENCE) == "walked"
    until(lambda: one.health().waiting == 0)


def test_nobody_else_loses_work_that_one_gave_up(
    one: JobPool, people: ThreadPoolExecutor, gate: Gate
) -> None:
    stays = occupied(one, people, gate, "both")
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        one.run("both", work.wait, gate.path, about=ABOUT, progress=progress)
    assert not one.give_up("both")
    gate.open()
    assert stays.result(PATIENCE) == "walked"


def test_without_workers_a_rest_is_handed_on_too() -> None:
    progress, leave, _ = visitor()
    leave.set()
    rests: list[list[int]] = []
    with pytest.raises(GoneError):
        JobPool(0).run("count", work.count_up, 60.0, about=ABOUT, progress=progress, rest=rests.append)
    assert rests == [[0]]


@pytest.mark.usefixtures("impatient")
def test_work_that_does_not_listen_is_killed(one: JobPool) -> None:
    until(lambda: one.health().alive == 1)
    first = one.run("pid", work.pid, about=ABOUT)
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        one.run("deaf", work.deaf, 60.0, about=ABOUT, progress=progress)
    assert one.run("pid", work.pid, about=ABOUT) != first


@pytest.mark.usefixtures("impatient")
def test_one_leaves_and_the_other_still_gets_it(
    pool: JobPool, people: ThreadPoolExecutor, tmp_path: Path, gate: Gate
) -> None:
    marks = tmp_path / "calls"
    progress, leave, told = visitor()
    leaves = people.submit(
        pool.run, "both", work.count_calls, str(marks), gate.path, about=ABOUT, progress=progress
    )
    until(lambda: bool(told))
    stays = people.submit(pool.run, "both", work.count_calls, str(marks), gate.path, about=ABOUT)
    until(lambda: pool._jobs["both"].askers == 2)
    leave.set()
    with pytest.raises(GoneError):
        leaves.result(PATIENCE)
    gate.open()
    assert stays.result(PATIENCE)
    assert marks.read_text().split() == ["called"]


def test_a_page_drawn_anew_finds_its_work_again(
    one: JobPool, tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rerun leaves and asks again at once: the work goes on."""
    monkeypatch.setattr(pool_module, "LINGER", PATIENCE)
    marks = tmp_path / "calls"
    until(lambda: one.health().alive == 1)
    progress, leave, _ = visitor()
    leave.set()
    with pytest.raises(GoneError):
        one.run("again", work.count_calls, str(marks), gate.path, about=ABOUT, progress=progress)
    gate.open()
    one.run("again", work.count_calls, str(marks), gate.path, about=ABOUT)
    assert marks.read_text().split() == ["called"]


def test_work_that_takes_too_long_is_stopped_with_a_sentence() -> None:
    pool = JobPool(1, seconds=0.6)
    with pytest.raises(JobError, match=r"longer than the 0\.6 seconds"):
        pool.run("long", work.steps, 60.0, about=ABOUT)
    pool.close()


def test_a_jump_of_the_clock_changes_nothing(pool: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    day = time.time() + 86_400
    monkeypatch.setattr(time, "time", lambda: day)
    assert pool.run("tomorrow", work.steps, 0.4, about=ABOUT) == "walked"
    monkeypatch.setattr(time, "time", lambda: day - 10 * 86_400)
    assert pool.run("last week", work.steps, 0.4, about=ABOUT) == "walked"


def test_closing_tells_who_waits_and_leaves_no_process(people: ThreadPoolExecutor) -> None:
    pool = JobPool(1)
    until(lambda: pool.health().alive == 1)
    processes = [worker.process for worker in pool._staff.values()]
    waits = people.submit(pool.run, "long", work.steps, 60.0, about=ABOUT)
    until(lambda: pool.health().running == 1)
    pool.close()
    with pytest.raises(JobError, match=r"shutting down|ended from outside"):
        waits.result(PATIENCE)
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(JobError, match="shutting down"):
        pool.run("late", work.double, 1, about=ABOUT)


def test_one_line_a_job_says_what_and_how_long(pool: JobPool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "evenreach.jobs"):
        pool.run("logged", work.steps, 0.3, about={"job": "plan", "residents": 932, "k": 6})
        with pytest.raises(ValueError, match="too many"):
            pool.run("logged too", work.refuse, about={"job": "plan"})
    until(lambda: len(caplog.messages) == 2)
    done, failed = map(json.loads, caplog.messages)
    assert (done["job"], done["residents"], done["outcome"]) == ("plan", 932, "done")
    assert done["took_s"] >= 0.3
    assert done["worker_peak_mb"] > 5
    assert (failed["outcome"], failed["error"]) == ("failed", "ValueError")


def test_a_job_without_workers_is_logged_alike(caplog: pytest.LogCaptureFixture) -> None:
    def left(_fraction: float, _text: str) -> None:
        raise KeyboardInterrupt

    with caplog.at_level(logging.INFO, "evenreach.jobs"):
        JobPool(0).run("here", work.double, 1, about=ABOUT)
        with pytest.raises(KeyboardInterrupt):
            JobPool(0).run("left", work.steps, 0.3, about=ABOUT, progress=left)
    assert [json.loads(line)["outcome"] for line in caplog.messages] == ["done", "cancelled"]
    assert '"waited_s": 0.0' in caplog.messages[0]


def test_memory_of_the_server_is_not_told_as_a_workers() -> None:
    """The system counts a new process's most memory from its parent's on; a server may hold gigabytes."""
    ballast = np.ones(300 * 2**17)
    pool = JobPool(1)
    told, inherited = pool.run("peak", work.peak_and_inherited, about=ABOUT)
    pool.close()
    assert inherited > ballast.nbytes / 2**20 > told > 5


def test_full_disk_is_a_sentence(pool: JobPool) -> None:
    with pytest.raises(ValueError, match=r"disk is full.* try again later"):
        pool.run("fill", work.fill_disk, about=ABOUT)
    assert pool.run("after", work.double, 1, about=ABOUT) == 2
