"""What all tests share."""

import atexit
import os
import shutil
import tempfile

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.serving import postgres

# Tests, and the servers they start, never touch the projects of whoever runs them.
_HOME = tempfile.mkdtemp(prefix="evenreach-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["EVENREACH_DATABASE"] = f"sqlite:///{_HOME}/evenreach.db"

# Each of these needs a browser, a database or a cluster of its own: two at a time would only be slower.
TOGETHER = ("tests/browser/", "tests/serving/store/", "tests/partitions/test_cluster.py")
# Each file here starts servers that its tests share.
SERVERS = "tests/serving/test_"

# The same examples every time; `pytest --hypothesis-profile default` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers() -> int:
    """Three processes for two cores: many tests wait for a server, a browser or a process of their own."""
    return max(2, 3 * (os.cpu_count() or 1) // 2)


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of one of `TOGETHER`, or of one file with servers, run in one process; others wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        alone = nodeid.partition("::")[0] if nodeid.startswith(SERVERS) else nodeid
        return next((path for path in TOGETHER if nodeid.startswith(path)), alone)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> TogetherScheduling:
    """Not by xdist_group marks: since pytest 9.2 they have no effect."""
    return TogetherScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only tests in a real browser may try again: on a busy machine it can lose a click or a frame."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if not postgres.find():
        terminalreporter.write_line(postgres.LEFT_OUT, yellow=True)
