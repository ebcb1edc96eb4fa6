"""The connection to the database, SQLite or PostgreSQL: a transaction per change, a sentence when it is down."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from platformdirs import user_data_path
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry

from pages.serving.store.problems import AWAY, DRIVER_ERRORS, AwayError, StoreError, spoken

BUSY = 10  # seconds a change waits for another one
ANSWER = 3  # seconds in which PostgreSQL has to answer
REST = 2.0  # seconds during which a database that was away is not asked again
HEAD = "0002"  # the newest migration
ACROSS = 10  # connections to PostgreSQL of one server
log = logging.getLogger("evenreach")


def usual_url() -> str:
    """The default database: a file in the folder where this user's programs keep their data."""
    return f"sqlite:///{user_data_path('evenreach', appauthor=False) / 'evenreach.db'}"


class Database:
    """Transactions on the tables of the store.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it: ``sqlite:///folder/evenreach.db`` or ``postgresql://user:password@host/name``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = Database(f"sqlite:///{folder}/evenreach.db")
    ...     with data.reading() as connection:
    ...         print(connection.scalar(sa.text("select count(*) from project")))
    ...     data.close()
    0
    """

    def __init__(self, url: str) -> None:
        self.url = sa.make_url(url or usual_url())
        if self.url.drivername == "postgresql":
            self.url = self.url.set(drivername="postgresql+psycopg")
        self.is_file = self.url.get_backend_name() == "sqlite"
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._away_until = 0.0
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY}}
        if not self.is_file:
            wait = f"-c statement_timeout=60000 -c lock_timeout={1000 * BUSY}"
            options = {
                "connect_args": {"connect_timeout": ANSWER, "options": wait},
                "pool_pre_ping": True,
                "pool_size": ACROSS,
                "max_overflow": 0,
                "pool_timeout": BUSY,
            }
        self.engine = sa.create_engine(self.url, **options)
        if self.is_file:
            sa.event.listen(self.engine, "connect", _set_up)
            sa.event.listen(self.engine, "begin", _begin)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that changes nothing."""
        with self._spoken(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is kept as a whole, or not at all."""
        with self._spoken(), self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        if time.monotonic() < self._away_until:
            raise AwayError(AWAY)
        try:
            self.prepare()
            yield
        except DRIVER_ERRORS as problem:
            told = spoken(problem)
            if isinstance(told, AwayError):
                self._say(problem)
            if str(told) == AWAY and not self.is_file:
                self._away_until = time.monotonic() + REST
            raise told from problem

    def _say(self, problem: Exception) -> None:
        """Log what the driver says, without the query and its values."""
        why = str(getattr(problem, "orig", problem)).strip().splitlines()
        log.info(json.dumps({"event": "store", "why": why[0][:300] if why else type(problem).__name__}))

    def prepare(self) -> None:
        """Make the tables, or bring them up to date, at the first use."""
        if self._ready.is_set():
            return
        with self._lock:
            if self.is_file and self.url.database:
                Path(self.url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.version() != HEAD:
                self.migrate()
            self._ready.set()

    def version(self) -> str | None:
        """The last migration that was made; None for an empty database."""
        try:
            with self.engine.connect() as connection, connection.begin():
                return connection.scalar(sa.text("select version_num from alembic_version"))
        except ProgrammingError:  # PostgreSQL: there is no such table
            return None
        except sa.exc.OperationalError as problem:
            if "no such table" in str(problem.orig):
                return None
            raise

    def migrate(self, to: str = "head") -> None:
        """Bring the tables to a version; two servers that start at once wait for each other.

        Raises
        ------
        StoreError
            If a newer version of EvenReach has been at this database.
        """
        from alembic import command  # only needed once an upgrade
        from alembic.config import Config
        from alembic.util import CommandError

        setup = Config()
        setup.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if not self.is_file:
                    connection.execute(sa.text("select pg_advisory_xact_lock(16204)"))
                setup.attributes["connection"] = connection
                try:
                    command.upgrade(setup, to)
                except CommandError as problem:
                    msg = (
                        "The database was made by a newer version of EvenReach. Run that version, or restore a backup "
                        "that was made before the upgrade."
                    )
                    raise StoreError(msg) from problem

    def give_back(self) -> None:
        """After something was deleted: give its room back to the disk, and leave nothing of it in the journal."""
        if self.is_file:
            with self._spoken(), self.engine.connect() as connection:
                # a script, because a single statement would free one page and stop
                script = "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);"
                connection.connection.driver_connection.executescript(script)  # type: ignore[union-attr]

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _set_up(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Set up SQLite so that several servers on one machine may share the file, and deleted data are wiped."""
    connection.isolation_level = None  # SQLAlchemy begins transactions, not the driver
    for line in ("auto_vacuum=INCREMENTAL", "journal_mode=WAL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {line}")


def _begin(connection: sa.Connection) -> None:
    """A change takes the lock at its start: one that first reads could otherwise find it taken in the middle."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
