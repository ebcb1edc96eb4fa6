"""What is built and shipped: base images and actions by digest, packages by hash, and no more rights than needed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_images_from_elsewhere_are_named_by_digest() -> None:
    stages = set(re.findall(r"^FROM .+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    images = re.findall(r"^FROM (\S+)|--from=(\S+)", DOCKERFILE, re.MULTILINE)
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    foreign = {"".join(image) for image in images} - stages
    foreign |= {
        image
        for image in re.findall(r"^ +image: (\S+)", compose, re.MULTILINE)
        if not image.startswith("evenreach:")
    }
    assert foreign
    for image in foreign:
        assert re.fullmatch(r"[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), image


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit_and_say_their_version(workflow: Path) -> None:
    for action in re.findall(r"uses: (.+)", workflow.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_one_action_has_one_version() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+)@(.+)", text))
    assert len(pins) == len({name for name, _ in pins})


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_until_a_job_says_why(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    assert re.search(r"^permissions:\n  contents: read\n(?=\S)", text, re.MULTILINE)
    for line in re.findall(r".*: write\b.*", text):
        assert re.fullmatch(r" {6}[a-z-]+: write # .+", line), line
    assert "pull_request_target" not in text
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")


@pytest.mark.parametrize(
    "file", [ROOT / "Dockerfile", ROOT / "Makefile", *WORKFLOWS], ids=lambda path: path.name
)
def test_packages_come_only_with_their_hash_and_ready_built(file: Path) -> None:
    text = re.sub(r"^#.*", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for options in re.findall(r"^LOCKED := (.*)", text, re.MULTILINE):
        text = text.replace("$(LOCKED)", options)
    commands = re.findall(r"pip install[^|\n]*|pipx? (?:run|download).*", text)
    assert commands or file in WORKFLOWS
    for command in commands:
        assert "--require-hashes --only-binary :all: -r" in command, command


def test_the_image_takes_the_lock_along() -> None:
    assert "!requirements.txt" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "-r /build/requirements.txt" in DOCKERFILE
