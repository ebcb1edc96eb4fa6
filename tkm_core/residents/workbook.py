"""Check Excel workbooks before they are read: the extent of their cells and the consistency of their parts."""

import re
import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import LARGEST_SHEET, Buffer, Source, archive, drain, limit, member

MOST_CELLS = 20_000_000  # readers allocate every cell between the first and the last
MOST_TEXT = 2 << 30  # bytes of text in all cells; repeats count, because readers copy them
ROW = re.compile(rb"<(?:\w+:)?row\b")
CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
PLACE = re.compile(rb"""\br\s*=\s*["']\s*\$?([A-Za-z]*)\$?(\d*)""")
STRING = re.compile(rb"<(?:\w+:)?si\b")
STRING_USED = re.compile(rb"""\bt\s*=\s*["']s["'][^>]*>[^<]*<(?:\w+:)?v[^>]*>\s*(\d{1,9})""")

# Constants of .xls files: sector numbers, and the records that hold cells.
END = 0xFFFFFFFA  # sector numbers from here on are markers: end of chain, free sector
ROWS, COLUMNS = 65_536, 256
DIMENSIONS, TEXTS = 0x0200, 0x00FC
CELLS = {0x0006, 0x00BD, 0x00BE, 0x00D6, 0x00FD, 0x0201, 0x0203, 0x0204, 0x0205, 0x027E}


def check_workbook(source: Source) -> None:
    """Refuse a workbook that would need too much memory, or whose parts form an endless loop."""
    if source.data[:2] == b"PK":
        _check_xlsx(source)
        return
    try:
        _check_xls(source)
    except (struct.error, IndexError, ValueError) as error:
        if isinstance(error, ResidentsError):
            raise
        raise damaged(source.name) from error


def damaged(name: str) -> ResidentsError:
    """The error for a workbook that cannot be read."""
    return ResidentsError(
        f"“{name}” is not a readable Excel workbook: damaged, or protected. Save it again as .xlsx or CSV."
    )


def _too_wide(name: str, rows: int, columns: int) -> ResidentsError:
    """The error for a sheet with a cell far from the table."""
    msg = f"A sheet of “{name}” reaches over {rows:,} rows and {columns:,} columns. Most likely a cell far away from "
    return ResidentsError(
        msg + "the table is filled: delete the rows and columns after the table, or save it as CSV."
    )


def _check_xlsx(source: Source) -> None:
    """Unpack every part without keeping it, to see how far the cells reach and how often texts repeat."""
    lengths = np.zeros(0, dtype=np.int64)
    text = 0
    with archive(source) as packed:
        left = min(limit(len(source.data)), LARGEST_SHEET)
        for entry in sorted(
            packed.infolist(), key=lambda entry: "sharedstrings" not in entry.filename.lower()
        ):
            with member(packed, entry, source.name) as stream:
                blocks = drain(stream, source.name, left)
                if "sharedstrings" in entry.filename.lower():
                    lengths = np.concatenate([lengths, _string_lengths(blocks)])
                else:
                    text += _check_sheet(blocks, source.name, lengths)
            left -= min(left, entry.file_size)
    if text > MOST_TEXT:
        msg = f"The cells of “{source.name}” repeat long texts, in all more than {MOST_TEXT >> 20:,} MB. "
        raise ResidentsError(msg + "Delete the columns of long texts, or save it as CSV.")


def _whole_tags(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Regroup blocks so that none cuts a tag in two."""
    rest = b""
    for block in blocks:
        rest += block
        end = rest.rfind(b"<")
        if end > 0:
            yield rest[:end]
            rest = rest[end:]
    yield rest


def _string_lengths(blocks: Iterator[bytes]) -> npt.NDArray[np.int64]:
    """Upper bounds on the bytes of each shared text."""
    lengths = [0]
    for block in _whole_tags(blocks):
        first, *others = (len(piece) for piece in STRING.split(block))
        lengths[-1] += first
        lengths += others
    return np.array(lengths[1:], dtype=np.int64)


def _check_sheet(blocks: Iterator[bytes], name: str, lengths: npt.NDArray[np.int64]) -> int:
    """Bytes of shared text in the cells of a sheet; a sheet that reaches too far is refused."""
    rows = cells = in_row = most_in_row = placed = placed_rows = last_row = last_column = text = 0
    for block in _whole_tags(blocks):
        for number, piece in enumerate(ROW.split(block)):
            rows, in_row = (rows + 1, 0) if number else (rows, in_row)
            in_row += len(CELL.findall(piece))
            most_in_row = max(most_in_row, in_row)
        cells += len(CELL.findall(block))
        places = PLACE.findall(block)
        last_row = max(last_row, max((int(row[:9] or 0) for _, row in places), default=0))
        last_column = max(last_column, *map(_column_number, {column for column, _ in places}), 0)
        in_place = sum(1 for column, _ in places if column)
        placed, placed_rows = placed + in_place, placed_rows + len(places) - in_place
        if len(lengths):
            numbers = np.array([int(number) for number in STRING_USED.findall(block)], dtype=np.int64)
            text += int(lengths[numbers[numbers < len(lengths)]].sum())
    # a row or cell without a position follows the one before it
    height = last_row + (rows if placed_rows < rows else 0)
    width = last_column + (most_in_row if placed < cells else 0)
    if height * width > MOST_CELLS:
        raise _too_wide(name, height, width)
    return text


def _column_number(letters: bytes) -> int:
    """A column's number from its letters."""
    number = 0
    for letter in letters.upper()[:7]:
        number = 26 * number + letter - 64
    return number


def _check_xls(source: Source) -> None:
    """Follow every chain of sectors once, and check where the cells of the workbook lie."""
    data, name = source.data, source.name
    shift, small_shift = struct.unpack_from("<HH", data, 30)
    first_folder, smallest, first_small = (struct.unpack_from("<I", data, place)[0] for place in (48, 56, 60))
    if shift not in (9, 12) or small_shift != 6:
        raise damaged(name)
    size = 1 << shift
    # a reader allocates as many as the file announces
    counts = [struct.unpack_from("<I", data, place)[0] for place in (40, 44, 64, 72)]
    if max(counts) > len(data) // size:
        raise damaged(name)
    table = _sector_table(data, name, size)
    taken = np.zeros(len(table), dtype=bool)

    def content(start: int) -> bytes:
        """The bytes of the stream that begins in a sector."""
        return b"".join(
            data[(place + 1) * size : (place + 2) * size] for place in _chain(start, table, taken, name)
        )

    folder = content(first_folder)
    small_table = np.frombuffer(content(first_small), dtype="<u4") if first_small < END else table[:0]
    small_taken = np.zeros(len(small_table), dtype=bool)
    for place in range(0, len(folder) - 127, 128):
        title = folder[place : place + min(64, *struct.unpack_from("<H", folder, place + 64))].decode(
            "utf-16-le", "ignore"
        )
        kind, (start, length) = (
            folder[place + 66],
            struct.unpack_from("<IQ" if shift == 12 else "<II", folder, place + 116),
        )
        if length > len(data):
            raise damaged(name)
        if kind == 2 and length < smallest:
            for _ in _chain(start, small_table, small_taken, name):
                pass
        elif kind in (2, 5) and start < END:
            stream = content(start)
            if title.rstrip("\0").lower() in ("workbook", "book"):
                _check_records(stream, name)


def _sector_table(data: Buffer, name: str, size: int) -> npt.NDArray[np.uint32]:
    """The table that gives the next sector of each sector, assembled from its parts."""
    sectors = len(data) // size
    listed = list(struct.unpack_from("<109I", data, 76))
    following = struct.unpack_from("<I", data, 68)[0]
    for _ in range(sectors):
        if following >= END:
            break
        *more, following = struct.unpack_from(f"<{size // 4}I", data, (following + 1) * size)
        listed += more
    else:
        raise damaged(name)
    listed = [place for place in listed if place < END]
    if len(listed) > sectors or len(set(listed)) < len(listed):
        raise damaged(name)
    return np.concatenate(
        [np.frombuffer(data[(place + 1) * size : (place + 2) * size], dtype="<u4") for place in listed]
        or [np.zeros(0, dtype="<u4")]
    )


def _chain(
    start: int,
    table: npt.NDArray[np.uint32],
    taken: npt.NDArray[np.bool_],
    name: str,
) -> Iterator[int]:
    """The sectors of one stream in order; a sector used twice is refused."""
    while start < END:
        if start >= len(table) or taken[start]:
            raise damaged(name)
        taken[start] = True
        yield start
        start = int(table[start])


def _check_records(stream: bytes, name: str) -> None:
    """Refuse cells beyond the limits of .xls: a reader would allocate all cells up to them."""
    place, end = 0, len(stream) - 4
    while place <= end:
        kind, length = struct.unpack_from("<HH", stream, place)
        if kind == DIMENSIONS and length >= 10:
            parts = struct.unpack_from("<IIHH" if length >= 12 else "<HHHH", stream, place + 4)
            if parts[1] > ROWS or parts[3] > COLUMNS:
                raise _too_wide(name, parts[1], parts[3])
        elif kind == TEXTS and length >= 8 and struct.unpack_from("<I", stream, place + 8)[0] > len(stream):
            raise damaged(name)
        elif kind in CELLS and length >= 4:
            row, column = struct.unpack_from("<HH", stream, place + 4)
            if column >= COLUMNS:
                raise _too_wide(name, row + 1, column + 1)
        place += 4 + length
