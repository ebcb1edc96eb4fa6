"""Turns at computing: few at a time, fair among addresses, and none is held by who only waits."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pages.serving.cache import Cache
from pages.serving.jobs import JobPool, turns
from pages.serving.jobs.asker import Asker
from pages.serving.jobs.turns import Turn, Turns, having, resting
from pages.session.background_work import StoppedError
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT
from tests.waiting import PATIENCE, Gate, finish, until

HERE, THERE = "203.0.113.7", "198.51.100.4"


async def settle() -> None:
    """Let everything that is due in this loop happen."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_few_compute_at_once_and_one_address_has_half_of_them() -> None:
    async def flood() -> None:
        line = Turns(most=4, of_address=2)
        flood = [asyncio.create_task(line.take(Asker(f"page {i}", HERE))) for i in range(190)]
        await settle()
        assert (line.running, line.waiting) == (2, 188)
        first, second = [await asyncio.wait_for(line.take(Asker("Ann", THERE)), PATIENCE) for _ in range(2)]
        assert line.running == 4
        line.end(first)
        line.end(second)
        ended = 0
        while ended < len(flood):
            done = [task for task in flood if task.done()]
            assert len(done) - ended <= 2
            line.end(done[ended].result())
            ended += 1
            await settle()
        assert (line.running, line.waiting) == (0, 0)

    finish(flood())


def test_a_visitor_of_another_address_comes_next() -> None:
    async def order() -> list[str]:
        line, found = Turns(most=1, of_address=1), []

        async def one(visitor: str, address: str) -> None:
            async with line.turn(Asker(visitor, address)):
                found.append(visitor)
                await settle()

        first = await line.take(Asker("first", HERE))
        flood = [asyncio.create_task(one("Eve", HERE)) for _ in range(20)]
        await settle()
        ann = asyncio.create_task(one("Ann", THERE))
        await settle()
        line.end(first)
        await asyncio.gather(ann, *flood)
        return found

    assert finish(order())[0] == "Ann"


def test_who_gives_up_waiting_keeps_no_place() -> None:
    async def give_up() -> None:
        line = Turns(most=1, of_address=1)
        first = await line.take(Asker("first", HERE))
        waiting = asyncio.create_task(line.take(Asker("Ann", THERE)))
        await settle()
        waiting.cancel()
        await settle()
        assert line.waiting == 0
        line.end(first)
        assert line.running == 0

    finish(give_up())


def test_a_run_that_neither_ends_nor_rests_keeps_others_waiting_for_a_while_only() -> None:
    async def stuck() -> None:
        line = Turns(most=1, of_address=1, longest=0.05)
        stuck = await line.take(Asker("Eve", HERE))
        ann = await asyncio.wait_for(line.take(Asker("Ann", THERE)), PATIENCE)
        assert stuck.over and not ann.over

    finish(stuck())


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """A process in which one computes at a time."""
    made = Turns(most=1, of_address=1)
    monkeypatch.setattr(turns, "turns", lambda: made)
    return made


@pytest.fixture
def pool() -> Iterator[JobPool]:
    made = JobPool(1)
    yield made
    made.close()


def test_who_waits_for_a_worker_leaves_the_turn_to_others(
    line: Turns, pool: JobPool, tmp_path: object
) -> None:
    gate = Gate(tmp_path)  # type: ignore[arg-type]

    def compute(turn: Turn) -> str:
        with having(turn):
            return str(pool.run("one", work.wait, gate.path, about=ABOUT))

    async def both() -> None:
        eve = await line.take(Asker("Eve", HERE))
        job = asyncio.create_task(asyncio.to_thread(compute, eve))
        ann = await asyncio.wait_for(line.take(Asker("Ann", THERE)), PATIENCE)
        assert eve.idle.is_set() and not eve.over
        gate.open()
        await asyncio.to_thread(until, lambda: line.waiting == 1)
        assert not job.done()
        line.end(ann)
        assert await asyncio.wait_for(job, PATIENCE) == "walked"
        assert line.running == 1
        line.end(eve)
        assert line.running == 0

    finish(both())


def test_who_waits_for_what_another_makes_leaves_the_turn_to_others(line: Turns) -> None:
    """Otherwise those who wait would keep the turn from the one that they wait for."""
    cache: Cache[str] = Cache(room=9)
    going, made = threading.Event(), threading.Event()

    def make() -> str:
        going.set()
        made.wait(PATIENCE)
        return "made"

    def ask(turn: Turn) -> str:
        with having(turn):
            return cache.once("key", make)

    async def both() -> None:
        maker = threading.Thread(target=cache.once, args=("key", make))
        maker.start()
        await asyncio.to_thread(going.wait, PATIENCE)
        eve = await line.take(Asker("Eve", HERE))
        asked = asyncio.create_task(asyncio.to_thread(ask, eve))
        ann = await asyncio.wait_for(line.take(Asker("Ann", THERE)), PATIENCE)
        made.set()
        line.end(ann)
        assert await asyncio.wait_for(asked, PATIENCE) == "made"
        line.end(eve)
        maker.join()

    finish(both())


def test_those_who_waited_for_the_same_go_on_a_few_at_a_time() -> None:
    line, come = Turns(most=4, of_address=2), threading.Event()
    most, lock = [0], threading.Lock()

    def compute(turn: Turn) -> None:
        with line.rest(turn):
            come.wait(PATIENCE)
        with lock:
            most[0] = max(most[0], line.running)
        line.end(turn)

    async def crowd() -> None:
        threads = []
        for i in range(30):
            turn = await asyncio.wait_for(line.take(Asker(f"page {i}", HERE)), PATIENCE)
            threads.append(threading.Thread(target=compute, args=(turn,)))
            threads[-1].start()
        come.set()
        for thread in threads:
            await asyncio.to_thread(thread.join, PATIENCE)
        assert (line.running, line.waiting) == (0, 0)

    finish(crowd())
    assert 1 <= most[0] <= 2


def test_a_run_that_is_given_up_while_it_rests_waits_for_nothing() -> None:
    def leave(line: Turns, turn: Turn) -> None:
        with line.rest(turn):
            raise StoppedError

    async def stop() -> None:
        line = Turns(most=1, of_address=1, longest=10 * PATIENCE)
        eve = await line.take(Asker("Eve", HERE))
        gone = asyncio.create_task(asyncio.to_thread(leave, line, eve))
        with pytest.raises(StoppedError):
            await asyncio.wait_for(gone, PATIENCE)
        assert line.running == 1
        with line.rest(eve):
            line.end(eve)
        assert line.running == 0

    finish(stop())


def test_outside_of_a_turn_nothing_rests(line: Turns) -> None:
    with resting():
        until(lambda: line.running == 0)
