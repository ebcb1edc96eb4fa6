"""Requirements: each name is a real one, pinned once, to the version that these tests run with."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for name in ("requirements.txt", "requirements-dev.txt")
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    if line and not line.startswith(("#", "-r "))
]


@pytest.mark.parametrize("line", LINES)
def test_a_requirement_is_the_version_tested_and_says_why(line: str) -> None:
    parts = re.fullmatch(r"([a-z0-9-]+)==(\S+) +# (.+)", line)
    assert parts, f"not 'name==version  # reason': {line}"
    assert version(parts[1]) == parts[2]


def test_nothing_is_required_twice() -> None:
    names = [line.split("==")[0] for line in LINES]
    assert len(set(names)) == len(names)
