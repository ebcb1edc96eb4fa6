"""What is installed: every package locked with its hashes, wanted for a reason, and no more than is needed."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = PROJECT["project"]["dependencies"]
GEO, RASTER, STREETS, PLOT, CLUSTER, APP = (
    PROJECT["project"]["optional-dependencies"][name]
    for name in ("geo", "raster", "streets", "plot", "cluster", "app")
)
DEV, DOCS, TOOLS, UV = (PROJECT["dependency-groups"][name] for name in ("dev", "docs", "tools", "uv"))
WANTED = {
    "requirements.txt": [*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP],
    "requirements-dev.txt": [*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP, *DEV],
    "requirements-docs.txt": [*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP, *DEV, *DOCS],
    "requirements-tools.txt": TOOLS,
    "requirements-uv.txt": UV,
}
OURS = PROJECT["project"]["name"]


def names(lines: list[str]) -> set[str]:
    return {str(canonicalize_name(Requirement(line).name)) for line in lines} - {OURS}


def entries(lock: str) -> list[str]:
    """The entries of a lock, each on one line: requirement, then hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def locked(lock: str) -> dict[str, str]:
    """The version of each package of a lock that belongs on this machine and interpreter."""
    versions = {}
    for entry in entries(lock):
        requirement = Requirement(entry.split(" --hash")[0])
        if requirement.marker is None or requirement.marker.evaluate():
            versions[str(canonicalize_name(requirement.name))] = str(requirement.specifier).removeprefix("==")
    return versions


@pytest.mark.parametrize("lock", WANTED)
def test_every_line_of_a_lock_is_one_version_with_hashes(lock: str) -> None:
    assert entries(lock)
    for entry in entries(lock):
        assert re.fullmatch(r"[a-z0-9-]+==[^\s;]+( ; .+?)?( +--hash=sha256:[0-9a-f]{64})+", entry), entry


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_names_no_index_and_no_folder(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|^-|^--(?!hash)|index-url|find-links|@ ", text, re.MULTILINE)


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_fits_what_the_project_asks_for(lock: str) -> None:
    versions = locked(lock)
    for requirement in map(Requirement, WANTED[lock]):
        if requirement.name != OURS:
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_the_tests_run_with_what_the_app_runs_with() -> None:
    app, dev, docs = map(locked, ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt"))
    assert app.items() <= dev.items() <= docs.items()


def test_everything_installed_is_locked_at_that_version() -> None:
    versions = locked("requirements-dev.txt")
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    installed = {name: one for name, one in installed.items() if name not in {"pip", "setuptools", OURS}}
    assert {name: one for name, one in installed.items() if versions.get(name) != one} == {}


def test_every_requirement_says_why_and_where_it_begins() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for wanted in {*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP, *DEV, *DOCS, *TOOLS, *UV}:
        named = [line for line in lines if line.startswith(f'  "{wanted}",')]
        assert named
        assert all(re.fullmatch(r'  "\S+", # .{5,}', line) for line in named), named
        assert Requirement(wanted).name == OURS or ">=" in wanted, named


def test_nothing_is_required_twice() -> None:
    wanted = [
        Requirement(line).name
        for line in (*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP, *DEV, *DOCS)
    ]
    wanted = [name for name in wanted if name != OURS]
    assert len(set(wanted)) == len(wanted)


@pytest.mark.parametrize(
    ("folders", "wanted"),
    [
        (
            ("app.py", "tkm_core/**/*.py", "pages/**/*.py"),
            [*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP],
        ),
        (
            ("tests/**/*.py", "benchmarks/**/*.py"),
            [*CORE, *GEO, *RASTER, *STREETS, *PLOT, *CLUSTER, *APP, *DEV],
        ),
    ],
)
def test_what_is_imported_is_required_by_name(folders: tuple[str, ...], wanted: list[str]) -> None:
    named, sold_as = names(wanted), packages_distributions()
    ours = {"app", "tkm_core", "pages", "tests", "benchmarks", "docs"}
    for file in [file for folder in folders for file in ROOT.glob(folder)]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            whole = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            whole += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for package in {name.split(".")[0] for name in whole} - ours - sys.stdlib_module_names:
                sources = {canonicalize_name(name) for name in sold_as.get(package, ())}
                assert sources & named, f"{package}, imported by {file}, is not required by name"


LIBRARY_ALONE = """
import sys
banned = set(sys.argv[1].split())

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in banned:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import tkm_core as tkm

X = [[0, 0], [0, 1], [5, 5], [5, 6], [9, 9], [9, 8]]
model = tkm.TiltedKMeans(2, t=0.5, random_state=0).fit(X)
tkm.evaluate(X, model.cluster_centers_)
tkm.tilted_path(X, 2, random_state=0)
for method in tkm.METHODS:
    tkm.run_method(method, X, 2, random_state=0)
try:
    tkm.load_residents
except ModuleNotFoundError as missing:
    print(missing)
"""


def test_the_library_alone_runs_with_its_own_requirements() -> None:
    present, waiting = set(), names(CORE)
    while waiting:
        present |= waiting
        found = [one for one in distributions() if canonicalize_name(one.metadata["Name"]) in waiting]
        brought = [Requirement(line) for one in found for line in one.requires or ()]
        brought = [one for one in brought if one.marker is None or one.marker.evaluate({"extra": ""})]
        waiting = {str(canonicalize_name(one.name)) for one in brought} - present
    absent = [
        package
        for package, sources in packages_distributions().items()
        if not {canonicalize_name(name) for name in sources} & {*present, OURS}
    ]
    assert "pandas" in absent
    assert "streamlit" in absent
    run = subprocess.run(
        [sys.executable, "-c", LIBRARY_ALONE, " ".join(absent)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "evenreach[geo]" in run.stdout
