"""Room in the database: a share for each person or address, a limit for all together, and a reserve for deleting."""

import hashlib
import hmac
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from pages.serving.store.problems import FullError
from pages.serving.store.records import LOCAL, Actor
from pages.serving.store.schema import BLOB, DATASET, EVENT, PROJECT, SCENARIO

MB = 1_000_000
LOCK = 16_206  # of PostgreSQL, for nothing else
RESERVE = 4 * MB  # bytes set aside beside an SQLite file: even deleting needs room on its disk
LOW = 64 * MB  # bytes free on the disk of an SQLite file below which it counts as full
COUNTED = (DATASET, PROJECT, SCENARIO, EVENT)


@dataclass(frozen=True)
class Limits:
    """How much may be kept; an entry is a data set, a project, a scenario or a line of history.

    Attributes
    ----------
    store_mb, store_entries : int
        Of all together.
    person_mb, person_entries : int
        Of one person; where nobody signs in, of one address.
    """

    store_mb: int = 10_000
    store_entries: int = 200_000
    person_mb: int = 1_000
    person_entries: int = 5_000


def payer_of(actor: Actor, key: Callable[[], str]) -> str:
    """Whose share something takes; "" where there is only one person, who may use all.

    An address is kept only as a hash under the key of this database.
    """
    if actor.person:
        return "" if actor.person == LOCAL else actor.person
    if not actor.address:
        return ""
    return "address:" + hmac.new(key().encode(), actor.address.encode(), hashlib.sha256).hexdigest()


def taken(connection: sa.Connection, payer: str | None = None) -> tuple[int, int]:
    """Bytes and entries that are kept: of all, or of one payer, whose equal contents count once."""
    blobs, told = sa.select(sa.func.sum(BLOB.c.size)), sa.select(sa.func.sum(SCENARIO.c.size))
    if payer is not None:
        data = sa.select(DATASET.c.hash).where(DATASET.c.payer == payer)
        plans = sa.select(SCENARIO.c.plan).where(SCENARIO.c.payer == payer)
        blobs = blobs.where(BLOB.c.hash.in_(data.union(plans)))
        told = told.where(SCENARIO.c.payer == payer)
    rows = [sa.select(sa.func.count()).select_from(table) for table in COUNTED]
    if payer is not None:
        rows = [query.where(table.c.payer == payer) for query, table in zip(rows, COUNTED, strict=True)]
    counts = [connection.scalar(query) or 0 for query in (blobs, told, *rows)]
    return int(counts[0] + counts[1]), int(sum(counts[2:]))


def check(connection: sa.Connection, payer: str, limits: Limits) -> None:
    """Refuse what has just been added if it is too much; called last in its transaction.

    Raises
    ------
    FullError
        With a sentence that says whose room is full.
    """
    if connection.dialect.name != "sqlite":  # or two that fit one by one would both come in
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
    if payer:
        size, entries = taken(connection, payer)
        if size > limits.person_mb * MB or entries > limits.person_entries:
            who = "Visitors from your address" if payer.startswith("address:") else "You"
            msg = (
                f"{who} have used up your share of this server: {limits.person_mb:,} MB and "
                f"{limits.person_entries:,} entries (data sets, projects, scenarios and lines of history). Nothing was "
                "saved. Delete what you no longer need, and empty the bin, then try again."
            )
            raise FullError(msg)
    size, entries = taken(connection)
    if size > limits.store_mb * MB or entries > limits.store_entries:
        msg = (
            "This server has no room for more, so nothing was saved. What was saved before is safe. Delete what you no "
            "longer need, and tell whoever runs this server."
        )
        raise FullError(msg)


class Reserve:
    """A file beside an SQLite database that is given up when the disk is full, so that deleting still works.

    Parameters
    ----------
    database : Path
        The file of the database.
    free : callable
        Bytes free on its disk; for tests.
    """

    def __init__(self, database: Path, free: Callable[[], int] | None = None) -> None:
        self.path = database.with_name(database.name + "-reserve")
        self.free = free or (lambda: shutil.disk_usage(database.parent).free)

    def low(self, size: int = 0) -> bool:
        """Whether the disk counts as full, or would with so many bytes more."""
        try:
            return self.free() < LOW + size
        except FileNotFoundError:
            return False  # the folder is made at the first use
        except OSError:
            return True

    def keep(self) -> None:
        """Set room aside, if there is enough."""
        with suppress(OSError):
            if not self.path.exists() and self.free() > LOW + RESERVE:
                with os.fdopen(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                    for _ in range(RESERVE // MB):
                        file.write(bytes(MB))  # written, not only promised

    def give_up(self) -> None:
        """Make its room free, if the disk is nearly full."""
        with suppress(OSError):
            if self.free() < RESERVE:
                self.path.unlink(missing_ok=True)
