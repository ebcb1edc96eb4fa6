"""An upload before it is used: the files, the planner's corrections, and what was understood."""

import hashlib
import io
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame.words import escaped
from tkm_core.config import config
from tkm_core.jobs import tasks
from tkm_core.residents import Report, Residents

__all__ = [
    "NamedBytes",
    "choices",
    "columns_table",
    "discard",
    "escaped",
    "facts",
    "files",
    "left_out",
    "questions",
    "read",
]

GUESS = "as guessed"
NONE = "none: every row counts once"
ROLES = {
    "x": "Longitude or easting",
    "y": "Latitude or northing",
    "weight": "Number of people",
    "group": "District or group",
    "id": "Identifier",
}
FREE = {
    "crs": "Reference system of the coordinates",
    "encoding": "Encoding of the text",
    "delimiter": "Separator between columns",
    "decimal": "Decimal sign",
}
USUAL = {
    "crs": ["EPSG:4326", "EPSG:3857", "EPSG:25832", "EPSG:27700", "EPSG:2056", "EPSG:2154"],
    "encoding": ["utf-8", "cp1252", "latin-1", "utf-16", "cp949", "shift_jis", "gb18030"],
    "delimiter": [",", ";", "\t", "|"],
    "decimal": [".", ","],
}


class NamedBytes(io.BytesIO):
    """The content of a file with its name."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def files() -> list[NamedBytes]:
    """The uploader; what it was given stays until it is replaced, used or discarded."""
    given = st.file_uploader(
        "Your file (all parts of a shapefile together)",
        accept_multiple_files=True,
        max_upload_size=config().upload_mb,
        key="upload",
        on_change=_forget_corrections,
    )
    if given:
        st.session_state["draft"] = [(file.name, file.getvalue()) for file in given]
    return [NamedBytes(name, content) for name, content in st.session_state.get("draft", [])]


def _forget_corrections() -> None:
    st.session_state.pop("draft", None)
    for name in [*ROLES, *FREE, "sheet", "layer", "keep_suspect"]:
        st.session_state.pop(f"fix_{name}", None)


def discard() -> None:
    """Forget the draft, its corrections and what was read from it."""
    _forget_corrections()
    st.session_state.pop("draft_read", None)


def choices() -> dict[str, Any]:
    """The planner's corrections as arguments for `load_residents`."""
    found: dict[str, Any] = {}
    for name in [*ROLES, *FREE, "sheet", "layer"]:
        value = st.session_state.get(f"fix_{name}", GUESS)
        if value not in (GUESS, None):
            found[name] = False if value == NONE else value
    if st.session_state.get("fix_keep_suspect"):
        found["keep_suspect"] = True
    return found


def read(given: list[NamedBytes], chosen: dict[str, Any]) -> Residents:
    """Read the files, once for the same content and corrections; kept for this visitor only."""
    digest = hashlib.blake2b(repr(sorted(chosen.items())).encode(), digest_size=16)
    for file in given:
        digest.update(file.name.encode())
        digest.update(file.getbuffer())
    key = digest.hexdigest()
    kept = st.session_state.get("draft_read")
    if kept is None or kept[0] != key:
        with st.spinner("Reading the file", show_time=True):
            parts = [(file.name, file.getvalue()) for file in given]
            found = tasks.residents(
                key, parts, chosen, lambda _fraction, _text: st.session_state.get("draft")
            )
        kept = key, found
        st.session_state["draft_read"] = kept
    return kept[1]


def questions(
    report: Report | None, *, needs: str | None = None, suggestions: list[tuple[str, str]] | None = None
) -> None:
    """Every guess, correctable; what is needed to go on stands first and open."""
    if needs in FREE:
        _free(needs, suggestions or [])
    with st.expander("Correct what was guessed", icon=":material/edit:", expanded=needs is not None):
        columns: list[str] = (
            []
            if report is None
            else [column.name for column in report.columns] or [str(name) for name in report.preview]
        )
        taken = {} if report is None else {role: report.column_for(role) for role in ROLES}
        for role, label in ROLES.items():
            options = [GUESS, *([NONE] if role not in ("x", "y") else []), *columns]
            words = {GUESS: f"as guessed: {taken.get(role) or 'none'}"}
            st.selectbox(label, options, format_func=partial(_in_words, words), key=f"fix_{role}")
        for name, many in (
            ("sheet", [] if report is None else report.sheets),
            ("layer", [] if report is None else report.layers),
        ):
            if len(many) > 1:
                st.selectbox(name.capitalize(), [GUESS, *many], key=f"fix_{name}")
        for name in FREE:
            if name != needs:
                _free(name, suggestions if name == needs else [], report)
        st.checkbox("Keep points at (0, 0) and lone points far away", key="fix_keep_suspect")


def _in_words(words: dict[str, str], option: str) -> str:
    return words.get(option, option)


def _free(name: str, suggestions: list[tuple[str, str]] | None, report: Report | None = None) -> None:
    names = dict(suggestions or [])
    guess = None
    if report is not None:
        guess = report.source_crs if name == "crs" else getattr(report, name)
    shown = {"\t": "tab", ",": "comma  ,", ";": "semicolon  ;", ".": "point  ."}
    options = [GUESS, *names, *(value for value in USUAL[name] if value not in names)]

    def words(option: str) -> str:
        if option == GUESS:
            return f"as guessed: {shown.get(guess, guess)}" if guess else "as guessed"
        return f"{option}  {names[option]}" if option in names else shown.get(option, option)

    st.selectbox(
        FREE[name],
        options,
        format_func=words,
        key=f"fix_{name}",
        accept_new_options=True,
        help="Choose, or type another, for instance EPSG:3435." if name == "crs" else None,
    )


def left_out(report: Report) -> None:
    """What was left out, and why, with examples."""
    if not report.dropped:
        return
    rows = [
        {
            "Rows": drop.count,
            "Left out because": drop.reason,
            "For instance": "; ".join(f"row {row}: {text}" for row, text in drop.examples[:3]),
        }
        for drop in report.dropped
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def columns_table(report: Report) -> pd.DataFrame:
    """Each column, what it was taken for, and why."""
    return pd.DataFrame(
        [
            {
                "Column": column.name,
                "Taken as": column.role or "not used",
                "Why": column.why,
                "Values": ", ".join(column.samples[:3]),
            }
            for column in report.columns
        ]
    )


def facts(report: Report) -> str:
    """Format, encoding and reference systems as a list."""
    told = {
        "Format": report.file_format,
        "Encoding": report.encoding,
        "Separator": {"\t": "tab"}.get(report.delimiter or "", report.delimiter),
        "Decimal sign": report.decimal,
        "Reference system of the file": report.source_crs,
        "Map in metres": report.crs,
    }
    lines = [f"- {name}: {escaped(str(value))}" for name, value in told.items() if value]
    return "\n".join([*lines, *(f"- {escaped(note)}" for note in report.notes)])
