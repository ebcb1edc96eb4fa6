"""What all tests share."""

import pytest
from hypothesis import settings

# The same examples every time; `pytest --hypothesis-profile default` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

WITH_SERVERS = ("tests/browser/", "tests/serving/", "tests/jobs/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for servers, browsers and processes may try again: a busy machine can outlast their patience."""
    for item in items:
        if item.nodeid.startswith(WITH_SERVERS):
            item.add_marker(pytest.mark.flaky(reruns=2))
