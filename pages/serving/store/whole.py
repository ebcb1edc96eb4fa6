"""The store as a whole, and the one of this process."""

import time
from functools import cache

import sqlalchemy as sa

from pages.serving.config import config
from pages.serving.store import blobs
from pages.serving.store.datasets import Datasets
from pages.serving.store.engine import Database
from pages.serving.store.projects import DAY, Projects, erase_project
from pages.serving.store.scenarios import Scenarios
from pages.serving.store.schema import DATASET, PROJECT, SCENARIO, SHARE, TOKEN_TABLE
from pages.serving.store.tokens import Tokens

UNDO_DAYS = 1.0  # a deleted scenario can be brought back for so long


class Store(Datasets, Projects, Scenarios, Tokens):
    """Everything that is kept, for all who may see it.

    Parameters
    ----------
    url : str
        Of the database; see `Database`.

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

    def __init__(self, url: str = "") -> None:
        self.database = Database(url)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def answers(self) -> bool:
        """Whether the database answers now."""
        try:
            with self.database.reading() as connection:
                return connection.scalar(sa.select(1)) == 1
        except ValueError:
            return False

    def sweep(self, *, upload_days: float, project_days: float, now: float | None = None) -> None:
        """Clear away what is past its time: loose uploads, forgotten projects, deleted scenarios, old links and tokens.

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
        with self.database.writing() as connection:
            if project_days:
                old = sa.select(PROJECT.c.id).where(PROJECT.c.updated < now - project_days * DAY)
                for (name,) in connection.execute(old).all():
                    erase_project(connection, name)
            connection.execute(
                sa.delete(DATASET).where(
                    DATASET.c.project_id.is_(None), DATASET.c.used < now - upload_days * DAY
                )
            )
            connection.execute(sa.delete(SCENARIO).where(SCENARIO.c.deleted < now - UNDO_DAYS * DAY))
            connection.execute(sa.delete(SHARE).where(SHARE.c.expires < now))
            connection.execute(sa.delete(TOKEN_TABLE).where(TOKEN_TABLE.c.expires < now))
            blobs.drop_unused(connection)
        self.database.give_back()


@cache
def store() -> Store:
    """The store of this process, as the settings want it."""
    return Store(config().database)
