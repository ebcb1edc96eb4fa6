"""Excel: a workbook is checked before it is read, and one that would crash the reader gets a sentence."""

import pytest

from tests.residents.conftest import excel_bytes
from tests.residents.crafted_excel import (
    edit,
    number,
    record,
    town_cells,
    with_cells,
    workbook_stream,
    xls_bytes,
)
from tkm_core.residents import ResidentsError, load_residents, workbook
from tkm_core.residents.source import Source


def test_an_old_workbook_is_read():
    residents = load_residents(xls_bytes(), name="town.xls")
    assert len(residents) == 14 and residents.weights.sum() == 105


@pytest.mark.parametrize(
    "cells",
    [
        '<c r="XFD1048576"><v>1</v></c>',
        "<c r='xfd1048576'><v>1</v></c>",
        '<c s="1" r = "XFD1048576"><v>1</v></c>',
        '<c r="A1048576"><v>1</v></c><c r="XFD3"><v>1</v></c>',
        '<x:c r="$XFD$1048576"><v>1</v></x:c>',
        '<c r="ZZZZZZZ999999999"><v>1</v></c>',
        '<c r="A1048576"><v>1</v></c>' + "<c><v>1</v></c>" * 400,
    ],
)
def test_a_cell_far_away(cells):
    with pytest.raises(ResidentsError, match="reaches over"):
        load_residents(with_cells(cells), name="town.xlsx")


def test_rows_and_cells_that_do_not_say_where_they_are():
    with pytest.raises(ResidentsError, match="reaches over"):
        load_residents(with_cells("<c><v>1</v></c>" * 16_000, "<row/>" * 2_000), name="town.xlsx")


def test_a_far_cell_is_found_wherever_blocks_end(monkeypatch):
    data = with_cells('<c  r =  "XFD1048576"><v>1</v></c>')
    for step in range(1, 60):
        monkeypatch.setattr("tkm_core.residents.source.STEP", step)
        with pytest.raises(ResidentsError, match="reaches over"):
            workbook.check_workbook(Source("town.xlsx", data))


def test_a_long_table_is_not_far_away(monkeypatch):
    rows = [["lat", "lon"], *([48 + row / 1e4, 2.1] for row in range(300))]
    monkeypatch.setattr(workbook, "MOST_CELLS", 301 * 2)
    assert len(load_residents(excel_bytes(rows), name="town.xlsx")) == 300
    placed = "".join(f'<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>' for row in range(1, 300))
    workbook.check_workbook(Source("town.xlsx", edit(excel_bytes([["a", "b"]]), lambda _: placed.encode())))


def test_a_text_that_is_repeated_without_end(monkeypatch):
    monkeypatch.setattr(workbook, "MOST_TEXT", 1 << 20)
    strings = b"<sst><si><t>short</t></si><si><t>" + b"x" * 30_000 + b"</t></si></sst>"
    few, many = '<c t="s"><v>1</v></c>' * 30, '<c t="s"><v>1</v></c>' * 40
    workbook.check_workbook(Source("a.xlsx", edit(with_cells(few), bytes, sharedStrings=strings)))
    with pytest.raises(ResidentsError, match="repeat long texts"):
        load_residents(edit(with_cells(many), bytes, sharedStrings=strings), name="town.xlsx")


@pytest.mark.parametrize(
    ("place", "next_sector"), [(2, 2), (5, 3), (9, 2), (1, 1), (4, 1), (3, 5_000)], ids=str
)
def test_sectors_that_go_round_in_circles(place, next_sector):
    def change(table):
        table[place] = next_sector

    with pytest.raises(ResidentsError, match="not a readable Excel workbook"):
        load_residents(xls_bytes(chain=change), name="town.xls")


def test_a_list_of_tables_that_goes_round_in_circles():
    data = bytearray(xls_bytes())
    data[68:76] = (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
    data[512 + 508 : 512 + 512] = (0).to_bytes(4, "little")
    with pytest.raises(ResidentsError, match="not a readable Excel workbook"):
        load_residents(bytes(data), name="town.xls")


@pytest.mark.parametrize("place", [40, 44, 64, 72, 1024 + 120, 1024 + 128 + 120])
def test_counts_that_no_file_of_this_size_can_have(place):
    data = bytearray(xls_bytes())
    data[place : place + 4] = b"\xfe\xff\xff\x7f"
    with pytest.raises(ResidentsError, match="not a readable Excel workbook"):
        load_residents(bytes(data), name="town.xls")
    stream = workbook_stream(record(0x00FC, b"\xff\xff\xff\x7f" * 2) + town_cells())
    with pytest.raises(ResidentsError, match="not a readable Excel workbook"):
        load_residents(xls_bytes(stream), name="town.xls")


@pytest.mark.parametrize(
    "stream",
    [
        workbook_stream(town_cells() + number(65_535, 65_535, 1.0)),
        workbook_stream(town_cells(), dimensions=(0xFFFFFFFF, 0xFFFF)),
        workbook_stream(town_cells(), dimensions=(65_536, 0xFFFF)),
    ],
)
def test_an_old_workbook_that_reaches_too_far(stream):
    with pytest.raises(ResidentsError, match="reaches over"):
        load_residents(xls_bytes(stream), name="town.xls")
