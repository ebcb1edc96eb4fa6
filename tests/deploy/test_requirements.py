"""Requirements: each name is a real one, pinned once, to the version that these tests run with."""

import ast
import re
import sys
from importlib.metadata import packages_distributions, version
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


def test_what_is_imported_is_required_by_name() -> None:
    named = {line.split("==")[0] for line in LINES}
    sold_as = packages_distributions()
    folders = ("tkm_core", "pages", "benchmarks", "tests")
    ours = {"app", *folders}
    for file in (ROOT / "app.py", *(file for folder in folders for file in (ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            whole = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            whole += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for package in {name.split(".")[0] for name in whole} - ours - sys.stdlib_module_names:
                sources = {name.lower().replace("_", "-") for name in sold_as.get(package, ())}
                assert sources & named, f"{package}, imported by {file}, is not required by name"
