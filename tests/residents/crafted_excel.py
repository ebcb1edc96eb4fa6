"""Excel workbooks written by hand, sound and hostile: no library of the project writes Excel."""

import io
import struct
import zipfile
from collections.abc import Callable

from tests.residents.conftest import excel_bytes

SECTOR = 512
END = 0xFFFFFFFE
FREE = 0xFFFFFFFF
SHEET = "xl/worksheets/sheet1.xml"


def edit(data: bytes, change: Callable[[bytes], bytes], **more: bytes) -> bytes:
    """A workbook with its sheet changed, and with further parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            new.writestr(entry.filename, change(content) if entry.filename == SHEET else content)
        for name, content in more.items():
            new.writestr(f"xl/{name}.xml", content)
    return out.getvalue()


def with_cells(cells: str, rows: str = "") -> bytes:
    """A workbook whose sheet has a table, and after it cells in one more row, and more rows."""
    sound = excel_bytes([["lat", "lon"], [48.1, 2.1], [48.2, 2.2]])
    added = f"<row>{cells}</row>{rows}</sheetData>".encode()
    return edit(sound, lambda sheet: sheet.replace(b"</sheetData>", added))


def record(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def label(row: int, column: int, text: str) -> bytes:
    return record(0x0204, struct.pack("<HHHHB", row, column, 0, len(text), 0) + text.encode("latin-1"))


def number(row: int, column: int, value: float) -> bytes:
    return record(0x0203, struct.pack("<HHHd", row, column, 0, value))


def workbook_stream(cells: bytes, dimensions: tuple[int, int] = (20, 3)) -> bytes:
    """The records of a workbook with one sheet."""
    begin = struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0)
    sheet = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    sheet += (
        record(0x0200, struct.pack("<IIHHH", 0, dimensions[0], 0, dimensions[1], 0)) + cells + record(0x000A)
    )
    bound = struct.pack("<IHBB", 0, 0, 4, 0) + b"Data"
    before = len(record(0x0809, begin) + record(0x0085, bound) + record(0x000A))
    bound = struct.pack("<I", before) + bound[4:]
    return record(0x0809, begin) + record(0x0085, bound) + record(0x000A) + sheet


def town_cells() -> bytes:
    cells = b"".join(label(0, column, name) for column, name in enumerate(("lat", "lon", "population")))
    for row in range(1, 15):
        cells += number(row, 0, 48 + row / 100) + number(row, 1, 2 + row / 100) + number(row, 2, row)
    return cells


def xls_bytes(stream: bytes | None = None, chain: Callable[[list[int]], None] = lambda table: None) -> bytes:
    """A compound file with a workbook; `chain` may change which sector follows which."""
    stream = (workbook_stream(town_cells()) if stream is None else stream).ljust(4096, b"\0")
    sectors = -(-len(stream) // SECTOR)
    table = [0xFFFFFFFD, END, *range(3, 2 + sectors), END]  # the table itself, the folder, the stream
    chain(table)
    table += [FREE] * (SECTOR // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(6) + struct.pack("<IIIIIIIIIII", 0, 1, 1, 0, 4096, END, 0, END, 0, 0, FREE)[:44]
    header = header.ljust(76, b"\0")[:76] + struct.pack("<109I", 0, *[FREE] * 108)

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        title = (name + "\0").encode("utf-16-le") if name else b""
        body = title.ljust(64, b"\0") + struct.pack("<HBBIII", len(title), kind, 1, FREE, FREE, child)
        return body.ljust(116, b"\0") + struct.pack("<III", start, size, 0)

    folder = entry("Root Entry", 5, 1, END, 0) + entry("Workbook", 2, FREE, 2, len(stream))
    folder += entry("", 0, FREE, 0, 0) * 2
    return header + struct.pack("<128I", *table) + folder + stream.ljust(sectors * SECTOR, b"\0")
