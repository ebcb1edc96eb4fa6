"""The documentation: every public name is in the reference, and numpydoc finds its docstring complete."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numpydoc.validate import validate

import tkm_core as tkm
from docs.check_site import outside
from tkm_core.version import VERSION

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
# what numpydoc asks for and we do not
NOT_ASKED = {
    "SA01",  # "See Also"
    "ES01",  # a second paragraph
    "PR07",  # `residents : Residents` needs no more words,
    "RT03",  # nor does a Plan that is returned
}
OF_CLASSES = {"PR01", "EX01"}  # what a record holds stands under Attributes; how it is made, with its maker


def documented() -> list[str]:
    """The names that the reference takes from docstrings."""
    found, module = [], ""
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for kind, name in re.findall(r"^\.\. (currentmodule|auto(?!data)\w+):: (\S+)$", text, re.MULTILINE):
            if kind == "currentmodule":
                module = name
            else:
                found.append(name if name.startswith("tkm_core.") else f"{module}.{name}")
    return found


def the(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def test_every_public_name_is_in_the_reference() -> None:
    pages = " ".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    missing = {name for name in tkm.__all__ if not re.search(rf":: (tkm_core\.)?{name}\n", pages)}
    assert missing == {"__version__"}


@pytest.mark.parametrize("name", documented())
def test_docstrings_of_the_reference_are_complete(name: str) -> None:
    allowed = NOT_ASKED | (OF_CLASSES if inspect.isclass(the(name)) else set())
    if name.removeprefix("tkm_core.") not in tkm.__all__:
        allowed = allowed | {"EX01"}  # examples of the other rooms are in the notebooks
    problems = [f"{code}: {said}" for code, said in validate(name)["errors"] if code not in allowed]
    assert problems == []


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {VERSION}\n" in citation


def test_what_a_page_loads_from_elsewhere_is_found() -> None:
    assert outside('<a href="https://a.example">a link</a><img src="here.png">') == []
    for page in (
        '<script src="https://a.example/x.js"></script>',
        '<link rel="stylesheet" href="//a.example/x.css">',
        "<style>p { background: url(https://a.example/x.png) }</style>",
        '<iframe srcdoc="&lt;img src=&quot;https://a.example/x.png&quot;&gt;"></iframe>',
    ):
        assert len(outside(page)) == 1, page
