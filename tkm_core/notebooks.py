"""Display of results in notebooks: short texts, HTML tables, DataFrames, and access to figures."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

from tkm_core.extras import OF_ROOM, needs_extra

LONGEST = 60  # characters of an untrusted name


def quoted(name: str) -> str:
    r"""An untrusted name in quotation marks, shortened, on one line and without control characters.

    Examples
    --------
    >>> print(quoted("homes\n\x1b[2J"))
    'homes\n\x1b[2J'
    """
    return repr(name if len(name) <= LONGEST else name[: LONGEST - 1] + "…")


def figure(value: float) -> str:
    """A number with four digits: 1,234 or 0.1235.

    Examples
    --------
    >>> figure(1234.4), figure(0.123456), figure(2.5e9)
    ('1,234', '0.1235', '2,500,000,000')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def html_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """A small HTML table; every text is escaped, since names come from other people's files.

    Examples
    --------
    >>> html_table("<b>", [], [("a", "1")])
    '<div><strong>&lt;b&gt;</strong><table><tbody><tr><th>a</th><td>1</td></tr></tbody></table></div>'
    """
    headings = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for first, *cells in rows
    )
    return (
        f"<div><strong>{escape(title)}</strong><table>{f'<thead><tr>{headings}</tr></thead>' if head else ''}"
        f"<tbody>{lines}</tbody></table>{''.join(f'<p>{escape(note)}</p>' for note in notes)}</div>"
    )


def data_frame(columns: Mapping[str, Any], index: Any = None) -> Any:
    """A pandas DataFrame; pandas is imported only here, because it comes with the extra "geo"."""
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        error = needs_extra("to_frame", missing)
        raise error from missing
    return pd.DataFrame(dict(columns), index=index)


def room_above(room: str, what: str) -> Any:
    """Import a subpackage that builds on the caller's: "figures" for plot(), "export" for to_geodataframe().

    This is the only exception to the order of imports (`tests/test_rooms.py`): results do not depend on their figures,
    but can ask for them.
    """
    try:
        return import_module(f"tkm_core.{room}")
    except ModuleNotFoundError as missing:
        raise needs_extra(what, missing, OF_ROOM.get(room, "")) from missing
