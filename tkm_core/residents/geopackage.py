"""GeoPackages made harmless before GDAL opens them: plain tables stay, whatever runs by itself goes."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.layers import MapKind, reader
from tkm_core.residents.model import ResidentsError

MOST_TABLES = 5_000  # entries of the schema: tables, indexes, triggers, views
STEP = 10_000  # steps of SQLite between two looks at how many there were
LEAST_STEPS = 2_000_000  # enough for any schema; beyond it, one step for each byte of the file
COMPUTED = (2, 3)  # what table_xinfo says of columns that are computed


def check_geopackage(path: Path, name: str) -> list[str]:
    """Take the views and virtual tables out of a private copy, and refuse one that would never end.

    A view is a query, which the file's author wrote and the reader runs: it may never end. Virtual tables may reach
    other files. Both are rare, and their content can be exported as a table.

    Parameters
    ----------
    path : Path
        The copy, which is changed.
    name : str
        For sentences.

    Returns
    -------
    list of str
        Warnings: the layers that are left out.

    Raises
    ------
    ResidentsError
    """
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database, _bounded(database, path):
            return _check(database, name)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        msg = f"“{name}” is not a readable GeoPackage file: damaged or incomplete. Export it again."
        raise ResidentsError(msg) from error


@contextmanager
def _bounded(database: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Stop a query after so many steps as no sound file of this size needs."""
    left = (LEAST_STEPS + path.stat().st_size) // STEP

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    database.set_progress_handler(stop, STEP)
    yield


def _check(database: sqlite3.Connection, name: str) -> list[str]:
    database.execute("PRAGMA trusted_schema = OFF")
    schema = database.execute(
        "SELECT type, name, sql FROM sqlite_master LIMIT ?", (MOST_TABLES + 1,)
    ).fetchall()
    if len(schema) > MOST_TABLES:
        msg = f"“{name}” has more than {MOST_TABLES:,} tables and indexes. Export the one layer of residents."
        raise ResidentsError(msg)
    tables = [table for kind, table, sql in schema if kind == "table" and not _is_virtual(sql)]
    if "gpkg_contents" not in tables:
        msg = f"“{name}” is a database, but not a GeoPackage. Export the layer of residents as GeoPackage or CSV."
        raise ResidentsError(msg)
    queries = [
        table for kind, table, sql in schema if kind == "view" or (kind == "table" and _is_virtual(sql))
    ]
    layers = [row[0] for row in database.execute("SELECT table_name FROM gpkg_contents")]
    if layers and not set(layers) - set(queries):
        msg = f"“{name}” holds only views (queries), not tables: “{layers[0]}”. Export the layer as a table."
        raise ResidentsError(msg)
    for table in tables:
        quoted = '"' + table.replace('"', '""') + '"'
        if any(column[6] in COMPUTED for column in database.execute(f"PRAGMA table_xinfo({quoted})")):
            msg = f"The table “{table}” of “{name}” has computed columns. Export the layer as a plain table."
            raise ResidentsError(msg)
        # Counted step by step: pages that point at each other make endless tables of few bytes.
        database.execute(f"SELECT sum(1) FROM {quoted}").fetchall()  # noqa: S608 - a name, quoted
    if queries:
        database.execute("PRAGMA writable_schema = ON")
        database.executemany("DELETE FROM sqlite_master WHERE name = ?", [(query,) for query in queries])
    return [
        f"The layer “{layer}” is a query, not a table, and was left out."
        for layer in layers
        if layer in queries
    ]


def _is_virtual(sql: str | None) -> bool:
    """Whether a table is a program's; the index of places that every GeoPackage has is not meant."""
    words = (sql or "").upper().split()
    return words[1:2] == ["VIRTUAL"] and not (sql or "").upper().partition(" USING ")[2].strip().startswith(
        "RTREE"
    )


FORMAT = FileFormat(
    kind="geopackage",
    name="GeoPackage",
    suffixes=(".gpkg",),
    read=reader(MapKind(title="GeoPackage", suffix=".gpkg", drivers=("GPKG",), check=check_geopackage)),
    sign=lambda head: head.startswith(b"SQLite format 3\0"),
    is_map=True,
    only=(".gpkg",),
)
