"""The package as it is installed: what the wheel holds and says, and what works without the extras."""

import os
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tkm_core.version import VERSION

ROOT = Path(__file__).parents[1]
BUILD = "import hatchling.build as build, sys; build.build_{}(sys.argv[1])"
HEAVY = (
    "numpy",
    "pandas",
    "geopandas",
    "plotly",
    "pydeck",
    "streamlit",
    "sklearn",
    "numba",
    "scipy",
    "pyarrow",
)


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of what is committed or about to be, and the wheel made from that sdist."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    for path in (ROOT / "tkm_core").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = source / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    run("-c", BUILD.format("sdist"), str(folder), cwd=source)
    (sdist,) = folder.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    run("-m", "tarfile", "-e", str(sdist), str(unpacked), cwd=folder)
    (inside,) = unpacked.iterdir()
    run("-c", BUILD.format("wheel"), str(folder), cwd=inside)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked, away from the clone."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(folder)
    return folder


def test_building_leaves_nothing_in_the_source(built: tuple[Path, Path]) -> None:
    """Neither build folders nor metadata: `pip install` of a clone builds in it."""
    folder = built[0].parent
    kept = {path.relative_to(folder / "source") for path in (folder / "source").rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT) for path in (ROOT / "tkm_core").rglob("*") if path.is_file()}
    assert {path for path in ours if "__pycache__" not in path.parts} == {
        path for path in kept if len(path.parts) > 1
    }
    assert {path.name for path in (folder / "source").iterdir()} == {
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tkm_core",
    }  # fmt: skip
    (inside,) = (folder / "unpacked").iterdir()
    assert {path.name for path in inside.iterdir()} == {
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tkm_core", "PKG-INFO",
    }  # fmt: skip


def test_the_wheel_holds_the_library_with_its_samples_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    ours = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tkm_core").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "tkm_core/py.typed" in ours
    assert "tkm_core/residents/sample_cities/sacramento.csv" in ours
    assert {name for name in names if ".dist-info/" not in name} == ours


def test_the_metadata_are_those_of_the_project(installed: Path) -> None:
    (info,) = installed.glob("*.dist-info")
    metadata = Parser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Name"] == "evenreach"
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("License-File")) == {
        "LICENSE",
        "tkm_core/residents/sample_cities/LICENSE-r5r.txt",
        "tkm_core/residents/sample_cities/LICENSE-spopt.txt",
    }
    assert set(metadata.get_all("Provides-Extra")) == {"geo", "raster", "streets", "plot", "cluster", "app"}
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    core = {
        re.split(r"[<>=\[]", line)[0] for line in metadata.get_all("Requires-Dist") if "extra ==" not in line
    }
    assert core == {"highspy", "numba", "numpy", "scikit-learn", "scipy", "threadpoolctl", "tqdm"}
    assert "evenreach = tkm_core.cli.main:main" in (info / "entry_points.txt").read_text(encoding="utf-8")
    assert metadata.get_payload().startswith("# EvenReach")


def test_the_version_is_written_once() -> None:
    """In tkm_core/version.py; everything else takes it from there, but for the citation, whose format wants it."""
    asked = ("pyproject.toml", "Dockerfile", "compose.yaml", "README.md", ".github/workflows/release.yml")
    written = re.compile(rf"(?<![\d.]){re.escape(VERSION)}(?![\d.])")
    assert not [name for name in asked if written.search((ROOT / name).read_text(encoding="utf-8"))]
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_importing_brings_nothing_heavy_along(installed: Path) -> None:
    code = "import sys, tkm_core; print(*(name for name in sys.argv[1:] if name in sys.modules), tkm_core.__version__)"
    assert run("-c", code, *HEAVY, cwd=installed).split() == [VERSION]


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {banned!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
CORE_ONLY = """
import tkm_core as tkm
assert "site" in tkm.__file__, tkm.__file__
for name in tkm.__all__:
    try:
        getattr(tkm, name)
    except ModuleNotFoundError as missing:
        print(name, "|", missing)
"""


def test_the_core_alone_says_what_is_missing(installed: Path) -> None:
    code = (
        ABSENT.format(banned=("pandas", "geopandas", "pyarrow", "shapely", "pyproj", "plotly", "pydeck"))
        + CORE_ONLY
    )
    said = dict(line.split(" | ") for line in run("-c", code, cwd=installed).splitlines())
    assert {"make_plan", "Plan", "load_residents", "Residents"} <= set(said)
    assert not {"TiltedKMeans", "evaluate", "tilted_path", "run_method", "scorer", "Evaluation"} & set(said)
    streets = {"Streets", "StreetsError", "load_streets", "sample_streets"}
    extras = {name: re.search(r"pip install 'evenreach\[(\w+)\]'", told)[1] for name, told in said.items()}
    assert extras == {name: "streets" if name in streets else "geo" for name in said}


def test_a_plot_names_the_extra_that_brings_all_it_needs(installed: Path) -> None:
    code = (
        "import tkm_core as tkm, warnings; warnings.simplefilter('ignore')\n"
        "path = tkm.tilted_path([[0.0, 0], [1, 0], [0, 1], [5, 5]], 2, t=[0, 1])\n"
        "for draw in (path.plot, lambda: tkm.figures):\n"
        "    try: draw()\n"
        "    except ModuleNotFoundError as missing: print(missing)\n"
    )
    banned = ("pandas", "geopandas", "pyarrow", "shapely", "pyproj", "plotly", "pydeck")
    said = run("-c", ABSENT.format(banned=banned) + code, cwd=installed).splitlines()
    assert len(said) == 2 and all("pip install 'evenreach[plot]'" in one for one in said)


def test_the_core_alone_compiles_ahead() -> None:
    ahead = "import runpy; runpy.run_module('tkm_core.clustering.compiled', run_name='__main__')"
    run("-c", ABSENT.format(banned=("pandas", "geopandas", "pyarrow", "shapely", "pyproj")) + ahead, cwd=ROOT)


def test_the_command_says_what_is_missing(installed: Path) -> None:
    command = "import tkm_core.cli.main as c; raise SystemExit(c.main(['plan', 'sacramento']))"
    done = subprocess.run(
        [sys.executable, "-c", ABSENT.format(banned=("pandas", "pyarrow", "geopandas", "shapely", "pyproj")) + command],
        cwd=installed, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("evenreach: This command needs ")
    assert done.stderr.rstrip().endswith("pip install 'evenreach[geo]' brings it.")


def test_samples_come_with_the_package(installed: Path) -> None:
    code = (
        "import tkm_core as t; print(len(t.load_sample('sacramento')), len(t.SAMPLES['san-francisco'].sites[0]), "
        "len(t.load_sample('porto-alegre')), len(t.sample_streets('porto-alegre').lonlat))"
    )
    assert run("-c", code, cwd=installed).split() == ["932", "16", "1227", "17522"]
