"""A cluster of several hosts, of which one drops off the network in the middle of the work."""

import subprocess
from threading import Thread

import numpy as np
import pytest

from benchmarks.serving import free_port
from tests.partitions.hosts import Network, start
from tests.partitions.passes import added, cut_off
from tests.partitions.towns import country, in_many_runs, write
from tests.waiting import until
from tkm_core import tilted_path
from tkm_core.partitions import over_rows

pytestmark = pytest.mark.nightly

X, PEOPLE = country(3_000)
QUICK = "12s"  # instead of half a minute, after which silence counts as a loss; Dask takes no less


@pytest.fixture
def network():
    try:
        made = Network(2)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here (they need root and iproute2): {error}")
    with made:
        yield made


def test_a_host_that_is_cut_off_is_done_without(network, tmp_path):
    files = write(tmp_path, X, PEOPLE)
    asked = {"t": [0.0, 1.0], "scale": 1.0, "sample_weight": "people", "random_state": 0}
    port = str(free_port())
    address = f"tcp://{network.home}:{port}"
    settings = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": QUICK}
    processes = [start("scheduler", "--host", network.home, "--port", port, "--no-dashboard", **settings)]
    for name, host in network.hosts.items():
        worker = (
            "worker",
            address,
            "--name",
            name,
            "--host",
            host,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
        )
        processes.append(start(*worker, on=network.on(name), **settings))
    try:
        with over_rows(in_many_runs(X, PEOPLE), address) as passes:
            passes.client.wait_for_workers(2, timeout=60)
            found = []
            work = Thread(
                target=lambda: found.append(passes(cut_off, added, ("b", str(tmp_path)))), daemon=True
            )
            work.start()
            until((tmp_path / "begun").exists)
            network.unplug("b")
            work.join(timeout=120)
        np.testing.assert_allclose(found[0], [*X.sum(axis=0), PEOPLE.sum()])
        here = tilted_path(files, 4, **asked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EVENREACH_SCHEDULER", address)
            there = tilted_path(files, 4, **asked)
        np.testing.assert_array_equal(here.centers, there.centers)
    finally:
        for process in processes:
            process.kill()
            process.wait()
