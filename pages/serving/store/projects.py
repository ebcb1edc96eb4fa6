"""Projects in the store: made, listed, changed, deleted with all their data, and who they are shared with."""

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.engine import Database
from pages.serving.store.problems import CHANGED, ConflictError, StoreError
from pages.serving.store.records import (
    EDITOR,
    OWNER,
    ROLES,
    VIEWER,
    Actor,
    Event,
    Member,
    Project,
    Share,
    cleaned,
    cleaned_note,
    digest,
    event_id,
    new_id,
    new_secret,
)
from pages.serving.store.schema import DATASET, EVENT, MEMBER, NAME, NOTE, PROJECT, SCENARIO, SHARE

DAY = 86_400.0
MOST_SHARES = 100  # links and people of one project


class Projects:
    """The part of the store that keeps projects and who may see them."""

    database: Database

    def new_project(self, actor: Actor, name: str, note: str = "") -> tuple[Project, str]:
        """Make a project. It belongs to the person; for somebody without a name, to whoever has the secret returned.

        Returns
        -------
        tuple of (Project, str)
            The secret of its private link; empty where it belongs to a person.
        """
        with self.database.writing() as connection:
            return make_project(connection, actor, name, note)

    def projects_of(self, actor: Actor) -> list[Project]:
        """The projects that somebody may see, the one changed last first."""
        with self.database.reading() as connection:
            roles = access.roles_of(connection, actor)
            counted = (
                sa.select(SCENARIO.c.project_id, sa.func.count().label("scenarios"))
                .where(SCENARIO.c.deleted.is_(None))
                .group_by(SCENARIO.c.project_id)
                .subquery()
            )
            found: list[Project] = []
            names = list(roles)
            for start in range(0, len(names), 500):  # SQLite takes so many names in a query
                query = (
                    sa.select(PROJECT, sa.func.coalesce(counted.c.scenarios, 0).label("scenarios"))
                    .outerjoin(counted, counted.c.project_id == PROJECT.c.id)
                    .where(PROJECT.c.id.in_(names[start : start + 500]))
                )
                found += [
                    Project(**row, role=roles[row["id"]]) for row in connection.execute(query).mappings()
                ]
        return sorted(found, key=lambda one: (-one.updated, one.id))

    def project(self, actor: Actor, project: str) -> Project:
        """One project.

        Raises
        ------
        DeniedError
            If there is none of this name for this person.
        """
        with self.database.reading() as connection:
            role = access.allow(connection, actor, project, VIEWER)
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
        with self.database.writing() as connection:
            role = access.allow(connection, actor, project, EDITOR)
            same = sa.and_(PROJECT.c.id == project, PROJECT.c.version == version)
            values |= {"version": version + 1, "updated": time.time()}
            if connection.execute(sa.update(PROJECT).where(same).values(values)).rowcount != 1:
                raise ConflictError(CHANGED)
            told = ", ".join(f"{key}: {value}" for key, value in changes.items())
            note_event(connection, actor, project, "changed the project", told)
            return _project(connection, project, role)

    def delete_project(self, actor: Actor, project: str) -> None:
        """Delete a project with its scenarios, data, links and history, and the uploads it was made of. At once."""
        with self.database.writing() as connection:
            access.allow(connection, actor, project, OWNER)
            erase_project(connection, project)
        self.database.give_back()

    def share(
        self, actor: Actor, project: str, role: str, *, label: str = "", days: float | None = None
    ) -> tuple[Share, str]:
        """Make a link for others. Only owners can.

        Parameters
        ----------
        actor : Actor
        project : str
        role : {"viewer", "editor", "owner"}
        label : str
            Whom it is for.
        days : float, optional
            After so many days it no longer opens anything.

        Returns
        -------
        tuple of (Share, str)
            With the secret, which is not kept: it cannot be shown again.
        """
        with self.database.writing() as connection:
            access.allow(connection, actor, project, OWNER)
            if len(_shares(connection, project)) >= MOST_SHARES:
                msg = f"A project has at most {MOST_SHARES} links. Withdraw some first."
                raise StoreError(msg)
            made, secret = make_share(connection, project, role, label, days)
            note_event(connection, actor, project, "made a link", f"{role} {made.label}".strip())
            return made, secret

    def shares_of(self, actor: Actor, project: str) -> list[Share]:
        """The links of a project that still open something; for its owners."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, OWNER)
            return _shares(connection, project)

    def revoke(self, actor: Actor, project: str, share: str) -> None:
        """Withdraw a link: from now on it opens nothing."""
        with self.database.writing() as connection:
            access.allow(connection, actor, project, OWNER)
            gone = sa.delete(SHARE).where(SHARE.c.id == share, SHARE.c.project_id == project)
            if connection.execute(gone).rowcount:
                _keep_an_owner(connection, project)
                note_event(connection, actor, project, "withdrew a link", "")

    def members_of(self, actor: Actor, project: str) -> list[Member]:
        """The people of a project."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, VIEWER)
            query = sa.select(MEMBER).where(MEMBER.c.project_id == project).order_by(MEMBER.c.added)
            return [Member(**row) for row in connection.execute(query).mappings()]

    def set_member(self, actor: Actor, project: str, person: str, role: str | None) -> None:
        """Let a person into a project, give them another role, or take them out (None).

        Raises
        ------
        StoreError
            If nobody would be left who owns it.
        """
        known = cleaned(person, NAME).lower()
        with self.database.writing() as connection:
            access.allow(connection, actor, project, OWNER)
            connection.execute(
                sa.delete(MEMBER).where(MEMBER.c.project_id == project, MEMBER.c.person == known)
            )
            if role is not None and known:
                row = {"project_id": project, "person": known, "role": _role(role), "added": time.time()}
                connection.execute(sa.insert(MEMBER).values(row))
            _keep_an_owner(connection, project)
            what, detail = (
                ("ended the access of", known) if role is None else ("gave access to", f"{known} ({role})")
            )
            note_event(connection, actor, project, what, detail)

    def history(self, actor: Actor, project: str, most: int = 200) -> list[Event]:
        """What was changed when and by whom, the last first."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, VIEWER)
            query = (
                sa.select(EVENT).where(EVENT.c.project_id == project).order_by(EVENT.c.id.desc()).limit(most)
            )
            return [Event(**row) for row in connection.execute(query).mappings()]


def make_project(connection: sa.Connection, actor: Actor, name: str, note: str = "") -> tuple[Project, str]:
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
    connection.execute(sa.insert(PROJECT).values(row))
    secret = ""
    if actor.person:
        owner = {"project_id": row["id"], "person": actor.person, "role": OWNER, "added": now}
        connection.execute(sa.insert(MEMBER).values(owner))
    else:
        _, secret = make_share(connection, row["id"], OWNER, "the private link", None)
    note_event(connection, actor, row["id"], "made the project", row["name"])
    return Project(**row, role=OWNER), secret


def make_share(
    connection: sa.Connection, project: str, role: str, label: str, days: float | None
) -> tuple[Share, str]:
    """Make a link within a transaction."""
    secret, now = new_secret(), time.time()
    made = Share(
        new_id(), project, _role(role), cleaned(label, NAME), now, None if days is None else now + days * DAY
    )
    row = {part.name: getattr(made, part.name) for part in fields(Share)}
    connection.execute(sa.insert(SHARE).values(row | {"digest": digest(secret)}))
    return made, secret


def note_event(
    connection: sa.Connection, actor: Actor, project: str, what: str, detail: str, scenario: str = ""
) -> None:
    """Write down what is done, in the transaction in which it is done."""
    row = Event(event_id(), project, scenario, actor.shown, what, cleaned(detail, NOTE), time.time())
    connection.execute(
        sa.insert(EVENT).values({part.name: getattr(row, part.name) for part in fields(Event)})
    )


def erase_project(connection: sa.Connection, project: str) -> None:
    """Delete a project and all that came with it, the uploads it was made of included."""
    copies = sa.select(DATASET.c.origin).where(DATASET.c.project_id == project, DATASET.c.origin != "")
    origins = [str(name) for (name,) in connection.execute(copies)]
    connection.execute(sa.delete(DATASET).where(DATASET.c.id.in_(origins), DATASET.c.project_id.is_(None)))
    connection.execute(sa.delete(PROJECT).where(PROJECT.c.id == project))
    blobs.drop_unused(connection)


def _project(connection: sa.Connection, project: str, role: str) -> Project:
    row = connection.execute(sa.select(PROJECT).where(PROJECT.c.id == project)).mappings().one()
    kept = sa.and_(SCENARIO.c.project_id == project, SCENARIO.c.deleted.is_(None))
    count = connection.scalar(sa.select(sa.func.count()).select_from(SCENARIO).where(kept)) or 0
    return Project(**row, role=role, scenarios=count)


def _shares(connection: sa.Connection, project: str) -> list[Share]:
    valid = sa.or_(SHARE.c.expires.is_(None), SHARE.c.expires > time.time())
    columns = [SHARE.c[part.name] for part in fields(Share)]
    query = sa.select(*columns).where(SHARE.c.project_id == project, valid).order_by(SHARE.c.created)
    return [Share(**row) for row in connection.execute(query).mappings()]


def _keep_an_owner(connection: sa.Connection, project: str) -> None:
    """Refuse a change after which nobody could manage the project."""
    person = sa.exists().where(MEMBER.c.project_id == project, MEMBER.c.role == OWNER)
    link = sa.exists().where(SHARE.c.project_id == project, SHARE.c.role == OWNER, SHARE.c.expires.is_(None))
    if not connection.scalar(sa.select(sa.or_(person, link))):
        msg = "Somebody has to own this project: make another owner first, or delete the project."
        raise StoreError(msg)


def _role(name: str) -> str:
    if name not in ROLES:
        msg = f"A role is one of {', '.join(ROLES)}."
        raise StoreError(msg)
    return name
