"""SECURITY.md promises only what a test verifies, and names the test."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(?:tests/)?(?:[\w/]+\.py::)?(test_\w+)(\.py)?`")
TESTS = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^\s*(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
}
FILES = {file.stem for file in (ROOT / "tests").rglob("test_*.py")}


def section(title: str) -> str:
    """The text below a heading, up to the next of its level."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"SECURITY.md has no section {title!r}"
    return found[1]


@pytest.mark.parametrize(
    "promise", re.findall(r"^- .*?(?=^- |\Z)", section("What is promised"), re.MULTILINE | re.DOTALL)
)
def test_every_promise_names_a_test_that_exists(promise: str) -> None:
    named = NAMED.findall(promise)
    assert named, f"no test is named beside: {promise[:80]}"
    for name, whole_file in named:
        assert name in (FILES if whole_file else TESTS), f"{name} does not exist"


def test_the_container_has_no_rights_and_nothing_to_write_to() -> None:
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    service = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    last = image.rpartition("\nFROM ")[2]
    user = re.findall(r"^USER (\d+):(\d+)$", last, re.MULTILINE)
    assert user, "the image has to say who runs it"
    assert "0" not in user[-1]
    for line in ("read_only: true", "cap_drop: [ALL]", "- no-new-privileges:true"):
        assert re.search(rf"^\s+{re.escape(line)}$", service, re.MULTILINE), f"compose.yaml lacks {line}"
    assert "secrets.toml" not in "".join(re.findall(r"^COPY .*$", image, re.MULTILINE))
    kept_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert any("secrets" in name for name in kept_out), "secrets must not be copied into the image"
