"""The order of imports between subpackages (rooms), which go through each room's `__init__` only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A room may import from the rooms above it, not from its neighbours or from below.
FLOORS = (
    {"arrays", "extras", "processors", "progress", "version", "units", "wording"},
    {"measures", "notebooks", "spread"},
    {"partitions"},
    {"residents", "clustering"},
    {"streets", "sites"},
    {"evaluation"},
    {"methods"},
    {"planning"},
    {"stories"},
    {"figures", "export"},
    {"experiments"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(
    path
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "tkm_core").rglob("*.py"))
    if path != ROOT / "tkm_core" / "__init__.py"  # the front door of the house opens every room
)


def imported(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every module a file imports, wherever in the file, with the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports name their room"
            yield node.module or "", [alias.name for alias in node.names]


def room_of(path: Path) -> str:
    """The room of a file of tkm_core: a folder, or a module of its own."""
    parts = path.relative_to(ROOT / "tkm_core").with_suffix("").parts
    return "cli" if parts[0] == "__main__" else parts[0]


def rooms(module: str, names: list[str]) -> set[str]:
    """The rooms of tkm_core that an import reaches into."""
    parts = module.split(".")
    if parts[0] != "tkm_core":
        return set()
    return {parts[1]} if len(parts) > 1 else {name for name in names if name in FLOOR}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way_and_through_the_front_door(path: Path) -> None:
    core = path.is_relative_to(ROOT / "tkm_core")
    own = room_of(path) if core else ""
    for module, names in imported(path):
        if core:
            assert module.split(".")[0] not in ("streamlit", "pages", "app"), f"{own} imports {module}"
            for room in rooms(module, names) - {own}:
                assert FLOOR[room] < FLOOR[own], f"{own} imports from {room}, which stands above it"
        reached = module.split(".")
        if reached[0] == "tkm_core" and len(reached) > 2 and reached[1] != own:
            pytest.fail(f"{module}: import from tkm_core.{reached[1]}, which says what others may use")


def test_every_room_has_its_floor_and_says_what_it_is_for() -> None:
    for path in (ROOT / "tkm_core").iterdir():
        if path.name.startswith("__") or path.name == "py.typed":
            continue
        assert path.stem in FLOOR, f"{path.stem} has no floor in this test"
        door = path / "__init__.py" if path.is_dir() else path
        assert ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))), f"{door} has no docstring"
