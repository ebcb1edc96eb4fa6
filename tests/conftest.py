"""What all tests share."""

import pytest

WITH_SERVERS = ("tests/browser/", "tests/deploy/", "tests/jobs/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for servers, browsers and processes may try again: a busy machine can outlast their patience."""
    for item in items:
        if item.nodeid.startswith(WITH_SERVERS):
            item.add_marker(pytest.mark.flaky(reruns=2))
