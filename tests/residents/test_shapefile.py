"""Shapefiles as offices write them: accents without a stated encoding, in the table and in the .prj."""

import zipfile
from pathlib import Path

import geopandas as gpd
import pytest
import shapely

from tkm_core.residents import ResidentsError, load_residents

NAMES = {
    "cp1252": ["Évry", "Orléans", "Besançon", "Nîmes"],
    "cp1250": ["Łódź", "Kraków", "Gdańsk", "Poznań"],
    "cp1251": ["Москва", "Тверь", "Казань", "Тула"],
    "cp949": ["서울특별시", "강남구", "부산", "대구"],
    "cp932": ["東京都みなと", "大阪ひがし", "なごや市", "さっぽろ"],
    "utf-8": ["Évry", "Orléans", "서울", "Łódź"],
}


def write(folder: Path, encoding: str, names: list[str]) -> Path:
    """A shapefile that does not say what it is written in."""
    points = [shapely.Point(2 + row / 100, 48 + row / 100) for row in range(40)]
    frame = gpd.GeoDataFrame({"nom": names * 10, "population": range(40)}, geometry=points, crs=4326)
    path = folder / "town.shp"
    frame.to_file(path, encoding=encoding)
    path.with_suffix(".cpg").unlink(missing_ok=True)
    table = bytearray(path.with_suffix(".dbf").read_bytes())
    table[29] = 0
    path.with_suffix(".dbf").write_bytes(table)
    return path


@pytest.mark.parametrize("encoding", NAMES)
def test_names_without_a_word_on_their_encoding(encoding, tmp_path):
    residents = load_residents(write(tmp_path, encoding, NAMES[encoding]), group="nom")
    assert set(residents.groups) == set(NAMES[encoding])


@pytest.mark.parametrize("stated", ["UTF-8", "nonsense", "65001", "\0\0"])
def test_a_wrong_word_on_the_encoding(stated, tmp_path):
    path = write(tmp_path, "cp1252", NAMES["cp1252"])
    path.with_suffix(".cpg").write_text(stated)
    assert set(load_residents(path, group="nom").groups) == set(NAMES["cp1252"])


def test_a_right_word_on_the_encoding(tmp_path):
    path = write(tmp_path, "cp1252", NAMES["cp1252"])
    path.with_suffix(".cpg").write_text("1252")
    assert set(load_residents(path, group="nom").groups) == set(NAMES["cp1252"])


def test_accents_in_the_reference_system(tmp_path):
    path = write(tmp_path, "utf-8", NAMES["utf-8"])
    prj = path.with_suffix(".prj")
    prj.write_bytes(prj.read_text().replace("GCS_WGS_1984", "Système_géodésique").encode("latin-1"))
    residents = load_residents(path, group="nom")
    assert len(residents) == 40 and residents.lonlat[1].tolist() == [2.01, 48.01]


@pytest.mark.parametrize("content", [b"\0\xff\0\x01" * 20, b"x" * 200_000, b"\xff\xfe\xfd"], ids=len)
def test_a_reference_system_that_is_no_text(content, tmp_path):
    path = write(tmp_path, "utf-8", NAMES["utf-8"])
    path.with_suffix(".prj").write_bytes(content)
    residents = load_residents(path)
    assert len(residents) == 40


def test_letters_that_no_encoding_knows_are_shown_as_such(tmp_path):
    path = write(tmp_path, "utf-8", NAMES["utf-8"])
    table = path.with_suffix(".dbf").read_bytes()
    start = table.find("Évry".encode())
    path.with_suffix(".dbf").write_bytes(
        table[:29] + b"\x01" + table[30:start] + b"\xff\xfe\xfd" + table[start + 3 :]
    )
    with zipfile.ZipFile(tmp_path / "town.zip", "w") as packed:
        for part in tmp_path.glob("town.??[!p]"):
            packed.write(part, part.name)
    try:
        assert len(load_residents(tmp_path / "town.zip", group="nom")) == 40
    except ResidentsError as error:
        assert "codec" not in str(error)


@pytest.mark.parametrize("encoding", ["latin-1", "cp949"])
def test_other_encodings_in_geojson(encoding):
    names = NAMES["cp1252" if encoding == "latin-1" else encoding]
    features = ",".join(
        f'{{"type": "Feature", "properties": {{"nom": "{name}"}}, "geometry": {{"type": "Point", '
        f'"coordinates": [{2 + row / 100}, 48.1]}}}}'
        for row, name in enumerate(names * 4)
    )
    text = f'{{"type": "FeatureCollection", "features": [{features}]}}'
    residents = load_residents(text.encode(encoding), name="town.geojson", group="nom")
    assert set(residents.groups) == set(names)
