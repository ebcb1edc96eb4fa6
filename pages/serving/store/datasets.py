"""Data sets in the store: uploads by their token, and those of projects for the people of the project."""

import time
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.engine import Database
from pages.serving.store.problems import DENIED, DeniedError
from pages.serving.store.records import EDITOR, VIEWER, Actor, Dataset, cleaned, new_id, new_secret
from pages.serving.store.schema import DATASET, NAME

FRESH = 3600.0  # seconds after which the use of a data set is noted again
COLUMNS = [DATASET.c[part.name] for part in fields(Dataset)]


class Datasets:
    """The part of the store that keeps data sets."""

    database: Database

    def add_dataset(
        self, actor: Actor, kind: str, content: bytes, *, title: str = "", people: str = "", token: str = ""
    ) -> Dataset:
        """Keep an upload; whoever has its token may look at it.

        Parameters
        ----------
        actor : Actor
            Whose it is; a person may remove it at any later visit.
        kind : str
            "residents", "existing", "plan", or what else a page brings.
        content : bytes
        title, people : str
            What it is called, and what its rows count.
        token : str, optional
            The secret that opens it; a new one by default.
        """
        now = time.time()
        with self.database.writing() as connection:
            name = blobs.put(connection, content)
            row: dict[str, Any] = {
                "id": new_id(),
                "token": token or new_secret(),
                "hash": name,
                "kind": cleaned(kind, 20),
                "title": cleaned(title, NAME),
                "people": cleaned(people, NAME),
                "size": len(content),
                "project_id": None,
                "origin": "",
                "person": actor.person,
                "created": now,
                "used": now,
            }
            connection.execute(sa.insert(DATASET).values(row))
        return Dataset(**row)

    def dataset(self, actor: Actor, token: str) -> Dataset | None:
        """The data set that a token names, or None if there is none for this person."""
        with self.database.reading() as connection:
            found = by_token(connection, token)
            if found is None or not _seen_by(connection, actor, found):
                return None
        if time.time() - found.used > FRESH:
            self._note_use(found)
        return found

    def content(self, actor: Actor, token: str) -> bytes:
        """The bytes of a data set.

        Raises
        ------
        DeniedError
            If there is none for this person.
        """
        with self.database.reading() as connection:
            found = by_token(connection, token)
            if found is None or not _seen_by(connection, actor, found):
                raise DeniedError(DENIED)
            return blobs.get(connection, found.hash)

    def owns_dataset(self, actor: Actor, token: str) -> bool:
        """Whether an upload was brought by this person, who signed in."""
        found = self.dataset(actor, token)
        return found is not None and bool(actor.person) and found.person == actor.person

    def remove_dataset(self, actor: Actor, token: str, *, own: bool = False) -> None:
        """Remove an upload with all its bytes, at once. One that belongs to a project goes with its project.

        Parameters
        ----------
        actor : Actor
        token : str
        own : bool
            Whether the app knows that this visitor brought it, though nobody signed in.
        """
        with self.database.writing() as connection:
            found = by_token(connection, token)
            if found is None:
                return
            if found.project_id is not None:
                access.allow(connection, actor, found.project_id, EDITOR)
            elif not own and not (actor.person and actor.person == found.person):
                raise DeniedError(DENIED)
            connection.execute(sa.delete(DATASET).where(DATASET.c.id == found.id))
            blobs.drop_unused(connection)
        self.database.give_back()

    def _note_use(self, found: Dataset) -> None:
        with self.database.writing() as connection:
            connection.execute(sa.update(DATASET).where(DATASET.c.id == found.id).values(used=time.time()))


def by_token(connection: sa.Connection, token: str) -> Dataset | None:
    """The data set with this token."""
    row = connection.execute(sa.select(*COLUMNS).where(DATASET.c.token == token)).mappings().first()
    return None if row is None else Dataset(**row)


def _seen_by(connection: sa.Connection, actor: Actor, found: Dataset) -> bool:
    if found.project_id is None:
        return True
    try:
        access.allow(connection, actor, found.project_id, VIEWER)
    except DeniedError:
        return False
    return True


def copied_into(
    connection: sa.Connection, actor: Actor, token: str, project: str, *, own: bool
) -> str | None:
    """The token of a data set within a project: its own copy, made now if it has none; None if it cannot be seen.

    The bytes are not copied. If the visitor brought the upload, it goes when the project goes.
    """
    found = by_token(connection, token)
    if found is None or not _seen_by(connection, actor, found):
        return None
    if found.project_id == project:
        return found.token
    there = sa.select(DATASET.c.token).where(
        DATASET.c.project_id == project,
        DATASET.c.hash == found.hash,
        DATASET.c.kind == found.kind,
        DATASET.c.title == found.title,
        DATASET.c.people == found.people,
    )
    known = connection.scalar(there)
    if known is not None:
        return str(known)
    mine = found.project_id is None and (own or bool(actor.person and actor.person == found.person))
    now = time.time()
    row = {part.name: getattr(found, part.name) for part in fields(Dataset)} | {
        "id": new_id(),
        "token": new_secret(),
        "project_id": project,
        "origin": found.id if mine else "",
        "person": actor.person,
        "created": now,
        "used": now,
    }
    connection.execute(sa.insert(DATASET).values(row))
    return str(row["token"])
