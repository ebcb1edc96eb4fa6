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

# What runs in one process, longest first: the first has one browser, the second one cache of plans and one process that
# makes them, as the third has; then one database and one cluster. Every other file runs in one process as well: its
# tests share servers and plans.
TOGETHER = (
    ("tests/browser/",),
    ("tests/pages/", "tests/serving/test_hostile_names.py"),
    ("tests/serving/api/",),
    ("tests/serving/store/",),
    ("tests/partitions/test_cluster.py",),
    ("tests/serving/test_",),  # servers, file by file
)

# The same examples every time; `pytest --hypothesis-profile default` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers() -> int:
    """Three processes for two cores: many tests wait for a server, a browser or a process of their own."""
    return max(2, 3 * (os.cpu_count() or 1) // 2)


def place_in_line(nodeid: str) -> int:
    """Which of `TOGETHER` a test belongs to."""
    return next((n for n, paths in enumerate(TOGETHER) if nodeid.startswith(paths)), len(TOGETHER))


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of one of `TOGETHER`, or of one file, run in one process."""

    def _split_scope(self, nodeid: str) -> str:
        place = place_in_line(nodeid)
        return str(place) if place < len(TOGETHER) - 1 else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> TogetherScheduling:
    """Not by xdist_group marks: since pytest 9.2 they have no effect."""
    return TogetherScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long ones first, so that no process is left with one at the end.

    Only tests in a real browser may try again: on a busy machine it can lose a click or a frame.
    """
    items.sort(key=lambda item: place_in_line(item.nodeid))
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if not postgres.find():
        terminalreporter.write_line(postgres.LEFT_OUT, yellow=True)
