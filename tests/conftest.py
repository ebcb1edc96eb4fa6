"""What all tests share."""

import atexit
import os
import shutil
import tempfile

import pytest
from hypothesis import settings

from tests.serving import postgres

# Tests, and the servers they start, never touch the projects of whoever runs them.
_HOME = tempfile.mkdtemp(prefix="evenreach-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["EVENREACH_DATABASE"] = f"sqlite:///{_HOME}/evenreach.db"

# The same examples every time; `pytest --hypothesis-profile default` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only tests in a real browser may try again: on a busy machine it can lose a click or a frame."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if not postgres.find():
        terminalreporter.write_line(postgres.LEFT_OUT, yellow=True)
