"""The line: addresses and visitors take turns, each has a share, and nobody has it alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from pages.serving.config import Config
from pages.serving.jobs import BusyError, JobPool, asker
from pages.serving.jobs.asker import Asker, asking
from pages.serving.jobs.job import Job
from pages.serving.jobs.line import Line
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT, GoneError, visitor
from tests.waiting import PATIENCE, Gate, until

HERE, THERE = "203.0.113.7", "198.51.100.4"
MOST = Config().most_waiting
numbers = count()


def job(visitor: str, address: str, waits: int = 1) -> Job:
    return Job(next(numbers), print, (), ABOUT, Asker(visitor, address), askers=waits)


def joined(line: Line, *jobs: Job) -> list[Job]:
    """The jobs that got in."""
    taken = []
    for one in jobs:
        try:
            line.join(one)
        except BusyError:
            continue
        taken.append(one)
    return taken


def served(line: Line) -> list[Job]:
    """All that wait, one after the other, as a single worker serves them."""
    order = []
    while (turn := line.next()) is not None:
        line.begin(turn)
        order.append(turn)
        line.leave(turn)
    return order


def test_a_flood_of_one_client_leaves_the_next_place_to_another() -> None:
    line = Line(MOST, 1)
    first, *flood = [job(f"socket {i % 44}", HERE) for i in range(101)]
    line.join(first)
    line.begin(first)
    taken = joined(line, *flood)
    small = job("Ann", THERE)
    line.join(small)
    assert line.place(small) == 0
    assert max(map(line.place, taken)) == len(taken)
    line.leave(first)
    assert served(line)[0] is small


def test_no_visitor_and_no_address_has_the_line_alone() -> None:
    line = Line(MOST, 1)
    assert len(joined(line, *[job("Eve", HERE) for _ in range(100)])) == line.of_visitor
    joined(line, *[job(f"socket {i}", HERE) for i in range(100)])
    assert len(line) == line.of_address < MOST
    line.join(job("Ann", THERE))


def test_an_office_behind_one_address_gets_in() -> None:
    line = Line(MOST, 1)
    office = [job(f"desk {i}", HERE) for i in range(40)]
    assert joined(line, *office) == office
    assert served(line) == office


def test_each_share_has_its_own_sentence() -> None:
    line = Line(8, 1)
    joined(line, *[job("Eve", HERE) for _ in range(4)])
    with pytest.raises(
        BusyError, match=r"You have 4 jobs waiting in line already.* until one of them is done"
    ):
        line.join(job("Eve", HERE))
    with pytest.raises(BusyError, match=r"4 jobs from your network address are waiting .* try again"):
        line.join(job("Bob", HERE))
    joined(line, *[job(f"visitor {i}", THERE) for i in range(4)])
    with pytest.raises(BusyError, match=r"8 jobs are waiting already\. Please try again"):
        line.join(job("Ann", "192.0.2.1"))


def test_addresses_take_turns_and_then_their_visitors() -> None:
    line = Line(MOST, 1)
    eve = [job("Eve", HERE) for _ in range(3)]
    bob, ann = job("Bob", HERE), [job("Ann", THERE) for _ in range(2)]
    joined(line, *eve, bob, *ann)
    places = {one: line.place(one) for one in (*eve, bob, *ann)}
    order = served(line)
    assert order == [eve[0], ann[0], bob, ann[1], eve[1], eve[2]]
    assert [places[one] for one in order] == list(range(6)), "the place that is told is the place one has"


def test_who_has_work_running_waits_for_who_has_none() -> None:
    line = Line(MOST, 2)
    for first in (job("Eve", HERE), job("Bob", THERE)):
        line.join(first)
        line.begin(first)
    more, ann = job("Eve", HERE), job("Ann", "192.0.2.1")
    joined(line, more, ann)
    assert [line.place(ann), line.place(more)] == [0, 1]


def test_who_was_served_longest_ago_comes_first() -> None:
    line = Line(MOST, 1)
    joined(line, *[job(name, name) for name in ("Eve", "Bob", "Eve", "Bob", "Eve")])
    assert [one.asker.visitor for one in served(line)] == ["Eve", "Bob", "Eve", "Bob", "Eve"]


def test_one_address_leaves_a_worker_to_others() -> None:
    line = Line(MOST, most_running=1)
    first, second, ann = job("Eve", HERE), job("Bob", HERE), job("Ann", THERE)
    joined(line, first, second)
    line.begin(first)
    assert line.next() is None
    line.join(ann)
    assert line.next() is ann
    line.leave(first)
    line.begin(ann)
    assert line.next() is second


def test_what_somebody_else_wants_too_comes_at_the_sooner_turn() -> None:
    """Otherwise whoever asks for everything at once would hold up all who need one thing of it."""
    line = Line(MOST, 1)
    flood = [job(f"socket {i}", HERE) for i in range(20)]
    joined(line, *flood)
    wanted = flood[-1]
    line.also_for(wanted, Asker("Ann", THERE))
    assert line.place(wanted) == 1
    line.also_for(wanted, Asker("Eve", HERE))
    assert line.place(wanted) == 1, "nobody can put it back"


def test_nobody_is_remembered_who_neither_waits_nor_works() -> None:
    line = Line(MOST, 1)
    for i in range(50):
        joined(line, job(f"visitor {i}", f"192.0.2.{i}"))
        served(line)
    assert not line._busy
    assert not line._served
    assert not line.running


@pytest.fixture
def one() -> Iterator[JobPool]:
    made = JobPool(1, most_waiting=10)
    yield made
    made.close()


def test_a_flooded_pool_serves_another_address_next(one: JobPool, tmp_path: Path) -> None:
    """Through the pool, in threads: 44 visitors of one address ask 100 times; a small job of another comes at once."""
    one.run("warm", work.pid, about=ABOUT)
    done: list[tuple[float, str]] = []
    turned_away: list[BusyError] = []
    gate = Gate(tmp_path)

    def ask(visitor: str, address: str, key: int) -> None:
        with asking(Asker(visitor, address)):
            try:
                ended = one.run(key, work.when, gate.path, about=ABOUT)
            except BusyError as told:
                turned_away.append(told)
            else:
                done.append((ended, visitor))

    with ThreadPoolExecutor(101) as people:
        people.submit(ask, "first", HERE, -1)
        until(lambda: one.health().running == 1)
        for i in range(100):
            people.submit(ask, f"socket {i % 44}", HERE, i)
        until(lambda: len(turned_away) >= 90)
        waiting = one.health().waiting
        people.submit(ask, "Ann", THERE, 1_000)
        until(lambda: one.health().waiting == waiting + 1)
        gate.open()
    order = [visitor for _, visitor in sorted(done)]  # as they ended, not as threads woke up
    assert order.index("Ann") <= 2, "next after what was running when she came"
    assert len(order) > 3


def test_what_a_visitor_left_makes_room_for_what_is_wanted_now(one: JobPool, tmp_path: Path) -> None:
    """Whoever turns a knob quickly leaves one job after the other; none of them is in the way."""
    one.run("warm", work.pid, about=ABOUT)
    gate = Gate(tmp_path)
    with ThreadPoolExecutor(2) as people, asking(Asker("Ann", THERE)):
        busy = people.submit(one.run, "busy", work.wait, gate.path, about=ABOUT)
        until(lambda: one.health().running == 1)
        for i in range(12):
            progress, leave, _ = visitor()
            leave.set()
            with pytest.raises(GoneError):
                one.run(i, work.steps, 60.0, about=ABOUT, progress=progress)
            assert one.health().waiting <= one._line.of_visitor
        gate.open()
        assert one.run("wanted", work.double, 1, about=ABOUT) == 2
        assert busy.result(PATIENCE) == "walked"


def test_who_asks_is_found_in_the_thread_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asker, "_find", lambda: Asker("Ann", THERE))
    assert asker.current() == Asker("Ann", THERE)
    with asking(Asker("Bob", HERE)):
        assert asker.current() == Asker("Bob", HERE)
    assert asker.current() == Asker("Ann", THERE)


def test_what_runs_waits_no_more() -> None:
    """Two threads of one page have one turn: the second may ask for it again while the first has it."""
    line: Line[Job] = Line(100, 2)
    job = Job("run", print, (), {}, Asker("Ann", "203.0.113.7"))
    line.begin(job)
    line.join(job)
    assert (len(line), line.next()) == (0, None)
    line.leave(job)
    line.join(job)
    line.begin(job)
    assert (len(line), line.next(), line.running) == (0, None, {job})
