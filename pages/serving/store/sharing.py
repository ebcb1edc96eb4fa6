"""Who a project is shared with: people by name, and whoever has a link that was not withdrawn."""

import time
from dataclasses import fields

import sqlalchemy as sa

from pages.serving.store import access
from pages.serving.store.engine import Database
from pages.serving.store.history import note_event
from pages.serving.store.problems import StoreError
from pages.serving.store.records import (
    EDITOR,
    OWNER,
    ROLES,
    Actor,
    Member,
    Share,
    cleaned,
    digest,
    new_id,
    new_secret,
)
from pages.serving.store.schema import DATASET, EVENT, MEMBER, NAME, PROJECT, SCENARIO, SHARE, TOKEN_TABLE

DAY = 86_400.0
MOST_SHARES = 100  # links of one project, and people


class Sharing:
    """The part of the store that keeps who may see a project."""

    database: Database

    def share(
        self, actor: Actor, project: str, role: str, *, label: str = "", days: float | None = None
    ) -> tuple[Share, str]:
        """Make a link for others. Only owners can.

        Parameters
        ----------
        actor : Actor
        project : str
        role : {"figures", "viewer", "editor", "owner"}
        label : str
            Whom it is for.
        days : float, optional
            After so many days it no longer opens anything.

        Returns
        -------
        tuple of (Share, str)
            With the secret, which is not kept: it cannot be shown again.
        """
        with self.database.adding(actor) as (connection, payer):
            access.allow_alone(connection, actor, project, OWNER)
            if len(_shares(connection, project)) >= MOST_SHARES:
                msg = f"A project has at most {MOST_SHARES} links. Withdraw some first."
                raise StoreError(msg)
            made, secret = make_share(connection, project, role, label, days)
            note_event(connection, actor, project, "made a link", f"{role} {made.label}".strip(), payer=payer)
            return made, secret

    def shares_of(self, actor: Actor, project: str) -> list[Share]:
        """The links of a project that still open something; for its owners."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, OWNER)
            return _shares(connection, project)

    def revoke(self, actor: Actor, project: str, share: str) -> None:
        """Withdraw a link: from now on it opens nothing."""
        with self.database.deleting() as connection:
            access.allow_alone(connection, actor, project, OWNER)
            gone = sa.delete(SHARE).where(SHARE.c.id == share, SHARE.c.project_id == project)
            if connection.execute(gone).rowcount:
                _keep_an_owner(connection, project)
                note_event(connection, actor, project, "withdrew a link", "")

    def members_of(self, actor: Actor, project: str) -> list[Member]:
        """The people of a project; for its editors and owners."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, EDITOR)
            query = sa.select(MEMBER).where(MEMBER.c.project_id == project).order_by(MEMBER.c.added)
            return [Member(**row) for row in connection.execute(query).mappings()]

    def set_member(self, actor: Actor, project: str, person: str, role: str) -> None:
        """Let a person into a project, or give them another role.

        Raises
        ------
        StoreError
            If nobody would be left who owns it, or it has too many people.
        """
        known = _person(person)
        with self.database.adding(actor) as (connection, payer):
            access.allow_alone(connection, actor, project, OWNER)
            connection.execute(_membership(project, known))
            count = sa.select(sa.func.count()).select_from(MEMBER).where(MEMBER.c.project_id == project)
            if (connection.scalar(count) or 0) >= MOST_SHARES:
                msg = f"A project has at most {MOST_SHARES} people. End the access of some first."
                raise StoreError(msg)
            row = {"project_id": project, "person": known, "role": _role(role), "added": time.time()}
            connection.execute(sa.insert(MEMBER).values(row))
            _keep_an_owner(connection, project)
            note_event(connection, actor, project, "gave access to", f"{known} ({role})", payer=payer)

    def end_membership(self, actor: Actor, project: str, person: str) -> None:
        """Take a person out of a project.

        Raises
        ------
        StoreError
            If nobody would be left who owns it.
        """
        known = _person(person)
        with self.database.deleting() as connection:
            access.allow_alone(connection, actor, project, OWNER)
            if connection.execute(_membership(project, known)).rowcount:
                _keep_an_owner(connection, project)
                note_event(connection, actor, project, "ended the access of", known)

    def rename_person(self, before: str, now: str) -> int:
        """Hand what belongs to a person over to the name this person has now; for whoever runs the server.

        Returns
        -------
        int
            How many projects were handed over. Where the new name is there already, the higher role counts.
        """
        with self.database.writing() as connection:
            mine = sa.select(MEMBER.c.project_id, MEMBER.c.role).where(MEMBER.c.person == before)
            found = connection.execute(mine).all()
            for project, role in found:
                there = sa.and_(MEMBER.c.project_id == project, MEMBER.c.person == now)
                other = connection.scalar(sa.select(MEMBER.c.role).where(there))
                best = max((role, other or role), key=ROLES.index)
                connection.execute(sa.delete(MEMBER).where(there))
                same = sa.and_(MEMBER.c.project_id == project, MEMBER.c.person == before)
                connection.execute(sa.update(MEMBER).where(same).values(person=now, role=best))
            for column in (DATASET.c.person, TOKEN_TABLE.c.person):
                connection.execute(sa.update(column.table).where(column == before).values(person=now))
            for table in (DATASET, PROJECT, SCENARIO, EVENT):
                connection.execute(sa.update(table).where(table.c.payer == before).values(payer=now))
            return len(found)


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


def _person(text: str) -> str:
    known = cleaned(text, 2 * NAME).lower()
    if not known or len(known) > NAME:
        msg = "Say who it is: the e-mail address with which this person signs in."
        raise StoreError(msg)
    return known


def _membership(project: str, person: str) -> sa.Delete:
    return sa.delete(MEMBER).where(MEMBER.c.project_id == project, MEMBER.c.person == person)


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
