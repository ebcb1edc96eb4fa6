"""Read CSV and other delimited text: find the delimiter and header, mend ragged lines, parse with Arrow."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from tkm_core.residents.encodings import to_utf8
from tkm_core.residents.file_format import Asked, FileFormat
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.numbers import read_number
from tkm_core.residents.source import Buffer, Source
from tkm_core.residents.table import LOOK_AT, Table, check_width, unique_names

HEAD = 2 << 20  # bytes by which the columns are recognised
LOOK = 1 << 20  # bytes by which delimiter and header are found
LOOK_ROWS = 400
TITLES = 40  # the most rows of titles above a header
LONGEST_LINE = 8 << 20  # bytes
BLOCK = 1 << 20  # bytes parsed at a time; small blocks keep all cores busy
MOST_RAGGED = 100_000
csv.field_size_limit(LONGEST_LINE)  # polygons make long fields
USUAL = (",", ";", "\t", "|")
ODD = "^~#:!$%&*/\\@=¦§¬•\x01\x1c\x1d\x1e\x1f"
NOTHING = ["", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "nan", "NaN", "-", "#N/A", "\\N"]
NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


@dataclass
class Layout:
    """How a text file is laid out: where the data begin, in bytes and in rows, and the columns."""

    delimiter: str
    names: list[str]
    start: int
    first_row: int
    header: bool
    numeric: list[bool]


def read_text(source: Source, *, encoding: str | None = None, delimiter: str | None = None) -> Table:
    """Open a text file as a table; its columns are parsed when fetched."""
    data, encoding, warnings = to_utf8(source.data, source.name, encoding)
    check_lines(data, source.name)
    look = whole_lines(data, LOOK)
    chosen = NAMED.get(delimiter, delimiter) if delimiter else guess_delimiter(look)
    told = chosen
    # Arrow needs a delimiter of one byte: rewrite the table with tabs.
    if len(chosen.encode()) != 1 or chosen == " ":
        data = _retab(data, chosen)
        chosen, look = "\t", whole_lines(data, LOOK)
    layout = find_header(look, chosen)
    if not layout.names:
        msg = f"“{source.name}” holds no table: no line of it has two fields or more."
        raise ResidentsError(msg, needs="delimiter")
    check_width(len(layout.names))
    head, _ = parse(
        data[layout.start : layout.start + HEAD], layout, layout.names, cut=len(data) > layout.start + HEAD
    )
    head = head.slice(0, LOOK_AT)
    table = Table("text", layout.names, head, lambda names: head.select(list(names)))
    table.first_row, table.header, table.encoding = (layout.first_row, layout.header, encoding)
    table.delimiter, table.warnings = told, warnings
    body = pa.py_buffer(data)[layout.start :]

    def fetch(names: Sequence[str]) -> pa.Table:
        """Parse whole columns and note how many lines were mended."""
        columns, ragged = parse(body, layout, list(names), floats=table.plain_numbers & {*names})
        if ragged:
            lines = "line has" if ragged == 1 else "lines have"
            note = f"{ragged:,} {lines} more or fewer fields than the header: filled up or cut off, and read last."
            table.notes.append(note)
        return columns

    table.fetch = fetch
    return table


def check_lines(data: Buffer, name: str) -> None:
    """Refuse a file whose first line is absurdly long, before anything is built from it."""
    end = min(
        (place for mark in (b"\n", b"\r") if (place := data.find(mark, 0, LONGEST_LINE)) >= 0), default=-1
    )
    if end < 0 and len(data) > LONGEST_LINE:
        msg = (
            f"“{name}” has a line of over {LONGEST_LINE >> 20} MB and is not a table. Export it again as CSV."
        )
        raise ResidentsError(msg)


def whole_lines(data: Any, size: int) -> str:
    """The beginning of a file up to the last line end within `size` bytes, as text."""
    block = bytes(data[:size])
    if len(data) > size:
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        block = block[: end + 1] if end >= 0 else block
    return block.decode("utf-8", "replace")


def _rows(text: str, delimiter: str, limit: int = LOOK_ROWS) -> list[list[str]]:
    """The first rows, cut into fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    try:
        for row in reader:
            rows.append([cell.strip() for cell in row])
            if len(rows) >= limit:
                break
    except csv.Error:
        pass  # an unclosed quote or a stray carriage return: use the rows before it
    return rows


def guess_delimiter(look: str) -> str:
    r"""The character that cuts most lines into the same number of fields.

    Examples
    --------
    >>> guess_delimiter("lon;lat\n6,09;50,76\n10,1;48,8\n")
    ';'
    """
    lines = [line for line in look.splitlines()[:LOOK_ROWS] if line.strip()]
    odd = [mark for mark in ODD if sum(mark in line for line in lines) > 0.8 * len(lines)]
    scores = {}
    for mark in (*USUAL, *odd):
        rows = [row for row in _rows(look, mark) if any(row)]
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        signs = [other for other in (*USUAL[1:], '"') if other != mark]
        foreign = sum(any(sign in cell for sign in signs) for row in rows for cell in row)
        if width > 1:
            even = count / len(rows)
            scores[mark] = even * (1 - foreign / sum(map(len, rows))) * (
                1 if mark in USUAL or not mark.isascii() else 0.8
            ) + 0.001 * min(width, 50)
    best = max(scores, key=lambda mark: scores[mark], default=",")
    if scores.get(best, 0) < 0.5:
        widths = Counter(len(line.split()) for line in lines)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        if width > 1 and count > 0.8 * len(lines) and count / len(lines) > scores.get(best, 0):
            return " "
    return best


def _retab(data: Buffer, delimiter: str) -> bytes:
    """Rewrite with tabs a table whose delimiter Arrow does not accept (runs of spaces, other scripts)."""
    text = bytes(data).decode("utf-8", "replace")
    if delimiter == " ":
        return "\n".join("\t".join(line.split()) for line in text.splitlines()).encode()
    return text.replace("\t", " ").replace(delimiter, "\t").encode()


def is_number(cell: str) -> bool:
    """Whether a cell is a number, not a name that begins with one."""
    return bool(re.match(r"\s*[+−-]?[\d.,]", cell)) and read_number(cell) == read_number(cell)


def find_header(look: str, delimiter: str) -> Layout:
    """Find the row of column names, which may follow rows of titles or be missing."""
    rows = _rows(look, delimiter)
    header, names, numeric = header_of(rows)
    if not names:
        return Layout(delimiter, [], 0, 1, header=False, numeric=[])
    skipped = header if header is not None else first_data_row(rows, len(names))
    lines = skipped + 1 if header is not None else skipped
    reader = csv.reader(io.StringIO(look, newline=""), delimiter=delimiter)
    for _ in range(lines):
        next(reader)
    ends = re.finditer(r"[^\r\n]*(?:\r\n|\r|\n|$)", look)
    start = sum(len(line[0].encode()) for line in islice(ends, reader.line_num))
    return Layout(delimiter, names, start, lines + 1, header is not None, numeric)


def first_data_row(rows: list[list[str]], width: int) -> int:
    """Index of the first row of full width."""
    return next((number for number, row in enumerate(rows) if len(row) == width), 0)


def header_of(rows: list[list[str]]) -> tuple[int | None, list[str], list[bool]]:
    """Index of the header row (None if there is none), the column names, and which columns hold numbers."""
    widths = Counter(len(row) for row in rows if any(row))
    wide = {width: count for width, count in widths.items() if width > 1}
    if not wide:
        return None, [], []
    width = max(wide, key=lambda size: (wide[size], size))
    full = [number for number, row in enumerate(rows[:TITLES]) if sum(map(bool, row)) >= max(2, 0.5 * width)]
    start = next(
        (number for number in full if width - 1 <= len(rows[number]) <= width), first_data_row(rows, width)
    )
    body = [row for row in rows[start + 1 :] if len(row) == width][:100]
    numeric = []
    for column in range(width):
        cells = [row[column] for row in body if row[column] not in NOTHING]
        numeric.append(len(cells) > 0 and sum(map(is_number, cells)) > 0.7 * len(cells))
    first = rows[start] + [""] * (width - len(rows[start]))
    data_like = [is_number(first[column]) for column in range(width) if numeric[column] and first[column]]
    named = not data_like or sum(data_like) <= 0.5 * len(data_like)
    if not named:
        return None, [f"Column {number}" for number in range(1, width + 1)], numeric
    return start, unique_names(first[:width]), numeric


def parse(
    data: Any, layout: Layout, names: list[str], *, cut: bool = False, floats: Iterable[str] = ()
) -> tuple[pa.Table, int]:
    """Parse some columns; lines with too many or too few fields are mended and put last.

    Columns in `floats` are parsed as numbers if every value in them is one; all other columns are text.
    """
    if cut:
        block = bytes(data)
        data = block[: max(block.rfind(b"\n"), block.rfind(b"\r")) + 1]
    buffer = pa.py_buffer(data)
    if floats:
        try:
            table, ragged = _parse(buffer, layout, names, newlines=False, floats=floats)
            if not ragged:
                return table, 0
        except ResidentsError:
            pass  # not all are numbers after all: parsed again as text
    table, ragged = _parse(buffer, layout, names, newlines=False)
    if ragged and b'"' in b"".join(line.encode() for line in ragged[:1000]):
        with_newlines, fewer = _parse(buffer, layout, names, newlines=True)
        if len(fewer) < len(ragged):
            table, ragged = with_newlines, fewer
    if not ragged:
        return table, 0
    try:
        rows = [row for row in csv.reader(ragged, delimiter=layout.delimiter) if any(row)]
    except csv.Error as error:
        msg = "Some lines of the file cannot be split into fields. Check the delimiter and the quotes."
        raise ResidentsError(msg, needs="delimiter") from error
    mended = [fit(row, layout.numeric) for row in rows]
    place_of = {name: place for place, name in enumerate(layout.names)}
    extra = pa.table(
        {name: pa.array([row[place_of[name]] or None for row in mended], pa.string()) for name in names}
    )
    return pa.concat_tables([table, extra]), len(mended)


def fit(row: list[str], numeric: list[bool]) -> list[str]:
    """Cut or fill a line to the right number of fields, at whichever end fits its numbers to number columns."""
    width = len(numeric)
    missing = width - len(row)
    left = row[:width] + [""] * missing
    right = row[-width:] if missing < 0 else left

    def fits(cells: list[str]) -> int:
        """How many fields have the type of their column."""
        return sum(is_number(cell) == number for cell, number in zip(cells, numeric, strict=True) if cell)

    return left if fits(left) >= fits(right) else right


def _parse(
    buffer: pa.Buffer,
    layout: Layout,
    names: list[str],
    *,
    newlines: bool,
    block: int = BLOCK,
    floats: Iterable[str] = (),
) -> tuple[pa.Table, list[str]]:
    """Parse columns with Arrow; also return the lines with the wrong number of fields."""
    ragged: list[str] = []

    def keep_aside(row: Any) -> str:
        """Collect a ragged line; give up when there are too many."""
        ragged.append(row.text)
        return "skip" if len(ragged) < MOST_RAGGED else "error"

    if buffer.size == 0:
        return pa.table({name: pa.array([], pa.string()) for name in names}), []
    try:
        table = pacsv.read_csv(
            pa.BufferReader(buffer),
            pacsv.ReadOptions(column_names=layout.names, block_size=block),
            pacsv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=newlines, invalid_row_handler=keep_aside
            ),
            pacsv.ConvertOptions(
                column_types=dict.fromkeys(layout.names, pa.string()) | dict.fromkeys(floats, pa.float64()),
                include_columns=names,
                null_values=NOTHING,
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if "straddl" in str(error) and block < LONGEST_LINE:
            return _parse(buffer, layout, names, newlines=newlines, block=LONGEST_LINE, floats=floats)
        reason = "its lines do not match"
        if len(ragged) == MOST_RAGGED:
            reason = "too many lines have more or fewer fields than the header. Check the delimiter"
        elif "straddl" in str(error):
            reason = "a line of it is too long"
        msg = f"The file cannot be read as a table: {reason}."
        raise ResidentsError(msg, needs="delimiter") from error
    return table, ragged


def _read(source: Source, asked: Asked) -> Table:
    """Read text, named after its delimiter."""
    table = read_text(source, encoding=asked.encoding, delimiter=asked.delimiter)
    table.file_format = {",": "CSV", "\t": "Tab-separated text"}.get(table.delimiter or "", "Delimited text")
    return table


# last resort: a file that no sign identifies is text
FORMAT = FileFormat(
    kind="text",
    name="CSV",
    suffixes=(".csv", ".tsv", ".txt", ".tab", ".dat"),
    read=_read,
    upload="CSV or other text",
)
