"""Passes on a Dask cluster: version checks, lost workers and schedulers, and cancellation."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from dask.delayed import delayed
from distributed import Client, Security, get_worker
from distributed.comm.core import connect
from distributed.scheduler import KilledWorker

from tkm_core.partitions.block import PartitionError
from tkm_core.partitions.running import BEAT, Merge, StoppedError, Work, tree, work_on
from tkm_core.partitions.source import Piece
from tkm_core.version import VERSION

SAME = ("numpy", "dask", "distributed")  # packages whose versions must agree
CONNECT = 30.0  # seconds to find the scheduler
FIRST_WORKER = 30.0  # seconds to wait for its first worker
PATIENCE = 120.0  # seconds to wait for a lost scheduler to come back
TRIES = 3  # times a pass is restarted after its scheduler was lost

Result = TypeVar("Result")


class SchedulerLostError(Exception):
    """The scheduler was lost during a pass, with all its results."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address, after checking its workers."""
    try:
        with ThreadPoolExecutor(1) as thread:  # in a notebook, this one has a loop that is running
            thread.submit(asyncio.run, _shake_hands(address)).result()
        client = Client(address, timeout=CONNECT, set_as_default=False, name="evenreach")
    except (OSError, ValueError, TimeoutError) as error:
        msg = f"No Dask scheduler answers at {address}. Start one (dask scheduler), or check the address."
        raise PartitionError(msg) from error
    try:
        await_workers(client)
        check_versions(client)
        yield client
    finally:
        with suppress(Exception):
            client.close()


async def _shake_hands(address: str) -> None:
    """Raise TimeoutError if a program listens at an address but says nothing: a client would wait for ever."""
    security = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=CONNECT, **security), CONNECT)
    await comm.close()


def await_workers(client: Client) -> None:
    """Wait for the first worker; an error if there is none."""
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER)
    except (TimeoutError, OSError) as error:
        msg = f"The Dask scheduler at {_address(client)} has no workers. Start some (dask worker)."
        raise PartitionError(msg) from error


def check_versions(client: Client) -> None:
    """Refuse workers with other versions than this machine, since their results might differ.

    Raises
    ------
    PartitionError
        With the worker, the package and both versions.
    """
    for worker, version in client.run(own_version, on_error="return").items():
        refuse(worker, "tkm_core", version if isinstance(version, str) else None, VERSION)
    found: Any = client.get_versions()
    for worker, about in found["workers"].items():
        for package in SAME:
            refuse(worker, package, about["packages"].get(package), found["client"]["packages"].get(package))


def _address(client: Client) -> str:
    """The address of the scheduler."""
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


def own_version() -> str:
    """The version of EvenReach on the machine where this runs."""
    return VERSION


def refuse(worker: str, package: str, theirs: str | None, ours: str | None) -> None:
    """Raise an error if a worker has another version."""
    if theirs == ours:
        return
    has = f"{package} {theirs}" if theirs else f"no {package}"
    msg = (
        f"The worker {worker} has {has}, this machine has {package} {ours}. Install the same on both: "
        "workers of the same image are the simplest way."
    )
    raise PartitionError(msg)


def run_there(pieces: list[Piece], work: Work[Result], shared: Any, version: str) -> Result:
    """A worker's part of a pass."""
    worker = get_worker()
    refuse(worker.address, "tkm_core", VERSION, version)  # it may have joined after the check
    key = worker.get_current_task()

    def stopped() -> bool:
        """Whether the task was cancelled."""
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "released", "forgotten")

    return work_on(pieces, work, shared, stopped, lambda _: None)


def on_cluster(
    client: Client,
    runs: list[list[Piece]],
    work: Work[Result],
    merge: Merge[Result],
    shared: Any,
    alive: Callable[[float], None],
) -> Result:
    """A pass on the workers, restarted if the scheduler is lost and comes back."""
    for number in range(TRIES):
        try:
            return _once(client, runs, work, merge, shared, alive)
        except SchedulerLostError as lost:
            if number == TRIES - 1 or not _back(client, alive):
                msg = (
                    f"The Dask scheduler at {_address(client)} went away in the middle of the work and did "
                    "not come back. Nothing was changed; start again when it is there."
                )
                raise PartitionError(msg) from lost
    raise AssertionError


def _once(
    client: Client,
    runs: list[list[Piece]],
    work: Work[Result],
    merge: Merge[Result],
    shared: Any,
    alive: Callable[[float], None],
) -> Result:
    """One attempt at a pass."""
    alive(0.0)
    futures: list[Any] = []
    try:
        try:
            everywhere = client.scatter(shared, broadcast=True, hash=False)
            tasks = [
                delayed(run_there, pure=False)([piece.delayed() for piece in run], work, everywhere, VERSION)
                for run in runs
            ]
            results = tasks
            for level in tree(len(runs)):
                results = [
                    delayed(merge, pure=False)([results[i] for i in group])
                    if len(group) > 1
                    else results[group[0]]
                    for group in level
                ]
            futures = client.compute([*tasks, *(results if len(runs) > 1 else [])])
        except (OSError, TimeoutError) as error:
            raise SchedulerLostError from error
        root = futures[-1]
        pending = futures[: len(runs)]
        while not root.done():
            pending = [each for each in pending if not each.done() or each.status != "finished"]
            for each in pending:
                _check(each, client)
            alive(1.0 - len(pending) / len(runs))
            time.sleep(BEAT)
        _check(root, client)
        found: Result = _result(root)
    except BaseException:
        with suppress(Exception):
            client.cancel(futures, force=True)
        raise
    alive(1.0)
    return found


def _check(future: Any, client: Client) -> None:
    """Raise the error of a part of the pass, as a sentence if it is a common one."""
    if future.status == "error":
        _result(future)
    if future.status in ("lost", "cancelled") or client.status not in ("running", "connecting"):
        raise SchedulerLostError


def _result(future: Any) -> Any:
    """The result of a task; common failures of workers become sentences."""
    try:
        return future.result()
    except KilledWorker as error:
        workers = f"{error.allowed_failures + 1} workers"
        msg = (
            f"{workers} in a row died at the same part of the data, most likely because they ran out of memory. Give "
            "the workers more memory, or write the files with smaller row groups."
        )
        raise PartitionError(msg) from error
    except StoppedError as error:
        raise SchedulerLostError from error
    except ModuleNotFoundError as error:
        msg = f"A worker has no {error.name}. Install the same on the workers as here: workers of the same image."
        raise PartitionError(msg) from error
    except MemoryError as error:
        msg = "A worker ran out of memory. Give the workers more, or fewer threads each."
        raise PartitionError(msg) from error
    except (OSError, TimeoutError) as error:
        raise SchedulerLostError from error


def _back(client: Client, alive: Callable[[float], None]) -> bool:
    """Whether the scheduler and a worker come back in time."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        alive(0.0)
        with suppress(Exception):
            if client.status == "closed":
                return False
            if client.status == "running" and client.scheduler_info()["workers"]:
                check_versions(client)
                return True
        time.sleep(BEAT)
    return False
