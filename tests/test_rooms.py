"""The order of imports: between rooms of tkm_core, through their `__init__` only, and between the floors of the app."""

import ast
import re
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
# The same for the app, which stands on tkm_core: a file may import from its own floor and from those above it here.
APP_FLOORS = ("pages.serving", "pages.session", "pages.widgets", "pages", "app")
ON_FLOOR = {"pages.live_map": "pages.widgets"}  # the widget that is written in JavaScript
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


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in (*FILES, ROOT / "tkm_core" / "__init__.py")}


def parts_of(tree: ast.Module, *, at_import: bool) -> Iterator[ast.AST]:
    """Every node of a file but what is only there for types or for running it by itself.

    With `at_import`, functions are left out, too: their imports wait until somebody calls them.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If):
            condition = ast.unparse(node.test)
            if "__name__" in condition or (at_import and "TYPE_CHECKING" in condition):
                waiting.extend(node.orelse)
                continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def imported_files(path: Path, *, at_import: bool) -> set[str]:
    """The files of this project that a file imports, as modules."""
    found: set[str] = set()
    for node in parts_of(ast.parse(path.read_text(encoding="utf-8")), at_import=at_import):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return {name for name in found if name in MODULES}


def app_floor(module: str) -> int | None:
    """The floor of a module of the app, counted from the server upwards; None for tkm_core."""
    room = ".".join(module.split(".")[:2])
    room = ON_FLOOR.get(room, room)
    if room in APP_FLOORS:
        return APP_FLOORS.index(room)
    return APP_FLOORS.index("pages") if module.split(".")[0] == "pages" else None


APP_FILES = [path for path in FILES if not path.is_relative_to(ROOT / "tkm_core")]


@pytest.mark.parametrize("path", APP_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_app_imports_downwards_only(path: Path) -> None:
    own = app_floor(module_of(path))
    assert own is not None
    for module in imported_files(path, at_import=False):
        floor = app_floor(module)
        assert floor is None or floor <= own, f"{module} stands above {module_of(path)}, which imports it"


def test_every_folder_of_the_app_has_its_floor_and_says_what_it_is_for() -> None:
    for folder in sorted(path.parent for path in (ROOT / "pages").glob("*/__init__.py")):
        name = module_of(folder / "__init__.py")
        assert ON_FLOOR.get(name, name) in APP_FLOORS, f"{name} has no floor in this test"
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), name


def test_the_session_draws_no_control_but_the_bar_of_long_work() -> None:
    controls = re.compile(
        r"\bst\.(\w*(?:button|select|slider|input|uploader|checkbox|toggle|radio|expander)\w*)\("
    )
    drawing = {
        path.stem
        for path in (ROOT / "pages" / "session").glob("*.py")
        if controls.search(path.read_text(encoding="utf-8"))
    }
    assert drawing == {"background", "long_work"}


def test_no_files_import_each_other_in_a_circle() -> None:
    waiting = {name: imported_files(path, at_import=True) - {name} for name, path in MODULES.items()}
    while free := [name for name, needs in waiting.items() if not needs & waiting.keys()]:
        for name in free:
            del waiting[name]
    assert not waiting, f"in a circle, or importing from one: {sorted(waiting)}"


def test_imports_for_types_or_for_running_a_file_alone_are_told_from_others() -> None:
    tree = ast.parse(
        "import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c\n"
        "if __name__ == '__main__':\n    import d\nelse:\n    import e\n"
    )

    def names(*, at_import: bool) -> set[str]:
        nodes = parts_of(tree, at_import=at_import)
        return {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}

    assert names(at_import=True) == {"a", "e"}
    assert names(at_import=False) == {"a", "b", "c", "e"}
