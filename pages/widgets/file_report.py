"""What was understood of a file, shown to the planner: how much was kept, what was left out, and why."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from pages.session.markdown import escaped
from tkm_core.residents import Report

FEW, MANY = 0.01, 0.2  # of the rows left out: up to here nothing to worry about, from here on alarming
MOST_COLUMNS = 60  # that are listed
LONGEST = 60  # characters of values that are shown
SIGNS = {",": "comma", ".": "point", ";": "semicolon", "\t": "tab", " ": "space", "|": "vertical bar"}
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Western European (cp1252)",
    "cp1250": "Central European (cp1250)",
    "cp1251": "Cyrillic (cp1251)",
    "cp850": "Western European, DOS (cp850)",
    "cp949": "Korean (cp949)",
    "cp932": "Japanese (cp932)",
    "gb18030": "Chinese (gb18030)",
}


def summary(report: Report) -> None:
    """How many rows were read and kept; the colour follows the share that was left out."""
    if report.share_left_out <= FEW:
        st.success(report.summary, icon=":material/check_circle:")
    elif report.share_left_out < MANY:
        st.warning(report.summary, icon=":material/warning:")
    else:
        st.error(f"{report.summary} Check the rows below before you use the rest.", icon=":material/error:")


def left_out(report: Report) -> None:
    """What was left out, and why, with examples."""
    if not report.dropped:
        return
    rows = [
        {
            "Rows": f"{drop.count:,}",
            "Left out because of": escaped(drop.reason),
            "For instance": escaped("; ".join(f"row {row}: {text}" for row, text in drop.examples[:3])),
        }
        for drop in report.dropped
    ]
    st.table(pd.DataFrame(rows), hide_index=True, border="horizontal")


def columns(report: Report, roles: Mapping[str, str]) -> None:
    """Each column, what it was taken as, and why; a table that wraps, so that nothing is cut off."""
    rows = [
        {
            "Column": escaped(column.name[:LONGEST]),
            "Taken as": roles.get(column.role or "", "not used"),
            "Why": escaped(column.why),
            "Values": escaped(", ".join(column.samples[:3])[:LONGEST]),
        }
        for column in report.columns[:MOST_COLUMNS]
    ]
    if rows:
        st.table(pd.DataFrame(rows), hide_index=True, border="horizontal")
    if len(report.columns) > MOST_COLUMNS:
        st.markdown(f":small[:gray[The first {MOST_COLUMNS} of {len(report.columns)} columns.]]")


def facts(report: Report) -> str:
    """Format, encoding and reference systems as a list."""
    told = {
        "Format": report.file_format,
        "Encoding": ENCODINGS.get(report.encoding or "", report.encoding),
        "Separator": SIGNS.get(report.delimiter or "", report.delimiter),
        "Decimal sign": SIGNS.get(report.decimal or "") if report.delimiter else None,
        "Reference system of the file": report.source_crs,
        "Map in metres": report.crs,
    }
    lines = [f"- {name}: {escaped(str(value))}" for name, value in told.items() if value]
    return "\n".join([*lines, *(f"- {escaped(note)}" for note in report.notes)])
