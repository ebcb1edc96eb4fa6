"""Files made to do harm: a clear error, bounded memory, nothing written outside a private folder."""

import gzip
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.residents.conftest import excel_bytes
from tkm_core.residents import ResidentsError, load_residents
from tkm_core.residents import source as source_module


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def private(tmp_path, monkeypatch):
    """A place for temporary folders that must be empty again afterwards."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(source_module, "ALWAYS_FINE", 1 << 20)


@pytest.mark.usefixtures("private", "small_limits")
@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.zip", "bomb.xlsx"])
def test_bombs(name):
    zeros = b"0" * (40 << 20)
    made = {
        "bomb.csv.gz": lambda: gzip.compress(zeros),
        "bomb.zip": lambda: archive({"town.csv": zeros}),
        "bomb.xlsx": lambda: archive({"[Content_Types].xml": b"<Types/>", "xl/worksheets/sheet1.xml": zeros}),
    }[name]()
    with pytest.raises(ResidentsError, match="unpacks to more than"):
        load_residents(made, name=name)


@pytest.mark.usefixtures("private", "small_limits")
def test_bomb_that_lies_about_its_size():
    data = bytearray(archive({"town.csv": b"0" * (40 << 20)}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = data.find(mark)
        data[place + offset : place + offset + 4] = struct.pack("<I", 100)
    with pytest.raises(ResidentsError):
        load_residents(bytes(data), name="bomb.zip")


@pytest.mark.parametrize(
    "path", ["../evil.csv", "/etc/evil.csv", "a/../../evil.csv", "..\\evil.csv", "C:\\evil.csv"]
)
def test_paths_that_lead_out(path, private, tmp_path):
    data = archive({path: b"lat,lon\n1,2\n"})
    before = {*tmp_path.rglob("*")}
    with pytest.raises(ResidentsError, match="unpacked outside its folder"):
        load_residents(data, name="evil.zip")
    assert {*tmp_path.rglob("*")} == before and not Path("evil.csv").exists()


@pytest.mark.usefixtures("private")
def test_truncated_archives(written):
    for suffix in (".csv.gz", ".shp.zip", ".xlsx", ".parquet", ".gpkg", ".geoparquet"):
        data = written(suffix).read_bytes()
        for keep in (0.3, 0.7, 0.98):
            with pytest.raises(ResidentsError):
                load_residents(data[: int(len(data) * keep)], name=f"town{suffix}")


@pytest.mark.usefixtures("private")
def test_archives_within_archives_and_passwords():
    inner = gzip.compress(b"lat,lon\n1,2\n")
    for _ in range(5):
        inner = gzip.compress(inner)
    with pytest.raises(ResidentsError, match="archive within an archive"):
        load_residents(inner, name="nest.csv.gz")
    data = bytearray(archive({"town.csv": b"lat,lon\n1,2\n"}))
    data[6] |= 1  # the flag that says: encrypted
    data[data.find(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ResidentsError, match="password"):
        load_residents(bytes(data), name="secret.zip")
    with pytest.raises(ResidentsError, match="no file that can be read"):
        load_residents(archive({"virus.exe": b"MZ"}), name="program.zip")


@pytest.mark.usefixtures("private")
def test_a_pickle_is_never_loaded():
    class Evil:
        def __reduce__(self):
            return (os.abort, ())

    for name in ("town.parquet", "town.csv", "town.gpkg", "town.xlsx"):
        with pytest.raises(ResidentsError):
            load_residents(pickle.dumps(Evil()), name=name)


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize(
    "text",
    [
        '{"type": "FeatureCollection", "features": ' + "[" * 100_000,
        "[" * 3_000 + "]" * 3_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline read /etc/passwd"}',
        '{"type": "Feature"',
        '{"type": "FeatureCollection", "features": []}',
        json.dumps(
            {
                "type": "FeatureCollection",
                "features": [{"type": "Feature", "properties": {}, "geometry": None}],
            }
        ),
        json.dumps({"lat": 1, "lon": 2}),
    ],
)
def test_json_that_is_no_layer(text):
    with pytest.raises(ResidentsError):
        load_residents(text.encode(), name="town.geojson")


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize("name", ["town.kml", "town.csv", "town.geojson", "town.gpkg", "town.shp"])
def test_a_virtual_layer_cannot_reach_other_files(name, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("lat,lon\n48.1,2.1\n48.2,2.2\n")
    virtual = (
        '<OGRVRTDataSource><!-- <kml> --><OGRVRTLayer name="secret"><SrcDataSource>'
        f"{secret}</SrcDataSource><GeometryType>wkbPoint</GeometryType>"
        '<GeometryField encoding="PointFromColumns" x="lon" y="lat"/></OGRVRTLayer></OGRVRTDataSource>'
    )
    with pytest.raises(ResidentsError):
        load_residents(virtual.encode(), name=name)


@pytest.mark.usefixtures("private")
def test_xml_entities_do_not_grow():
    twice = ["haha", *(f"&e{number};&e{number};" for number in range(39))]
    lines = "".join(f'<!ENTITY e{number} "{value}">' for number, value in enumerate(twice))
    body = "<kml><Document><Placemark><name>&e39;</name></Placemark></Document></kml>"
    bomb = f'<?xml version="1.0"?><!DOCTYPE kml [{lines}]>{body}'
    with pytest.raises(ResidentsError):
        load_residents(bomb.encode(), name="town.kml")
    with pytest.raises(ResidentsError, match="web page"):
        load_residents(b"<!DOCTYPE html><html><table><tr><td>1</td></tr></table></html>", name="town.xls")


@pytest.mark.usefixtures("private")
def test_binary_rubbish_has_a_sentence():
    for data in (
        b"\x00" * 5000,
        bytes(range(256)) * 40,
        b"MZ\x90\x00" + b"\x01\x00" * 900,
        b"%PDF-1.7\n\x00\xff",
    ):
        with pytest.raises(ResidentsError):
            load_residents(data, name="town.csv")


def test_excel_with_a_formula_stays_text():
    rows = [["name", "lat", "lon"], ["=cmd()", 48.1, 2.1], ["@x", 48.2, 2.2]]
    residents = load_residents(excel_bytes(rows), group="name")
    assert residents.groups.tolist() == ["=cmd()", "@x"]


MEASURE = """
import resource, sys
from tkm_core.residents import ResidentsError, load_residents
load_residents(b"lat,lon\\n48.85,2.35\\n48.86,2.36\\n")
status = lambda entry: int(dict(line.split(":", 1) for line in open("/proc/self/status"))[entry].split()[0])
before = status("VmRSS")
try:
    load_residents(sys.argv[1])
except ResidentsError as error:
    print((status("VmHWM") - before) // 1024, error)
"""


def test_an_endless_line_takes_no_memory(tmp_path):
    path = tmp_path / "line.csv"
    with path.open("wb") as file:
        file.write(b"lat,lon")
        file.truncate(1 << 30)  # a gigabyte, sparse on the disk
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    megabytes, sentence = done.stdout.split(maxsplit=1)
    assert int(megabytes) < 100 and "line.csv" in sentence
    text = tmp_path / "text.csv"
    with text.open("wb") as file:
        file.write(b"lat,lon\n48.1,2.1\n")
        for _ in range(200):
            file.write(b"x" * (1 << 20))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(text)], capture_output=True, text=True, check=True
    )
    megabytes, sentence = done.stdout.split(maxsplit=1)
    assert int(megabytes) < 400 and "too long" in sentence
