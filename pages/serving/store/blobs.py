"""Bytes in the database: in pieces, and once for the same content."""

import hashlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from pages.serving.store.engine import Database
from pages.serving.store.problems import StoreError
from pages.serving.store.schema import BLOB, CHUNK, DATASET, SCENARIO

PIECE = 1024 * 1024  # bytes
LARGEST = 1024 * PIECE
STEP = 1  # pieces that are deleted at once
LOCK = 16_205  # of PostgreSQL, for nothing else


def hashed(content: bytes) -> str:
    """What a content is kept under."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def put(connection: sa.Connection, content: bytes, *, most: int = LARGEST) -> str:
    """Keep bytes, in pieces; what is there already is not written again. Returns their hash.

    Raises
    ------
    StoreError
        If they are more than may be kept.
    """
    if len(content) > most:
        msg = (
            f"These data take {len(content) / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB that one data "
            "set may take. Leave out columns or rows that are not needed."
        )
        raise StoreError(msg)
    name = hashed(content)
    _lock(connection, "pg_advisory_xact_lock_shared")
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    again = sa.and_(BLOB.c.hash == name, BLOB.c.dropped == 1)  # some of its pieces may be deleted already
    connection.execute(sa.delete(BLOB).where(again))
    row = insert(BLOB).values(hash=name, size=len(content), dropped=0).on_conflict_do_nothing()
    if connection.execute(row.returning(BLOB.c.hash)).first() is not None:
        for number, start in enumerate(range(0, len(content), PIECE)):
            piece = content[start : start + PIECE]
            connection.execute(sa.insert(CHUNK).values(hash=name, number=number, content=piece))
    return name


def pieces(connection: sa.Connection, name: str) -> Iterator[bytes]:
    """The bytes, piece by piece."""
    count = connection.scalar(sa.select(sa.func.count()).select_from(CHUNK).where(CHUNK.c.hash == name)) or 0
    for number in range(count):
        found = connection.scalar(
            sa.select(CHUNK.c.content).where(CHUNK.c.hash == name, CHUNK.c.number == number)
        )
        yield bytes(found or b"")


def get(connection: sa.Connection, name: str) -> bytes:
    """The bytes that are kept under a hash.

    Raises
    ------
    StoreError
        If they are not what was kept: damage on the disk is noticed here.
    """
    content = b"".join(pieces(connection, name))
    if hashed(content) != name:
        msg = "Saved data are damaged in the database. Tell whoever runs this server: a backup may have them undamaged."
        raise StoreError(msg)
    return content


def drop_unused(connection: sa.Connection) -> None:
    """Mark all bytes that no data set and no scenario needs any more; `clear` then deletes them."""
    _lock(connection, "pg_advisory_xact_lock")
    in_dataset = sa.exists().where(DATASET.c.hash == BLOB.c.hash)
    in_scenario = sa.exists().where(SCENARIO.c.plan == BLOB.c.hash)
    unused = sa.and_(BLOB.c.dropped == 0, ~in_dataset, ~in_scenario)
    connection.execute(sa.update(BLOB).where(unused).values(dropped=1))


def clear(database: Database) -> None:
    """Delete the bytes that are marked, a few pieces at a time: SQLite needs as much room again to wipe them."""
    while True:
        with database.deleting() as connection:
            _lock(connection, "pg_advisory_xact_lock")
            name = connection.scalar(sa.select(BLOB.c.hash).where(BLOB.c.dropped == 1).limit(1))
            if name is None:
                break
            left = sa.select(CHUNK.c.number).where(CHUNK.c.hash == name).limit(STEP)
            numbers = [int(number) for (number,) in connection.execute(left)]
            connection.execute(sa.delete(CHUNK).where(CHUNK.c.hash == name, CHUNK.c.number.in_(numbers)))
            if len(numbers) < STEP:
                connection.execute(sa.delete(BLOB).where(BLOB.c.hash == name))
        if database.reserve is not None and database.reserve.low():
            database.give_back()
    database.give_back()


def _lock(connection: sa.Connection, kind: str) -> None:
    """Keep others from dropping bytes that are there already but not yet needed by what is being saved.

    SQLite has one writer at a time.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(sa.select(getattr(sa.func, kind)(LOCK)))
