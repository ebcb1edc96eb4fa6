"""The planner's own table: long and wide, whole and broken."""

import io

import numpy as np
import pandas as pd
import pytest

from tkm_core import read_travel
from tkm_core.sites import travel_rows

LONG = "origin,destination,minutes\na,x,1\na,y,2.5\nb,x,\nb,y,4\nc,x,9\n"
WIDE = "name;x;y;z\na;1;2.5;7\nb;;4;7\n"


def read(text, residents=("a", "b"), sites=("x", "y"), unit="min"):
    return read_travel(io.StringIO(text), residents, sites, unit=unit)


def test_long_and_wide_say_the_same():
    for text in (LONG, WIDE):
        found = read(text)
        assert np.array_equal(found.values, [[1, 2.5], [np.inf, 4]])
        assert (found.unit, found.missing, found.unreachable.tolist()) == ("min", 1, [])
    assert read(LONG).unused == ("c",)
    assert read(WIDE).unused == ("z",)


def test_rows_follow_the_names_asked_for_and_missing_pairs_are_counted():
    found = read(LONG, ["c", "nobody", "a"], ["y", "x"])
    assert np.array_equal(found.values, [[np.inf, 9], [np.inf, np.inf], [2.5, 1]])
    assert found.missing == 3
    assert found.unreachable.tolist() == [1]


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [("h", 60, "min"), ("s", 1 / 60, "min"), ("km", 1000, "m"), ("mi", 1609.344, "m")],
)
def test_units(unit, factor, base):
    found = read(LONG, unit=unit)
    assert found.unit == base
    assert found.values[0, 1] == pytest.approx(2.5 * factor)


def test_numbers_as_names():
    frame = pd.DataFrame({"from": [1.0, 2.0], "to": [10, 10], "value": [3, 4]})
    assert read_travel(frame, [2, 1], ["10"], unit="m").values.tolist() == [[4], [3]]


def test_a_repeated_pair_is_fine_while_it_says_the_same():
    assert read(LONG + "a,x,1\n").values[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LONG + "a,x,3\n", "two values from 'a' to 'x': 1 (row 1) and 3 (row 6)"),
        (LONG.replace("2.5", "two"), "'two' in row 2; it must be a number"),
        (LONG.replace("2.5", "-2"), "-2 in row 2; a distance or a time is 0 or more"),
        (WIDE.replace("2.5", "-2"), "row 1, column 'y'"),
        ("from,to\na,x\n", "0 columns beside 'from' and 'to' (none)"),
        ("from,to,km,min\na,x,1,1\n", "2 columns beside 'from' and 'to' (km and min)"),
        ("p,q\n1,2\n", "neither the columns 'from' and 'to'"),
        ("from,to,km\nu,v,1\n", "No row of the travel table names both"),
        ("", "cannot be read"),
    ],
)
def test_bad_tables_get_a_sentence(text, sentence):
    with pytest.raises(ValueError) as raised:
        read(text)
    assert sentence in str(raised.value)


def test_names_must_differ_and_units_be_known():
    with pytest.raises(ValueError, match="Two residents are called 'a'"):
        read(LONG, ["a", "a"])
    with pytest.raises(ValueError, match="not 'furlong'"):
        read(LONG, unit="furlong")


@pytest.mark.parametrize("content", ["a," * 3_000_000 + "a\n1\n", "x;" * 30_000 + "x\n"])
def test_very_many_headings_are_refused_before_they_are_read(content: str) -> None:
    with pytest.raises(ValueError, match=r"The travel table has [\d,]+ columns; up to 25,000 are read\."):
        read(content)


def test_equal_headings_are_refused_and_none_is_left_out_in_silence() -> None:
    with pytest.raises(
        ValueError, match="Several columns of the travel table are called 'x'; their names must differ"
    ):
        read("home,x,y,x\na,1,2,3\n")


@pytest.mark.parametrize(
    ("content", "rows"), [("from,to,km\na,x,1\n", 1), ("home;x\r\na;1\r\nb;2", 2), ("home,x\n", 0)]
)
def test_rows_are_counted(content: str, rows: int) -> None:
    assert travel_rows(io.BytesIO(content.encode())) == rows


@pytest.mark.parametrize("content", [b"ab\n" * 9, b"", b"\xff\xfe", b'"a,b\n1,2\n', b"\n\n"])
def test_what_cannot_be_a_table_is_a_sentence(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^The travel table .*\.$"):
        travel_rows(io.BytesIO(content))
