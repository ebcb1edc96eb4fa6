"""The work of reading grows no faster than the file; whatever could grow without end is limited."""

import json
import struct
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tkm_core.residents import ResidentsError, columns, encodings, load_residents, table, vocabulary
from tkm_core.residents.layers import from_wkb
from tkm_core.residents.numbers import LONGEST, read_number
from tkm_core.residents.table import MOST_COLUMNS, unique_names


def lines_run(function: Callable[[], object]) -> int:
    """How many lines of the project's readers a call runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if "tkm_core" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except ResidentsError:
        pass
    finally:
        sys.settrace(before)
    return count


def table_of(names: list[str], rows: int = 3) -> bytes:
    body = "\n".join(
        ",".join(f"{2 + (row + place) / 100:.4f}" for place in range(len(names))) for row in range(rows)
    )
    return f"{','.join(names)}\n{body}\n".encode()


HEADERS = {
    "equal": lambda n: ["a"] * n,
    "equal and counted": lambda n: ["a", "a (2)"] * (n // 2),
    "all longitudes": lambda n: ["lon"] * n,
    "longitudes and latitudes": lambda n: ["lon", "lat"] * (n // 2),
    "all populations": lambda n: ["population"] * n,
    "distinct": lambda n: [f"c{number}" for number in range(n)],
}


@pytest.mark.parametrize("kind", HEADERS)
def test_columns(kind):
    load_residents(table_of(["lon", "lat"]))
    few, many = (lines_run(lambda n=n: load_residents(table_of(HEADERS[kind](n)))) for n in (200, 800))
    assert many < 6 * few


@pytest.mark.parametrize("kind", HEADERS)
def test_names_are_made_distinct_in_one_pass(kind):
    few, many = (lines_run(lambda n=n: unique_names(HEADERS[kind](n))) for n in (1_000, 8_000))
    assert many < 10 * few
    assert len(set(unique_names(HEADERS[kind](2_000)))) == 2_000


def test_pairs_of_columns_are_compared_a_bounded_number_of_times(monkeypatch):
    compared = []
    monkeypatch.setattr(columns, "_fits_degrees", lambda *pair: compared.append(1) or True)
    load_residents(table_of(["lon", "lat"] * 500))
    assert len(compared) <= 4 * columns.LIKELY**2 + 1_000


def test_ragged_lines():
    def ragged(n: int) -> bytes:
        return table_of(["lon", "lat"], 5) + b"2.1,48.1,extra,x\n" * n

    few, many = (lines_run(lambda n=n: load_residents(ragged(n))) for n in (500, 4_000))
    assert many < 10 * few


def test_too_many_columns_have_a_sentence():
    names = ["lon", "lat", *["a"] * MOST_COLUMNS]
    features = [
        {
            "type": "Feature",
            "properties": {f"p{row}": 1},
            "geometry": {"type": "Point", "coordinates": [2.1, 48.1]},
        }
        for row in range(2 * MOST_COLUMNS + 10)
    ]
    places = "".join(
        f'<Placemark><ExtendedData><Data name="p{row}"><value>1</value></Data></ExtendedData></Placemark>'
        for row in range(2 * MOST_COLUMNS + 10)
    )
    for file, name in (
        (table_of(names), "town.csv"),
        (json.dumps({"type": "FeatureCollection", "features": features}).encode(), "town.geojson"),
        (f"<kml><Document>{places}</Document></kml>".encode(), "town.kml"),
    ):
        with pytest.raises(ResidentsError, match=r"has [\d,]+ columns; up to 2,000 can be read"):
            load_residents(file, name=name)
    with pytest.raises(ResidentsError, match="columns; up to"):
        table.Table("CSV", names, pa.table({}), lambda _: pa.table({}))


def test_long_names_are_looked_at_only_at_their_beginning(monkeypatch):
    looked_at = []
    plain = vocabulary.plain
    monkeypatch.setattr(vocabulary, "plain", lambda text: looked_at.append(len(text)) or plain(text))
    vocabulary.name_score("(" * 100_000, "weight")
    vocabulary.name_score("a" + "\u0301\u0316" * 50_000, "weight")
    assert max(looked_at) <= vocabulary.LONGEST


def test_a_number_is_not_sought_in_a_novel(monkeypatch):
    seen = []
    monkeypatch.setattr("unicodedata.normalize", lambda form, text: seen.append(len(text)) or text)
    assert np.isnan(read_number("1" + "\u0301\u0316" * 100_000))
    assert read_number("12 " + " " * 50 + "m") == 12
    assert max(seen) <= LONGEST


def test_plain_stretches_of_a_file_are_passed_over_when_its_encoding_is_sought():
    assert encodings.FOREIGN.match(b"abc\xe9") is None  # a match begins with the foreign letter: no way back
    text = "name,lat,lon\n" + "Evry,48.1,2.1\n" * 100 + "Orléans,48.2,2.2\nBesançon,48.3,2.3\n"
    data, encoding, _ = encodings.to_utf8(text.encode("latin-1"), "town.csv")
    assert (bytes(data).decode(), encoding) == (text, "cp1252")


@pytest.mark.parametrize("kind", [4, 6, 7, 11, 1007, 3006, 0x20000007])
@pytest.mark.parametrize("order", "<>")
def test_shapes_within_shapes_without_end(kind, order):
    first = b"\x01" if order == "<" else b"\x00"
    more = struct.pack(order + "I", 4326) if kind >> 28 else b""
    level = first + struct.pack(order + "I", kind) + more + struct.pack(order + "I", 1)
    point = first + struct.pack(order + "Idd", 1, 2.1, 48.1)
    deep, fine = level * 300_000 + point, shapely.to_wkb(shapely.Point(2.1, 48.1))
    assert [shape is None for shape in from_wkb([deep, fine, None])] == [True, False, True]


def test_outlines_of_many_corners_are_not_taken_for_nested():
    rings = [shapely.Point(163_840.0 * x, 163_840.0).buffer(163_840, quad_segs=500) for x in range(40)]
    many = shapely.MultiPolygon(shapely.get_parts(shapely.union_all(rings[::3])).tolist())
    assert from_wkb([shapely.to_wkb(many)])[0].equals(many)


def test_text_of_shapes_within_shapes_without_end():
    nested = "GEOMETRYCOLLECTION(" * 200_000 + "POINT(2 48)" + ")" * 200_000
    rows = [f"POINT (2.{row} 48.{row})" for row in range(1, 9)]
    data = "id;shape\n" + "\n".join(
        f'{number};"{text}"' for number, text in enumerate([*rows, nested, nested[:90]])
    )
    residents = load_residents(data.encode(), name="town.csv")
    assert len(residents) == 8
