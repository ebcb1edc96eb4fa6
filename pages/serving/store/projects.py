"""Projects in the store: made, listed, changed, deleted with all their data."""

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs, removal
from pages.serving.store.engine import Database
from pages.serving.store.history import MOST, note_event, part
from pages.serving.store.problems import CHANGED, ConflictError
from pages.serving.store.records import (
    EDITOR,
    FIGURES,
    OWNER,
    Actor,
    Project,
    cleaned,
    cleaned_note,
    digest,
    new_id,
)
from pages.serving.store.schema import MEMBER, NAME, NOTE, PROJECT, SCENARIO, SHARE
from pages.serving.store.sharing import make_share

COLUMNS = [PROJECT.c[one.name] for one in fields(Project) if one.name in PROJECT.c]


class Projects:
    """The part of the store that keeps projects."""

    database: Database

    def new_project(self, actor: Actor, name: str, note: str = "") -> tuple[Project, str]:
        """Make a project. It belongs to the person; for somebody without a name, to whoever has the secret returned.

        Returns
        -------
        tuple of (Project, str)
            The secret of its private link; empty where it belongs to a person.
        """
        with self.database.adding(actor) as (connection, payer):
            return make_project(connection, actor, name, note, payer=payer)

    def projects_of(self, actor: Actor, most: int = MOST, start: int = 0) -> list[Project]:
        """The projects that somebody may see, the one changed last first; `most` of them from `start` on."""
        with self.database.reading() as connection:
            mine = sa.select(MEMBER.c.project_id).where(
                MEMBER.c.person == actor.person, MEMBER.c.person != ""
            )
            digests = [digest(key) for key in actor.keys[-access.MOST_KEYS :]]
            valid = sa.or_(SHARE.c.expires.is_(None), SHARE.c.expires > time.time())
            linked = sa.select(SHARE.c.project_id).where(SHARE.c.digest.in_(digests), valid)
            query = (
                sa.select(*COLUMNS, _counted().label("scenarios"))
                .where(PROJECT.c.id.in_(mine.union(linked)))
                .order_by(PROJECT.c.updated.desc(), PROJECT.c.id)
            )
            rows = connection.execute(part(query, most, start)).mappings().all()
            roles = access.roles_of(connection, actor) if rows else {}
            return [Project(**row, role=roles[row["id"]]) for row in rows]

    def project(self, actor: Actor, project: str) -> Project:
        """One project.

        Raises
        ------
        DeniedError
            If there is none of this name for this person.
        """
        with self.database.reading() as connection:
            role = access.allow(connection, actor, project, FIGURES)
            return _project(connection, project, role)

    def change_project(
        self, actor: Actor, project: str, version: int, **changes: str | Mapping[str, Any]
    ) -> Project:
        """Rename a project, or change its note or its rules.

        Parameters
        ----------
        actor : Actor
        project : str
        version : int
            Of the project as it was seen.
        **changes
            `name`, `note` or `rules`.

        Raises
        ------
        ConflictError
            If somebody else changed it since then.
        """
        values: dict[str, Any] = dict(changes)
        if "name" in values:
            values["name"] = cleaned(values["name"], NAME, "Project")
        if "note" in values:
            values["note"] = cleaned_note(values["note"], NOTE)
        with self.database.adding(actor) as (connection, payer):
            role = access.allow(connection, actor, project, EDITOR)
            same = sa.and_(PROJECT.c.id == project, PROJECT.c.version == version)
            values |= {"version": version + 1, "updated": time.time()}
            if connection.execute(sa.update(PROJECT).where(same).values(values)).rowcount != 1:
                raise ConflictError(CHANGED)
            told = ", ".join(f"{key}: {value}" for key, value in changes.items())
            note_event(connection, actor, project, "changed the project", told, payer=payer)
            return _project(connection, project, role)

    def delete_project(self, actor: Actor, project: str) -> None:
        """Delete a project with its scenarios, data, links and history, for good and at once.

        The uploads it was made of go, too, and so do the copies of its data that others made in their projects.
        """
        with self.database.deleting() as connection:
            access.allow_alone(connection, actor, project, OWNER)
            erase_project(connection, project)
        blobs.clear(self.database)


def make_project(
    connection: sa.Connection, actor: Actor, name: str, note: str = "", *, payer: str
) -> tuple[Project, str]:
    """Make a project within a transaction; see `Projects.new_project`."""
    now = time.time()
    row: dict[str, Any] = {
        "id": new_id(),
        "name": cleaned(name, NAME, "Project"),
        "note": cleaned_note(note, NOTE),
        "rules": {},
        "version": 1,
        "created": now,
        "updated": now,
    }
    connection.execute(sa.insert(PROJECT).values(row | {"payer": payer}))
    secret = ""
    if actor.person:
        owner = {"project_id": row["id"], "person": actor.person, "role": OWNER, "added": now}
        connection.execute(sa.insert(MEMBER).values(owner))
    else:
        _, secret = make_share(connection, row["id"], OWNER, "the private link", None)
    note_event(connection, actor, row["id"], "made the project", row["name"], payer=payer)
    return Project(**row, role=OWNER), secret


def erase_project(connection: sa.Connection, project: str) -> None:
    """Delete a project and all that came with it: the uploads it was made of, and copies that others made."""
    gone = removal.of_project(connection, project)
    removal.erase(connection, gone)
    connection.execute(sa.delete(PROJECT).where(PROJECT.c.id == project))
    removal.tell_others(
        connection, [one.project_id for one in gone if one.project_id != project], removal.REMOVED
    )
    blobs.drop_unused(connection)


def _project(connection: sa.Connection, project: str, role: str) -> Project:
    query = sa.select(*COLUMNS, _counted().label("scenarios")).where(PROJECT.c.id == project)
    return Project(**connection.execute(query).mappings().one(), role=role)


def _counted() -> sa.ScalarSelect[int]:
    """How many scenarios a project has."""
    kept = sa.and_(SCENARIO.c.project_id == PROJECT.c.id, SCENARIO.c.deleted.is_(None))
    return sa.select(sa.func.count()).select_from(SCENARIO).where(kept).correlate(PROJECT).scalar_subquery()
