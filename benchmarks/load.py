"""Load test: 50 people turn the dial on 10,000 residents while one more asks for heavy work.

All of them have a saved scenario open, so that the store is asked, too. ``python -m benchmarks.load`` takes about a
minute and a half; ``--minutes 10`` shows whether memory grows; ``--database postgresql://...`` names another store.
The clients use Streamlit's own protocol over websockets, on the loopback interface only.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from benchmarks.serving import Server

PEOPLE = 50
EVERY = 4.0  # seconds between two turns of the dial by one person
CITY = "dataset=generated&k=6"
HEAVY = "dataset=generated-2m&k={}"
MEDIAN_MS, P95_MS = 50.0, 300.0
SETTINGS = [
    repr(float(t)) for t in np.geomspace(0.01, 100, 30)
]  # the page uses the nearest setting of its plan
WAVES = 6  # times that all people come and go; Streamlit keeps the last 128 sessions for two minutes
LARGE = 100_000  # bytes; a message this large is a map, never the end of a run

Row = dict[str, str | float | None]


def asked(port: int) -> dict[str, int]:
    """The server's answer about its health."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        found: dict[str, int] = json.load(answer)
    return found


def memory_mb(pid: int) -> float:
    """Memory of the server process, without its workers."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return float(status.split("VmRSS:")[1].split()[0]) / 1024


def processor_s(pid: int) -> float:
    """Processor time of the server process so far, without its workers; it hardly depends on other work."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Person:
    """One visitor, who looks like a browser to the server."""

    socket: ClientConnection
    dial: str = ""
    turns: int = 0
    part: str = ""
    query: str = CITY
    times: list[float] = field(default_factory=list)
    errors: int = 0
    received: int = 0

    async def run(self, turn_to: str | None = None) -> float:
        """Request the page, or turn its dial; return the milliseconds until the server has sent everything."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        if turn_to is not None:
            message.rerun_script.fragment_id = self.part
            state = message.rerun_script.widget_states.widgets.add(id=self.dial)
            self.turns += 1
            state.json_value = json.dumps(
                {"said": {"seq": self.turns, "what": "dial", "t": turn_to, "turned": 0}}
            )
        begun = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        while True:
            raw = await self.socket.recv()
            self.received += len(raw)
            if len(raw) > LARGE:
                continue
            answer = ForwardMsg.FromString(raw if isinstance(raw, bytes) else raw.encode())
            if answer.WhichOneof("type") == "script_finished":
                return 1000 * (time.perf_counter() - begun)
            if answer.WhichOneof("type") == "delta":
                self._learn(answer)

    def _learn(self, answer: ForwardMsg) -> None:
        """Find the dial and the part of the page that it redraws; count errors on screen."""
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "bidi_component" and element.bidi_component.id.endswith("-live_map"):
            self.dial, self.part = element.bidi_component.id, answer.delta.fragment_id
        if kind in ("exception", "alert"):
            self.errors += 1

    async def live(self, until: float, seed: int) -> None:
        """Turn the dial every few seconds until it is time to go."""
        chance = random.Random(seed)
        await asyncio.sleep(chance.random() * EVERY)
        while time.monotonic() < until:
            started = time.monotonic()
            self.times.append(await self.run(chance.choice(SETTINGS)))
            await asyncio.sleep(max(0.0, EVERY - (time.monotonic() - started)))


@contextlib.asynccontextmanager
async def visits(port: int, count: int, query: str = CITY) -> AsyncIterator[list[Person]]:
    """Open `count` pages, and close them all at the end."""
    async with contextlib.AsyncExitStack() as stack:
        address = f"ws://127.0.0.1:{port}/_stcore/stream"
        people = []
        for _ in range(count):
            door = connect(
                address, subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None, compression=None
            )
            people.append(Person(await stack.enter_async_context(door), query=query))
        yield people


def saved_scenario(port: int) -> str:
    """Save a scenario, and return the address that opens it."""
    wish = json.dumps({"plan": {"dataset": "generated", "k": 6}, "title": "Everybody's"}).encode()
    call = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/scenarios", wish, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(call, timeout=300) as answer:
        made = json.load(answer)
    return f"{made['link'].partition('?')[2]}&project={made['project_key']}"


async def measure(port: int, pid: int, minutes: float, people: int = PEOPLE, query: str = CITY) -> list[Row]:
    """Measure response times and memory while people come, turn the dial and leave, and one asks for heavy work."""
    async with visits(port, 1, query) as (one,):
        await one.run()
        alone = [await one.run(SETTINGS[i % len(SETTINGS)]) for i in range(3, 23)]
        empty = memory_mb(pid)
        async with visits(port, people, query) as crowd:
            for person in crowd:
                await person.run()
            before, sent = processor_s(pid), sum(person.received for person in crowd)
            quiet = await turns(crowd, pid, minutes / 2)
            processor = 1000 * (processor_s(pid) - before) / len(quiet.times)
            sent = sum(person.received for person in crowd) - sent
            full = memory_mb(pid)
        waves = [await wave(port, pid, people, query) for _ in range(WAVES)]
        async with visits(port, people, query) as others, visits(port, 1) as (heavy,):
            for person in others:
                await person.run()
            work = asyncio.create_task(ask_for_heavy_work(heavy))
            busy = await turns(others, pid, minutes / 2)
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        errors = sum(person.errors for person in [*crowd, *others, heavy])
    usual = float(np.median(alone))
    rows = []
    for name, seen in (("", quiet), (", while one more plans for 2,000,000 again and again", busy)):
        who = f"{people} people, a turn each every {EVERY:g} s{name}"
        for what, value, target in (
            ("median", float(np.median(seen.times)), MEDIAN_MS),
            ("95th percentile", float(np.percentile(seen.times, 95)), P95_MS),
        ):
            rows.append(
                _row(f"{who}: {what} of {len(seen.times)} turns", value, "ms", target, ratio=value / usual)
            )
        rows.append(
            _row(f"{who}: growth, last third of the time against the third before", seen.growth, "MB")
        )
    return [
        *rows,
        _row("the same turn by one person alone: median", usual, "ms", ratio=1.0),
        _row("processor time of the server per turn", processor, "ms"),
        _row("sent to the browser per turn", sent / len(quiet.times) / 1000, "kB"),
        _row("errors on screen", errors, "", 0.0),
        _row("memory per person", (full - empty) / people, "MB"),
        _row("memory beyond one person's after all left", waves[-1] - empty, "MB"),
        _row(
            f"growth from the 3rd to the {WAVES}th time that {people} came and left",
            waves[-1] - waves[2],
            "MB",
        ),
    ]


async def wave(port: int, pid: int, people: int, query: str) -> float:
    """Let `people` come, turn the dial once and leave; return the server's memory afterwards."""
    async with visits(port, people, query) as crowd:
        for number, person in enumerate(crowd):
            await person.run()
            await person.run(SETTINGS[number % len(SETTINGS)])
    await asyncio.sleep(2)
    return memory_mb(pid)


def _row(
    case: str, measured: float, unit: str, target: float | None = None, *, ratio: float | None = None
) -> Row:
    """One row of the results."""
    return {"case": case, "measured": float(measured), "unit": unit, "ratio": ratio, "target": target}


async def ask_for_heavy_work(person: Person) -> None:
    """Ask for one plan after another, each with a new number of facilities so that none is cached."""
    for k in range(20, 40):
        person.query = HEAVY.format(k)
        await person.run()


@dataclass
class Seen:
    """Measurements under load: milliseconds of every turn, and the server's memory every second."""

    times: list[float]
    memory: list[float]

    @property
    def growth(self) -> float:
        """Memory in the last third of the time, minus that in the third before."""
        third = len(self.memory) // 3
        return float(np.mean(self.memory[-third:]) - np.mean(self.memory[-2 * third : -third]))


async def turns(crowd: list[Person], pid: int, minutes: float) -> Seen:
    """Response times of everyone over some minutes, and the server's memory meanwhile."""
    until = time.monotonic() + 60 * minutes
    memory: list[float] = []

    async def watch() -> None:
        """Record the memory every second."""
        while time.monotonic() < until:
            memory.append(memory_mb(pid))
            await asyncio.sleep(1)

    for person in crowd:
        person.times.clear()
    await asyncio.gather(watch(), *(person.live(until, number) for number, person in enumerate(crowd)))
    return Seen([taken for person in crowd for taken in person.times], memory)


def run(minutes: float = 0.8, database: str = "") -> list[Row]:
    """Run the load test.

    Parameters
    ----------
    minutes : float
        How long the dial is turned, half of the time with heavy work going on.
    database : str
        URL of the store, as in EVENREACH_DATABASE; by default an SQLite file that is deleted afterwards.

    Returns
    -------
    list of dict
        ``case``; ``measured``, in ``unit``; ``ratio`` to one person alone in the same run; ``target``, if any.
    """
    with tempfile.TemporaryDirectory() as folder:
        kept = database or f"sqlite:///{folder}/kept.db"
        with Server(EVENREACH_DATABASE=kept) as server:
            return _watched(server, minutes)


def _watched(server: Server, minutes: float) -> list[Row]:
    """Measure on a running server; at the end no job may be left."""
    query = saved_scenario(server.port)
    rows = asyncio.run(measure(server.port, server.process.pid, minutes, query=query))
    end = time.monotonic() + 20
    while asked(server.port)["running"] and time.monotonic() < end:
        time.sleep(0.2)
    return [*rows, _row("jobs running after all left", asked(server.port)["running"], "", 0.0)]


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=0.8)
    options.add_argument("--database", default="")
    chosen = options.parse_args()
    for row in run(chosen.minutes, chosen.database):
        against = "" if row["ratio"] is None else f"{row['ratio']:6.2f}×"
        limit = "" if row["target"] is None else f"  (target {row['target']:g})"
        print(f"{row['measured']:9.1f} {row['unit']:<2}  {against:>7}  {row['case']}{limit}")
