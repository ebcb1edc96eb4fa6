"""Everything from one database into another: backup, restore and moving are the same work."""

from collections.abc import Iterator

import sqlalchemy as sa

from pages.serving.store.engine import Database
from pages.serving.store.problems import StoreError
from pages.serving.store.schema import CHUNK, METADATA, SETTING

AT_ONCE = 200  # rows; chunks of bytes go one by one


def copy_all(source: Database, target: Database) -> dict[str, int]:
    """Copy all rows, as they are at one moment, into an empty database. Returns how many, by table.

    Parameters
    ----------
    source, target : Database
        Either may be SQLite or PostgreSQL; servers may go on using the source meanwhile.

    Raises
    ------
    StoreError
        If there is something in the target already; nothing is overwritten.
    """
    counts: dict[str, int] = {}
    source.prepare()
    with target.writing() as into:
        for table in METADATA.sorted_tables:
            if table is SETTING:
                into.execute(sa.delete(table))  # the target's own key signs nothing that is kept
            elif into.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                msg = "The target already holds projects or uploads: give an empty database or a new file."
                raise StoreError(msg)
        with source.engine.connect() as out:
            if not source.is_file:
                out = out.execution_options(isolation_level="REPEATABLE READ")  # one moment for all tables
            with out.begin():
                for table in METADATA.sorted_tables:
                    counts[table.name] = 0
                    for rows in _batches(out, table):
                        into.execute(sa.insert(table), rows)
                        counts[table.name] += len(rows)
    return counts


def _batches(out: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, object]]]:
    size = 1 if table is CHUNK else AT_ONCE
    found = out.execution_options(yield_per=size).execute(sa.select(table)).mappings()
    for part in found.partitions(size):
        yield [dict(row) for row in part]
