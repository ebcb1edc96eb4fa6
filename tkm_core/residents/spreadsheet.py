"""Read tables from Excel workbooks."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from python_calamine import CalamineError, CalamineWorkbook

from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import Source
from tkm_core.residents.table import LOOK_AT, Table, whole
from tkm_core.residents.text import LOOK_ROWS, first_data_row, header_of
from tkm_core.residents.vocabulary import name_score
from tkm_core.residents.workbook import check_workbook, damaged


def read_excel(source: Source, *, sheet: str | int | None = None) -> Table:
    """Read the sheet asked for, or the one that looks most like a table of residents."""
    check_workbook(source)
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(bytes(source.data)))
        names = workbook.sheet_names
        chosen = _chosen(names, sheet, source.name)
        found = [_read_sheet(workbook, name) for name in chosen]
    except (CalamineError, OSError, ValueError, TypeError, OverflowError, EOFError) as error:
        if isinstance(error, ResidentsError):
            raise
        raise damaged(source.name) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in Rust, which is not an Exception
            raise
        raise damaged(source.name) from error
    tables = [table for table in found if table is not None]
    if not tables:
        msg = f"“{source.name}” has no sheet with a table in it (sheets: {', '.join(names) or 'none'})."
        raise ResidentsError(msg, needs="sheet", suggestions=[(name, name) for name in names])
    table = max(
        tables,
        key=lambda table: sum(
            name_score(name, role) > 0
            for name in table.names
            for role in ("longitude", "latitude", "easting", "northing", "lonlat")
        ),
    )
    table.sheets = list(names)
    if len(names) > 1 and sheet is None:
        others = ", ".join(name for name in names if name != table.sheet)
        table.notes.append(f"Of {len(names)} sheets “{table.sheet}” was taken (others: {others}).")
    return table


def _chosen(names: Sequence[str], sheet: str | int | None, file: str) -> list[str]:
    """The sheets to read: the one asked for, or all."""
    if sheet is None:
        return list(names)
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return [names[sheet]]
    if sheet in names:
        return [str(sheet)]
    msg = f"“{file}” has no sheet “{sheet}”. Its sheets: {', '.join(names)}."
    raise ResidentsError(msg, needs="sheet", suggestions=[(name, name) for name in names])


def _read_sheet(workbook: CalamineWorkbook, name: str) -> Table | None:
    """Read one sheet; None if there is no table in it."""
    rows: list[list[Any]] = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
    texts = [[_shown(cell) for cell in row] for row in rows[:LOOK_ROWS]]
    used = max((place + 1 for row in texts for place, cell in enumerate(row) if cell), default=0)
    header, names, _ = header_of([row[:used] for row in texts])
    if not names:
        return None
    start = header + 1 if header is not None else first_data_row(texts, used)
    body = rows[start:]
    columns = [
        _column([row[place] if place < len(row) else "" for row in body]) for place in range(len(names))
    ]
    full = pa.table(dict(zip(names, columns, strict=True)))
    table = Table(
        "Excel", names, full.slice(0, LOOK_AT), whole(full), first_row=start + 1, header=header is not None
    )
    table.sheet = name
    return table


def _shown(cell: Any) -> str:
    """A cell as Excel shows it: whole numbers without decimals."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _column(cells: list[Any]) -> pa.Array:
    """A column of numbers if all cells are numbers or empty; otherwise of the texts that Excel shows."""
    if all(cell == "" or type(cell) in (int, float) for cell in cells):
        return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
    return pa.array([_shown(cell) or None for cell in cells], pa.string())


FORMAT = FileFormat(
    kind="excel",
    name="Excel",
    suffixes=(".xls", ".xlsx", ".xlsm"),
    read=lambda source, asked: read_excel(source, sheet=asked.sheet),
    sign=lambda head: head.startswith(b"\xd0\xcf\x11\xe0"),
    only=(".xlsx",),  # not .xls: many files of that name are text
    zip_suffixes=(".xlsx", ".xlsm"),
    zip_member="[Content_Types].xml",
)
