"""Make GeoPackages harmless before GDAL opens them: plain tables stay; views and virtual tables go."""

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
STEP = 10_000  # SQLite steps between two checks of how many have been taken
LEAST_STEPS = 2_000_000  # enough for any schema; a larger file gets one step for each of its bytes
COMPUTED = (2, 3)  # the "hidden" values by which table_xinfo marks computed columns


def check_geopackage(path: Path, name: str) -> list[str]:
    """Remove the views and virtual tables from a private copy, and refuse a file that would take for ever to read.

    A view is a query that the author of the file wrote and the reader runs: it may never end. A virtual table may
    open other files. Both are rare, and their content can be exported as a table.

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
    """Stop a query after more steps than any sound file of this size needs."""
    left = (LEAST_STEPS + path.stat().st_size) // STEP

    def stop() -> bool:
        """Count the steps; True tells SQLite to stop."""
        nonlocal left
        left -= 1
        return left < 0

    database.set_progress_handler(stop, STEP)
    yield


def _check(database: sqlite3.Connection, name: str) -> list[str]:
    """Check the schema and every table, and remove the views and virtual tables; return warnings."""
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
        # Reading every row finds pages that point at each other: an endless table in a small file.
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
    """Whether a table is virtual; the spatial index that every GeoPackage has does not count."""
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
