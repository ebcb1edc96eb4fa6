"""Broken and hostile road files: each gets a sentence and takes little memory."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import tkm_core as tkm
from tests.streets.cities import STEP, as_pbf, as_xml, grid
from tkm_core.streets import pbf, ways

STREET = {"highway": "residential"}


def refused(file: object, sentence: str, **options: object) -> None:
    with pytest.raises(tkm.StreetsError, match=sentence) as caught:
        tkm.load_streets(file, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert text.endswith("."), text
    assert "Traceback" not in text


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return as_pbf(*grid(30, 30), tmp_path_factory.mktemp("pbf") / "city.osm.pbf")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_pbf(city: bytes, share: float) -> None:
    refused(city[: max(40, int(len(city) * share))], "damaged or incomplete")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_xml(share: float) -> None:
    text = as_xml(*grid(10, 10))
    refused(text[: int(len(text) * share)], "damaged or incomplete")


def test_a_pbf_with_bytes_turned_over_is_refused_or_read_but_never_crashes(city: bytes) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(city)
        for place in rng.integers(20, len(broken), 3):
            broken[place] = rng.integers(0, 256)
        try:
            tkm.load_streets(bytes(broken), name="city")
        except tkm.StreetsError as error:
            assert "“city”" in str(error)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def block(kind: bytes, content: bytes, *, claimed: int | None = None) -> bytes:
    packed = zlib.compress(content)
    blob = (
        b"\x10"
        + varint(len(content) if claimed is None else claimed)
        + b"\x1a"
        + varint(len(packed))
        + packed
    )
    header = b"\x0a" + varint(len(kind)) + kind + b"\x18" + varint(len(blob))
    return struct.pack(">I", len(header)) + header + blob


def test_a_pbf_bomb_is_refused_before_it_is_unpacked(city: bytes) -> None:
    nothing = block(b"OSMData", bytes(31 << 20))
    assert len(nothing) < 50_000
    refused(city + 3 * nothing, "unpacks to more than 32 MB")


def test_a_pbf_block_that_lies_about_its_size(city: bytes) -> None:
    refused(city + block(b"OSMData", bytes(20 << 20), claimed=100), "damaged or incomplete")
    refused(city + block(b"OSMData", bytes(100), claimed=1 << 62), "unpacks to more than")


def test_the_check_of_blocks_agrees_with_the_file(city: bytes) -> None:
    unpacked = pbf.check_blocks(city, "city")
    assert len(city) < unpacked < 100 * len(city)


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE osm [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE osm [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
        '<!doctype osm SYSTEM "http://localhost:9/evil.dtd">',
    ],
)
def test_xml_with_entities_is_not_opened(prolog: str) -> None:
    text = as_xml(*grid(2, 2)).decode().replace("<osm", prolog + "<osm", 1)
    refused(text.encode(), "document type declaration")


def test_entities_behind_a_long_comment_are_stopped_by_the_parser() -> None:
    late = f'<!--{"x" * 70_000}--><!DOCTYPE osm [<!ENTITY a "aaaa">]>'
    text = as_xml(*grid(2, 2)).decode().replace("<osm", late + "<osm", 1)
    begin = b'<?xml version="1.0"?><!-- <osm > -->'
    refused(begin + text.encode().split(b"?>", 1)[1], "damaged or incomplete")


def test_a_way_of_a_million_points() -> None:
    nodes = {i: (0.0, i * 1e-7) for i in range(1, 3)}
    refused(as_xml(nodes, [([1, 2] * 500_000, STREET)]), "a street with 1,000,000 points")


def test_more_streets_than_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "MOST_POINTS", 10)
    refused(as_xml(*grid(4, 4)), "more than 10 points.*Cut it to your area")


def test_coordinates_beyond_the_globe_are_left_out() -> None:
    nodes, streets = grid(3, 3)
    nodes |= {9001: (200.0, 0.0), 9002: (0.0, 95.0)}
    streets.append(([1, 9001, 9002], STREET))
    report = tkm.load_streets(as_xml(nodes, streets)).report
    assert report.km == pytest.approx(6 * 0.11132 + 6 * 0.11057, rel=1e-3)
    assert "2 points of streets are missing from the file or not on the globe" in str(report)


def test_no_point_on_the_globe() -> None:
    refused(as_xml({1: (200.0, 0.0), 2: (0.0, 95.0)}, [([1, 2], STREET)]), "not the points they lead through")
    refused(as_xml({}, [([1, 2], STREET)]), "not the points they lead through")
    refused(as_xml({1: (0.0, 0.0)}, [([1, 1], STREET)]), "No street of the file has two points")


def test_no_street_at_all() -> None:
    nodes, streets = grid(2, 2)
    refused(as_xml(nodes, []), "no streets: nothing in it has the tag “highway”")
    refused(as_xml(nodes, [(refs, {"building": "yes"}) for refs, _ in streets]), "no streets")
    refused(
        as_xml(nodes, [(refs, {"highway": "motorway"}) for refs, _ in streets]),
        "none that is open to the mode “walk”",
    )


def test_one_way_streets_without_return() -> None:
    line = as_xml({1: (0.0, 0.0), 2: (STEP, 0.0)}, [([1, 2], {**STREET, "oneway": "yes"})])
    refused(line, "no connected part in which people can get from one place to another and back", mode="car")


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (b"", "is empty"),
        (b"lon,lat\n1,2\n", "is not a road file. You can upload OpenStreetMap extracts"),
        (b"<html><body>no</body></html>", "another kind of XML.*OpenStreetMap extracts"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a road file"),
        (b"BZh91AY&SY" + bytes(100), "is not a road file"),
        (b"\x00\x00\x00\x0d\x0a\x09OSMHeader" + bytes(10), "damaged or incomplete"),
        (gzip.compress(bytes(300 << 20), 1), "unpacks to more than 256 MB"),
        (12, "A path, bytes or an uploaded file is needed"),
        (Path("nowhere.osm.pbf"), "there is no such file"),
    ],
)
def test_other_files(file: object, sentence: str) -> None:
    refused(file, sentence)
