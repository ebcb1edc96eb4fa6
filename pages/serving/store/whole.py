"""The store as a whole, and the one of this process."""

import time
from functools import cache

import sqlalchemy as sa

from pages.serving.config import config
from pages.serving.store import blobs, removal
from pages.serving.store.datasets import COLUMNS, Datasets
from pages.serving.store.engine import UNTOLD, Database, get_setting, put_setting
from pages.serving.store.history import History
from pages.serving.store.projects import Projects, erase_project
from pages.serving.store.records import Dataset
from pages.serving.store.removal import BIN_DAYS, Removal
from pages.serving.store.room import Limits
from pages.serving.store.scenarios import Scenarios
from pages.serving.store.schema import DATASET, PROJECT, SCENARIO, SHARE, TOKEN_TABLE
from pages.serving.store.sharing import DAY, Sharing
from pages.serving.store.tokens import Tokens

SWEPT = "swept"


class Store(Datasets, Removal, Projects, Sharing, History, Scenarios, Tokens):
    """Everything that is kept, for all who may see it.

    Parameters
    ----------
    url : str
        Of the database; see `Database`.
    limits : Limits
        How much may be kept.

    Examples
    --------
    >>> import tempfile
    >>> from pages.serving.store import Actor, Draft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Store(f"sqlite:///{folder}/evenreach.db")
    ...     ann = Actor("ann@example.org", "Ann")
    ...     saved, _ = kept.save_scenario(ann, Draft("Six clinics", {"k": "6"}, {}, b"{}"), title="Clinics")
    ...     print(kept.projects_of(ann)[0].name, [one.name for one in kept.scenarios_of(ann, saved.project_id)])
    ...     kept.close()
    Clinics ['Six clinics']
    """

    def __init__(self, url: str = "", limits: Limits = UNTOLD) -> None:
        self.database = Database(url, limits)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def key(self) -> str:
        """The secret with which all servers on this database sign what they give to browsers."""
        return self.database.key()

    def state(self) -> str:
        """Whether something can be saved now: "" if so, else "full" or "away"."""
        return self.database.state()

    def answers(self) -> bool:
        """Whether the database answers now."""
        try:
            with self.database.reading() as connection:
                return connection.scalar(sa.select(1)) == 1
        except ValueError:
            return False

    def sweep(self, *, upload_days: float, project_days: float, now: float | None = None) -> None:
        """Clear away what is past its time: loose uploads, forgotten projects, the bin, old links and tokens.

        Only what was past its time at an earlier sweep, a day or more ago: a clock that jumps ahead deletes nothing at
        once. Uploads of which somebody made a copy stay as long as the copy, so that their owner can remove both.

        Parameters
        ----------
        upload_days : float
            For so long after its last use an upload is kept.
        project_days : float
            For so long after its last change a project is kept; 0 for ever.
        now : float, optional
            Seconds since 1970; for tests.
        """
        now = time.time() if now is None else now
        with self.database.deleting() as connection:
            seen = float(get_setting(connection, SWEPT) or now)
            due = now - seen >= DAY
            if due or now < seen or not get_setting(connection, SWEPT):
                put_setting(connection, SWEPT, repr(now))
            if due:
                self._clear_away(connection, seen, upload_days, project_days)
            blobs.drop_unused(connection)
        blobs.clear(self.database)

    @staticmethod
    def _clear_away(connection: sa.Connection, now: float, upload_days: float, project_days: float) -> None:
        """Delete what was past its time at a moment."""
        if project_days:
            old = sa.select(PROJECT.c.id).where(PROJECT.c.updated < now - project_days * DAY)
            for (name,) in connection.execute(old).all():
                erase_project(connection, name)
        copy = DATASET.alias()
        copied = sa.exists().where(copy.c.source == DATASET.c.id)
        unused = sa.and_(DATASET.c.project_id.is_(None), DATASET.c.used < now - upload_days * DAY, ~copied)
        connection.execute(sa.delete(DATASET).where(unused))
        binned = sa.select(*COLUMNS).where(DATASET.c.deleted < now - BIN_DAYS * DAY)
        gone = [Dataset(**row) for row in connection.execute(binned).mappings()]
        removal.erase(connection, [*gone, *removal.followers(connection, gone)])
        connection.execute(sa.delete(SCENARIO).where(SCENARIO.c.deleted < now - BIN_DAYS * DAY))
        connection.execute(sa.delete(SHARE).where(SHARE.c.expires < now))
        connection.execute(sa.delete(TOKEN_TABLE).where(TOKEN_TABLE.c.expires < now))


@cache
def store() -> Store:
    """The store of this process, as the settings want it."""
    now = config()
    return Store(now.database_url, Limits(now.store_mb, now.store_entries, now.person_mb, now.person_entries))
