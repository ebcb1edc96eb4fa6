"""Only readers look into what visitors send: nothing else in the server takes it apart."""

import ast
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import tkm_core
from pages.serving.api.uploads import Given, Said, taken
from pages.serving.jobs import reading
from pages.serving.store import Actor
from tkm_core import export, residents, sites, streets
from tkm_core.progress import silent

ROOT = Path(__file__).parents[2]
FILES = sorted([ROOT / "app.py", *(ROOT / "pages").rglob("*.py")])
READING = Path(reading.__file__)
# what takes a function that reads, or a sample, instead of a visitor's bytes
HARMLESS = {"read_existing", "read_sites", "load_sample", "load_rules"}
PARSERS = {
    name
    for room in (tkm_core, residents, streets, sites, export)
    for name in dir(room)
    if name.startswith(("load_", "read_", "open_", "from_wkb", "travel_rows")) and name not in HARMLESS
}
MODULES = {
    "csv",
    "gzip",
    "zipfile",
    "zlib",
    "tarfile",
    "bz2",
    "lzma",
    "xml",
    "pyogrio",
    "rasterio",
    "osmium",
    "tomllib",
}
CALLS = {"splitlines", "loads", "from_wkb", "from_wkt", "from_geojson", "read_csv", "read_excel", "read_json",
         "read_file", "read_parquet", "read_table", "open_stream", "open_file", "frombuffer", "fromstring"}  # fmt: skip
# where the server reads what it wrote itself, or what a reader sent, checked
OWN = {
    ("pages/serving/jobs/answers.py", "loads"): "messages of readers, bounded before",
    ("pages/serving/jobs/answers.py", "frombuffer"): "arrays of readers, of the size that was said",
    ("pages/serving/jobs/worker.py", "loads"): "a problem of its own, to see whether it can be sent",
    ("pages/serving/jobs/forms.py", "loads"): "in the reader: a reference system as it writes itself",
    ("pages/serving/jobs/forms.py", "from_wkb"): "in the reader: the zones of a plan file",
    ("pages/serving/store/packing.py", "loads"): "residents as the store wrote them",
    ("pages/serving/store/packing.py", "read_table"): "residents as the store wrote them",
    ("pages/serving/rule_data.py", "loads"): "sites and zones as the store wrote them",
    ("pages/serving/rule_data.py", "from_wkb"): "zones as the store wrote them",
    ("pages/serving/store/engine.py", "splitlines"): "what the database says of itself",
}  # fmt: skip


def looks(path: Path) -> Iterator[str]:
    """Everything in a file by which it could take bytes apart."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (
                alias.name.split(".")[0] for alias in node.names if alias.name.split(".")[0] in MODULES
            )
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.name in PARSERS)
            if (node.module or "").split(".")[0] in MODULES:
                yield str(node.module)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("files", "reading"):
            yield from {node.attr} & ((PARSERS | CALLS) - {"read_text"})  # which is a path's


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_readers_take_apart_what_visitors_send(path: Path) -> None:
    if path != READING:
        name = path.relative_to(ROOT).as_posix()
        assert {(name, look) for look in looks(path)} <= set(OWN), "move it to pages/serving/jobs/reading.py"


def test_what_is_looked_for_is_there() -> None:
    assert {
        "load_residents",
        "load_zones",
        "load_streets",
        "read_plan_file",
        "read_travel",
        "travel_rows",
    } <= PARSERS
    assert set(looks(READING)) >= {"load_residents", "load_zones", "load_streets", "read_plan_file"}
    found = {(path.relative_to(ROOT).as_posix(), look) for path in FILES for look in looks(path)}
    assert set(OWN) <= found, "what is no longer there needs no exception"


@pytest.mark.parametrize("line", [b"ab\n", b"a,b\n", b"\n", b'"'])
def test_a_table_of_very_many_lines_takes_little_of_the_server(line: bytes) -> None:
    content = line * (12_000_000 // len(line))
    given = Given(
        Actor("ann@example.org"), [("t.csv", content)], "table", Said("", None, None, "min", {}), silent
    )
    tracemalloc.start()
    try:
        rows = taken(given).rows
    except (ValueError, MemoryError) as problem:
        assert str(problem).endswith(".")
    else:
        assert (line, rows) == (b"a,b\n", len(content) // len(line) - 1)
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 4 * len(content)
