"""GeoPackages whose schema would run by itself: plain tables are read, the rest is not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import geopandas as gpd
import pytest
import shapely

from tkm_core.residents import ResidentsError, geopackage, load_residents

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS fid, (SELECT geom FROM town LIMIT 1) AS geom, i AS population FROM n"
)


@pytest.fixture
def town_gpkg(tmp_path) -> Path:
    path = tmp_path / "town.gpkg"
    points = [shapely.Point(2 + row / 100, 48 + row / 100) for row in range(12)]
    gpd.GeoDataFrame({"population": range(1, 13)}, geometry=points, crs=4326).to_file(path, layer="town")
    return path


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)


def register(name: str) -> str:
    """Have a table or view listed as a layer of points."""
    return (
        f"INSERT INTO gpkg_contents SELECT '{name}', data_type, '{name}', description, last_change, min_x, min_y, "
        f"max_x, max_y, srs_id FROM gpkg_contents WHERE table_name = 'town'; INSERT INTO gpkg_geometry_columns "
        f"SELECT '{name}', column_name, geometry_type_name, srs_id, z, m FROM gpkg_geometry_columns;"
    )


def test_a_view_that_never_ends_is_not_run(town_gpkg):
    change(town_gpkg, f"CREATE VIEW endless AS {ENDLESS}; {register('endless')}")
    residents = load_residents(town_gpkg)
    assert len(residents) == 12 and residents.report.layers == ["town"]
    assert "“endless” is a query" in str(residents.report)


def test_a_file_of_views_only_says_what_to_do(town_gpkg):
    change(
        town_gpkg,
        f"CREATE VIEW endless AS {ENDLESS.replace('town', 'hidden')}; {register('endless')} "
        "DELETE FROM gpkg_contents WHERE table_name = 'town'; "
        "DELETE FROM gpkg_geometry_columns WHERE table_name = 'town';",
    )
    with pytest.raises(ResidentsError, match="Export the layer as a table"):
        load_residents(town_gpkg)


@pytest.mark.parametrize(
    "table", ["gpkg_contents", "gpkg_geometry_columns", "gpkg_spatial_ref_sys", "gpkg_ogr_contents"]
)
def test_a_view_in_the_place_of_the_tables_of_the_format(town_gpkg, table):
    change(
        town_gpkg,
        f"PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE {table} RENAME TO kept; "
        f"CREATE VIEW {table} AS SELECT kept.* FROM kept, ({ENDLESS.replace('town', 'kept')}) AS more;",
    )
    try:
        assert len(load_residents(town_gpkg)) == 12
    except ResidentsError as error:
        assert "town.gpkg" in str(error) or "coordinates" in str(error)


def test_computed_columns_are_not_computed(town_gpkg):
    change(town_gpkg, "ALTER TABLE town ADD COLUMN big AS (hex(zeroblob(population * 10000000)))")
    with pytest.raises(ResidentsError, match="computed columns"):
        load_residents(town_gpkg)


def test_virtual_tables_are_not_opened(town_gpkg):
    change(
        town_gpkg,
        f"PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('table', 'other', 'other', 0, "
        f"'CREATE VIRTUAL TABLE other USING VirtualOGR(''/etc/passwd'')'); {register('other')}",
    )
    assert load_residents(town_gpkg).report.layers == ["town"]


def test_triggers_do_nothing_when_a_file_is_read(town_gpkg):
    change(
        town_gpkg, f"CREATE TRIGGER t AFTER DELETE ON town BEGIN INSERT INTO town (population) {ENDLESS}; END"
    )
    before = town_gpkg.read_bytes()
    assert len(load_residents(town_gpkg)) == 12
    assert town_gpkg.read_bytes() == before


def test_pages_that_point_at_each_other_make_no_endless_table(tmp_path):
    """A page of pointers whose every pointer leads to the next such page: 400 to the power of 12 rows."""
    path = tmp_path / "quine.gpkg"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("PRAGMA page_size = 4096; CREATE TABLE gpkg_contents (table_name TEXT);")
    size, leaf = 4096, 14
    data = bytearray(path.read_bytes().ljust(size * leaf, b"\0"))
    data[28:32] = leaf.to_bytes(4, "big")
    for page in range(2, leaf):  # each pointer leads to the next page, the last one to the leaf
        cells = [(page + 1).to_bytes(4, "big") + b"\x01"] * 400
        content = b"".join(cells)
        start = size - len(content)
        head = (
            b"\x05\0\0"
            + len(cells).to_bytes(2, "big")
            + start.to_bytes(2, "big")
            + b"\0"
            + (page + 1).to_bytes(4, "big")
        )
        pointers = b"".join((start + 5 * number).to_bytes(2, "big") for number in range(len(cells)))
        data[(page - 1) * size : page * size] = (head + pointers).ljust(start, b"\0") + content
    row = b"\x04\x01\x02\x0fab"
    end = size - len(row)
    data[(leaf - 1) * size :] = (
        b"\x0d\0\0\0\x01" + end.to_bytes(2, "big") + b"\0" + end.to_bytes(2, "big")
    ).ljust(end, b"\0") + row
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(data))
        assert len(database.execute("SELECT 1 FROM gpkg_contents LIMIT 100000").fetchall()) == 100_000
    with pytest.raises(ResidentsError, match="not a readable GeoPackage"):
        load_residents(bytes(data), name="quine.gpkg")


def test_a_database_that_is_no_geopackage_and_one_with_too_many_tables(tmp_path, town_gpkg, monkeypatch):
    path = tmp_path / "plain.sqlite"
    change(path, "CREATE TABLE town (lat, lon); INSERT INTO town VALUES (48.1, 2.1)")
    with pytest.raises(ResidentsError, match="a database, but not a GeoPackage"):
        load_residents(path)
    monkeypatch.setattr(geopackage, "MOST_TABLES", 5)
    with pytest.raises(ResidentsError, match="more than 5 tables"):
        load_residents(town_gpkg)
