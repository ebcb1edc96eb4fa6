"""The connection to the database, SQLite or PostgreSQL: a transaction per change, a sentence when it is down."""

import json
import logging
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from platformdirs import user_data_path
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry

from pages.serving.store import room
from pages.serving.store.problems import AWAY, DRIVER_ERRORS, FULL, AwayError, StoreError, spoken
from pages.serving.store.records import Actor
from pages.serving.store.schema import NAME, SETTING

BUSY = 10  # seconds a change waits for another one
ANSWER = 3  # seconds in which PostgreSQL has to answer
CHECKED = 5.0  # seconds for which the state of the database is not looked at again
PAGES = 256  # of SQLite that are given back at once
REST = 2.0  # seconds during which a database that was away is not asked again
HEAD = "0003"  # the newest migration
ACROSS = 10  # connections to PostgreSQL of one server
UNTOLD = room.Limits()
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
    limits : room.Limits
        How much may be kept.
    reserve : bool
        Whether room is set aside beside an SQLite file, so that deleting works when its disk is full.

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

    def __init__(self, url: str, limits: room.Limits = UNTOLD, *, reserve: bool = True) -> None:
        self.limits = limits
        self.url = sa.make_url(url or usual_url())
        if self.url.drivername == "postgresql":
            self.url = self.url.set(drivername="postgresql+psycopg")
        self.is_file = self.url.get_backend_name() == "sqlite"
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._away_until = 0.0
        self._key = ""
        self._state = -CHECKED, ""
        self.reserve = room.Reserve(Path(self.url.database or "")) if self.is_file and reserve else None
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
            sa.event.listen(self.engine, "do_connect", self._keep_private)
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
    def adding(self, actor: Actor, size: int = 0) -> Iterator[tuple[sa.Connection, str]]:
        """A transaction that adds something, which takes somebody's share of the room: `payer`, the second value.

        Parameters
        ----------
        actor : Actor
        size : int
            Bytes that will be added; few are not counted.

        Raises
        ------
        FullError
            At its end, if that is too much; then nothing is kept.
        AwayError
            At its beginning, if an SQLite file has no room on its disk: it writes everything twice, and a disk that is
            filled to its last byte could not even be cleared.
        """
        if self.reserve is not None and self.reserve.low(2 * size):
            raise AwayError(FULL)
        payer = room.payer_of(actor, self.key)
        with self.writing() as connection:
            yield connection, payer
            room.check(connection, payer, self.limits)

    @contextmanager
    def deleting(self) -> Iterator[sa.Connection]:
        """A transaction that makes room: it works even if the disk is full, or somebody has used up their share."""
        if self.reserve is not None:
            self.reserve.give_up()
        with self.writing() as connection:
            yield connection

    def key(self) -> str:
        """The secret with which all servers on this database sign what they give to browsers."""
        if not self._key:
            with self.reading() as connection:
                found = get_setting(connection, "key")
            if not found:
                with self.writing() as connection:
                    if not self.is_file:
                        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(room.LOCK)))
                    found = get_setting(connection, "key") or secrets.token_urlsafe(32)
                    put_setting(connection, "key", found)
            self._key = found
        return self._key

    def state(self) -> str:
        """Whether something can be saved now: "" if so, else "full" or "away"; looked at every few seconds."""
        at, found = self._state
        if time.monotonic() - at >= CHECKED:
            found = "full" if self.reserve is not None and self.reserve.low() else ""
            try:
                with self.writing() as connection:
                    put_setting(connection, "alive", f"{time.time():.0f}")
            except StoreError as problem:
                found = "full" if str(problem) == FULL else "away"
            self._state = time.monotonic(), found
        return found

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
            if self.version() != HEAD:
                self.migrate()
            if self.reserve is not None:
                self.reserve.keep()
            self._ready.set()

    def _keep_private(self, *_: object) -> None:
        """Let only this user read the file, those beside it and its folder, whatever the umask, before it is opened."""
        name = self.url.database
        if not name or name.startswith((":", "file:")):
            return
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file == Path(sa.make_url(usual_url()).database or ""):  # others' folders are theirs to close
            file.parent.chmod(0o700)
        with suppress(FileExistsError):
            file.touch(mode=0o600, exist_ok=False)
        for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
            with suppress(FileNotFoundError, PermissionError):  # PermissionError: it is another user's
                if stat.S_IMODE(path.stat().st_mode) & 0o077:
                    path.chmod(0o600)

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
        """After something was deleted: give its room back to the disk, and leave nothing of it in the journal.

        Step by step: each step needs room in the journal itself, and there may be little.
        """
        if not self.is_file:
            return
        with self._spoken(), self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None  # noqa: S101  it was just connected
            left, before = 0, -1
            while left != before:
                # a script, because a single statement would free one page and stop
                driver.executescript(f"PRAGMA incremental_vacuum({PAGES}); PRAGMA wal_checkpoint(TRUNCATE);")
                left, before = driver.execute("PRAGMA freelist_count").fetchone()[0], left
                if not left:
                    break
        if self.reserve is not None:
            self.reserve.keep()

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


def get_setting(connection: sa.Connection, name: str) -> str:
    """What the servers on this database share under a name; "" if nothing."""
    return connection.scalar(sa.select(SETTING.c.value).where(SETTING.c.name == name)) or ""


def put_setting(connection: sa.Connection, name: str, value: str) -> None:
    """Share something under a name."""
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = insert(SETTING).values(name=name, value=value[:NAME])
    connection.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": value[:NAME]}))
