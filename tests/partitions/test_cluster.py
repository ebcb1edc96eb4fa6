"""Faults of a cluster, with real worker processes: the result is the right one, or a sentence says why not."""

import socket
import time
from threading import Thread

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from benchmarks.serving import free_port
from tests.partitions.hosts import start
from tests.partitions.passes import (
    added,
    counted,
    endless,
    greedy,
    killed_once,
    slow_on_one,
    summed,
    waiting,
)
from tests.partitions.towns import country, in_many_runs, write
from tkm_core import evaluate, tilted_path
from tkm_core.partitions import PartitionError, Passes, array_rows, cluster_client, over_rows, rows_of
from tkm_core.partitions import cluster as clusters

X, PEOPLE = country(20_000)
EXPECTED = [*X.sum(axis=0), PEOPLE.sum()]

pytestmark = [
    # closing a cluster whose workers were killed leaves sockets that nobody closes
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread each, in processes of their own, each with a nanny."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="2GiB") as found,
    ):
        yield found


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("homes"), X, PEOPLE, files=4, group=500)


def test_a_path_is_the_same_here_and_there_to_the_last_bit(client, files, monkeypatch):
    """The cluster is found by its address, as the command line and the server name it."""
    told = []
    here = tilted_path(files, 4, t=[0.0, 1.0], scale=1.0, sample_weight="people", random_state=0)
    monkeypatch.setenv("EVENREACH_SCHEDULER", client.scheduler.address)
    there = tilted_path(
        files, 4, t=[0.0, 1.0], scale=1.0, sample_weight="people", random_state=0,
        progress=lambda *step: told.append(step),
    )  # fmt: skip
    np.testing.assert_array_equal(here.centers, there.centers)
    np.testing.assert_array_equal(here.tilted_sse, there.tilted_sse)
    assert told[-1][0] == 1.0
    judged = [evaluate(files, here.centers[1], t=1.0, sample_weight="people") for _ in range(2)]
    assert judged[0].p95_distance == judged[1].p95_distance


def test_a_dask_array_is_computed_by_the_workers(client):
    import dask.array as da

    lazy = da.from_array(X, chunks=(3_000, 2)) * 2
    found = Passes(rows_of(lazy, da.from_array(PEOPLE, chunks=3_000)), client)(summed, added)
    np.testing.assert_allclose(found, [*2 * X.sum(axis=0), PEOPLE.sum()])


def test_a_killed_worker_is_replaced_and_nothing_is_counted_twice(client, files, tmp_path):
    found = Passes(rows_of(files, "people"), client)(killed_once, added, str(tmp_path / "killed"))
    assert (tmp_path / "killed").exists()
    np.testing.assert_allclose(found, EXPECTED)


def test_a_partition_that_cannot_be_read_is_named(client, tmp_path):
    where = write(tmp_path, X, PEOPLE, files=3)
    rows = rows_of(where, "people")
    file = tmp_path / "part-1.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + b"\xff" * 5_000 + whole[5_004:])
    with pytest.raises(
        PartitionError, match=r"part-1.parquet” cannot be read from row 0 on: .* nothing is planned"
    ):
        Passes(rows, client)(summed, added)
    file.unlink()
    with pytest.raises(PartitionError, match=r"part-1.parquet” cannot be read"):
        Passes(rows, client)(summed, added)


def test_another_version_on_the_workers_is_refused(client, monkeypatch):
    monkeypatch.setattr(clusters, "VERSION", "99.0")
    with (
        pytest.raises(
            PartitionError, match=r"has tkm_core \S+, this machine has tkm_core 99.0. Install the same"
        ),
        cluster_client(client.scheduler.address),
    ):
        pass
    with pytest.raises(PartitionError, match=r"this machine has tkm_core 99.0"):  # one that joined later
        Passes(array_rows(X), client)(summed, added)


@pytest.mark.nightly
def test_a_worker_out_of_memory_gets_a_sentence(files):
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.terminate": 0.9,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.spill": False,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit="700MiB"
        ) as small,
        Client(small, set_as_default=False) as client,
        pytest.raises(PartitionError, match="most likely because they ran out of memory"),
    ):
        Passes(rows_of(files, "people"), client)(greedy, added)


@pytest.mark.nightly
def test_a_slow_worker_is_given_less(client):
    names = [str(worker["name"]) for worker in client.scheduler_info()["workers"].values()]
    done = Passes(array_rows(X, PEOPLE, rows=500), client)(slow_on_one, counted, names[0])
    assert sum(done.values()) == 1  # so few rows are one run
    many = in_many_runs(X[:300])
    done = Passes(many, client)(slow_on_one, counted, names[0])
    assert sum(done.values()) == len(many.pieces)
    assert done[names[1]] > 2 * done.get(names[0], 0)


def test_who_stops_listening_stops_the_workers(client, tmp_path):
    class EnoughError(Exception):
        pass

    def listen(_fraction, _text):
        if len(list(tmp_path.iterdir())) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        Passes(endless_rows(), client)(endless, added, str(tmp_path), listen)
    stopped = time.time()
    time.sleep(2.0)
    assert all(float(file.read_text()) < stopped + 1.5 for file in tmp_path.iterdir())


class EndlessPiece:
    """Far more blocks than anybody waits for."""

    name, n_rows = "endless", None

    def blocks(self):
        from tkm_core.partitions import Block

        for _ in range(1_200):
            yield Block.checked(np.zeros((2, 2)), None, "endless")

    def delayed(self):
        return self


def endless_rows():
    from tkm_core.partitions import Rows

    return Rows("endless", 2, (EndlessPiece(), EndlessPiece()))


@pytest.mark.nightly
def test_a_scheduler_that_goes_away_and_comes_back(files, tmp_path):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
    processes = [start(*scheduler), start(*worker)]
    try:
        with over_rows(rows_of(files, "people"), address) as passes:
            found = []
            work = Thread(target=lambda: found.append(passes(waiting, added, str(tmp_path))))
            work.start()
            until = time.monotonic() + 60
            while not (tmp_path / "begun").exists() and time.monotonic() < until:
                time.sleep(0.05)
            for process in processes:
                process.kill()
                process.wait()
            (tmp_path / "go").touch()
            processes = [start(*scheduler), start(*worker)]
            work.join(timeout=90)
        np.testing.assert_allclose(found[0], EXPECTED)
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.nightly
def test_workers_without_us_and_schedulers_without_workers_get_a_sentence(files, tmp_path, monkeypatch):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")]
    try:
        monkeypatch.setattr(clusters, "CONNECT", 20.0)
        monkeypatch.setattr(clusters, "FIRST_WORKER", 0.5)
        with (
            pytest.raises(PartitionError, match="has no workers"),
            over_rows(rows_of(files, "people"), address),
        ):
            pass
        monkeypatch.setattr(clusters, "FIRST_WORKER", 60.0)
        worker = ("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
        processes.append(start(*worker, folder=tmp_path))
        with (
            pytest.raises(PartitionError, match="has no tkm_core"),
            over_rows(rows_of(files, "people"), address),
        ):
            pass
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_an_address_where_nobody_speaks_dask_gets_a_sentence(monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(PartitionError, match="No Dask scheduler answers at"), cluster_client(address):
            pass
