"""A full disk is not the file's fault: an intact file is never called damaged, and no raw error is shown."""

import errno
import gzip
import os
import sqlite3
from pathlib import Path

import pytest

from tests.residents.test_geopackage import change, register
from tests.residents.test_hostile import archive
from tkm_core.residents import ResidentsError, geopackage, load_residents, text

TABLE = b"lat,lon\n48.1,2.1\n48.2,2.2\n"
JSON = b'{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [2.1, 48.1]}}'
KML = b"<kml><Placemark><Point><coordinates>2.1,48.1</coordinates></Point></Placemark></kml>"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize(
    ("data", "name"),
    [
        (archive({"town.csv": TABLE}), "town.zip"),
        (gzip.compress(TABLE), "town.csv.gz"),
        (JSON, "town.geojson"),
        (KML, "town.kml"),
    ],
    ids=["zip", "gzip", "geojson", "kml"],
)
def test_a_full_disk_passes_as_what_it_is(data, name, code, monkeypatch):
    assert len(load_residents(data, name=name)) > 0
    real = Path.open

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, _):
            raise OSError(code, os.strerror(code))

        close = __exit__

    monkeypatch.setattr(
        Path,
        "open",
        lambda path, mode="r", *rest: Full(real(path, mode, *rest)) if "w" in mode else real(path, mode),
    )
    with pytest.raises(OSError, match=os.strerror(code)) as raised:
        load_residents(data, name=name)
    assert raised.value.errno == code and not isinstance(raised.value, ResidentsError)


def test_a_full_disk_while_a_geopackage_is_made_harmless(written, monkeypatch):
    path = written(".gpkg")
    change(path, f"CREATE VIEW more AS SELECT * FROM town; {register('more')}")

    def full(*_):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(geopackage, "_check", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        load_residents(path)


@pytest.mark.parametrize(
    "fault", [KeyError("a"), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), OSError(5, "I/O")]
)
def test_whatever_a_reader_raises_becomes_a_sentence(fault, monkeypatch):
    def stumble(*_, **__):
        raise fault

    monkeypatch.setattr(text, "read_text", stumble)
    with pytest.raises(ResidentsError, match=r"“town.csv” cannot be read.*Export it again") as raised:
        load_residents(TABLE, name="town.csv")
    assert raised.value.__cause__ is fault


def test_too_little_memory_passes_as_what_it_is(monkeypatch):
    def stumble(*_, **__):
        raise MemoryError

    monkeypatch.setattr(text, "read_text", stumble)
    with pytest.raises(MemoryError):
        load_residents(TABLE, name="town.csv")
