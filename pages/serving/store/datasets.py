"""Data sets in the store: uploads by their token, and those of projects for the people of the project."""

import time
from contextlib import suppress
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.engine import Database
from pages.serving.store.problems import DENIED, NO_COPY, NOT_YOURS, AwayError, DeniedError
from pages.serving.store.records import (
    EDITOR,
    OWNER,
    ROLES,
    VIEWER,
    Actor,
    Dataset,
    cleaned,
    new_id,
    new_secret,
)
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
            Whose it is; they may remove it at any later visit.
        kind : str
            "residents", "existing", "plan", or what else a page brings.
        content : bytes
        title, people : str
            What it is called, and what its rows count.
        token : str, optional
            The secret that opens it; a new one by default. One's own upload with this token is replaced.

        Raises
        ------
        DeniedError
            If the token is that of somebody else's data.
        FullError
            If there is no room for it.
        """
        now = time.time()
        with self.database.adding(actor, len(content)) as (connection, payer):
            name = blobs.put(connection, content)
            before = by_token(connection, token) if token else None
            if before is not None and (before.project_id or not is_owner(connection, actor, before)):
                raise DeniedError(NOT_YOURS)
            row: dict[str, Any] = {
                "id": new_id() if before is None else before.id,
                "token": token or new_secret(),
                "hash": name,
                "kind": cleaned(kind, 20),
                "title": cleaned(title, NAME),
                "people": cleaned(people, NAME),
                "size": len(content),
                "project_id": None,
                "origin": "",
                "source": "",
                "person": actor.owner,
                "created": now,
                "used": now,
                "deleted": None,
            }
            if before is None:
                connection.execute(sa.insert(DATASET).values(row | {"payer": payer}))
            else:
                connection.execute(
                    sa.update(DATASET).where(DATASET.c.id == before.id).values(row | {"payer": payer})
                )
                blobs.drop_unused(connection)
        if before is not None:
            blobs.clear(self.database)
        return Dataset(**row)

    def dataset(self, actor: Actor, token: str) -> Dataset | None:
        """The data set that a token names, or None if there is none for this person."""
        with self.database.reading() as connection:
            found = by_token(connection, token)
            if found is None or not _seen_by(connection, actor, found):
                return None
        if time.time() - found.used > FRESH:
            with suppress(AwayError):  # with a full disk, too, data can be looked at
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
        """Whether somebody may remove a data set: their own upload, or the data of a project they own."""
        with self.database.reading() as connection:
            found = by_token(connection, token)
            return found is not None and is_owner(connection, actor, found)

    def _note_use(self, found: Dataset) -> None:
        with self.database.writing() as connection:
            connection.execute(sa.update(DATASET).where(DATASET.c.id == found.id).values(used=time.time()))


def by_token(connection: sa.Connection, token: str, *, deleted: bool = False) -> Dataset | None:
    """The data set with this token; only one that is in the bin, or only one that is not."""
    where = DATASET.c.deleted.is_not(None) if deleted else DATASET.c.deleted.is_(None)
    row = connection.execute(sa.select(*COLUMNS).where(DATASET.c.token == token, where)).mappings().first()
    return None if row is None else Dataset(**row)


def is_owner(connection: sa.Connection, actor: Actor, found: Dataset) -> bool:
    """Whether somebody owns a data set: brought the upload, or owns its project."""
    if found.project_id is None:
        return bool(actor.owner) and actor.owner == found.person
    return access.roles_of(connection, actor, found.project_id).get(found.project_id) == OWNER


def _seen_by(connection: sa.Connection, actor: Actor, found: Dataset) -> bool:
    return found.project_id is None or _has(connection, actor, found.project_id, VIEWER)


def _has(connection: sa.Connection, actor: Actor, project: str, least: str) -> bool:
    role = access.roles_of(connection, actor, project).get(project)
    return role is not None and ROLES.index(role) >= ROLES.index(least)


def copied_into(connection: sa.Connection, actor: Actor, token: str, project: str, payer: str) -> str | None:
    """The token of a data set within a project: its own copy, made now if it has none; None if it cannot be seen.

    The bytes are not copied. A copy of somebody's own data is theirs to keep; a copy of anybody else's goes with what
    it was made of.

    Raises
    ------
    DeniedError
        If the data belong to another project in which this person may only look.
    """
    found = by_token(connection, token)
    if found is None or not _seen_by(connection, actor, found):
        return None
    if found.project_id == project:
        return found.token
    if found.project_id is not None and not _has(connection, actor, found.project_id, EDITOR):
        raise DeniedError(NO_COPY)
    mine = is_owner(connection, actor, found)
    source = found.source if mine else found.id
    there = sa.select(DATASET.c.token).where(
        DATASET.c.project_id == project,
        DATASET.c.deleted.is_(None),
        DATASET.c.source == source,
        DATASET.c.hash == found.hash,
        DATASET.c.kind == found.kind,
        DATASET.c.title == found.title,
        DATASET.c.people == found.people,
    )
    known = connection.scalar(there)
    if known is not None:
        return str(known)
    now = time.time()
    row = {part.name: getattr(found, part.name) for part in fields(Dataset)} | {
        "id": new_id(),
        "token": new_secret(),
        "project_id": project,
        "origin": found.id if mine and found.project_id is None else "",
        "source": source,
        "person": actor.owner,
        "created": now,
        "used": now,
    }
    connection.execute(sa.insert(DATASET).values(row | {"payer": payer}))
    return str(row["token"])
