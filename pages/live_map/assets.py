"""The component's files on the server: MapLibre from its package, our own modules, and the data of a plan by address.

Everything goes through Streamlit's own media route, under a name made from its content: no further route is
needed, and what a browser has cached is never out of date.
"""

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import streamlit as st
from streamlit.runtime import exists, get_instance

HERE = Path(__file__).parent
ENTRY = "live_map.js"
IMPORT = re.compile(r"(from )'\./(\w+\.js)'")
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".bin": "application/octet-stream",
}


def address_of(content: bytes, name: str) -> str:
    """Where the browser finds some content while this visitor's page shows it; `name` says what it is on the page.

    Without a server, as in tests of a page, there is nobody to fetch it and the name is all that is needed.
    """
    if not exists():
        return name
    return _base() + get_instance().media_file_mgr.add(content, TYPES[Path(name).suffix], f"live_map/{name}")


@lru_cache
def _base() -> str:
    """The path under which the app is served: empty, or with a slash before it."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def library() -> str:
    """The address of MapLibre."""
    return address_of(_from_package("maplibre-gl.js"), "maplibre-gl.js")


def map_sheets() -> list[str]:
    """The addresses of the map's style sheets."""
    return [address_of(_from_package("maplibre-gl.css"), "maplibre-gl.css"), sheet("live_map.css")]


def sheet(name: str) -> str:
    """The address of one of our style sheets."""
    return address_of(_source(name).encode(), name)


def entry() -> str:
    """The address of the module that Streamlit's component imports.

    It names all the others, so that a browser asks for them at once and not one after another as it comes to know them.
    """
    return [address_of(content, name) for name, content in _modules(served=exists()).items()][-1]


@lru_cache
def _modules(*, served: bool) -> dict[str, bytes]:  # noqa: ARG001  addresses are different without a server
    """Our modules, each after those it imports, with the addresses of these in it; the entry is the last."""
    placed: dict[str, str] = {}
    contents: dict[str, bytes] = {}

    def place(name: str, before: str = "") -> str:
        """Put a module in place, after those it imports, and return its address."""
        if name not in placed:
            text = IMPORT.sub(lambda found: f"{found[1]}'{place(found[2])}'", _source(name))
            contents[name] = (before + text).encode()
            placed[name] = address_of(contents[name], name)
        return placed[name]

    others = [place(path.name) for path in sorted(HERE.glob("*.js")) if path.name != ENTRY]
    place(ENTRY, "".join(f"import '{address}';\n" for address in others))
    return contents


@lru_cache
def _source(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@lru_cache
def _from_package(name: str) -> bytes:
    """A file of the package maplibre; nothing of it is imported: its Python part is for notebooks."""
    found = find_spec("maplibre")
    if found is None or found.origin is None:
        msg = "The package maplibre is missing: pip install -r requirements.txt"
        raise ModuleNotFoundError(msg)
    return (Path(found.origin).parent / "srcjs" / name).read_bytes()
