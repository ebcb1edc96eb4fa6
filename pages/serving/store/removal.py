"""Removing data: into a bin and back for a while, or for good; copies that others made go along."""

import time
from collections.abc import Collection, Iterable

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.datasets import COLUMNS, by_token, is_owner
from pages.serving.store.engine import Database
from pages.serving.store.history import AT_MOST, note_event
from pages.serving.store.problems import DENIED, NOT_YOURS, OWNERS_ONLY, DeniedError, InUseError
from pages.serving.store.records import OWNER, VIEWER, Actor, Dataset
from pages.serving.store.schema import DATASET, PROJECT, SCENARIO
from tkm_core.planning import NAMING_DATA
from tkm_core.wording import listed

BIN_DAYS = 30.0  # for so long what was removed can be brought back
AT_ONCE = 500  # names that SQLite takes in a query
NAMED = 3  # scenarios that a refusal names
REMOVED, RESTORED = "removed data that were copied here", "restored data that were copied here"
THEIR_OWNER = Actor(name="the owner of the data")


class Removal:
    """The part of the store that removes data, and brings them back."""

    database: Database

    def remove_dataset(self, actor: Actor, token: str) -> None:
        """Put data in the bin: at once they open for nobody, and neither do the copies that others made of them.

        Raises
        ------
        DeniedError
            If they are somebody else's: uploads belong to whoever brought them, data of a project to its owners.
        InUseError
            If scenarios of their project use them.
        """
        now = time.time()
        with self.database.deleting() as connection:
            found = _owned(connection, actor, token)
            if found is None:
                return
            _refuse_in_use(connection, found)
            gone = [one for one in followers(connection, [found]) if one.deleted is None]
            _set_deleted(connection, [found, *gone], now)
            _tell(connection, actor, found, gone, "put data in the bin", REMOVED)

    def restore_dataset(self, actor: Actor, token: str) -> None:
        """Bring data back from the bin, with the copies that went along."""
        with self.database.adding(actor) as (connection, payer):
            found = _owned(connection, actor, token, deleted=True)
            if found is None or _held_back(connection, [found]):
                raise DeniedError(DENIED)
            back = [one for one in followers(connection, [found]) if one.deleted == found.deleted]
            _set_deleted(connection, [found, *back], None)
            _tell(connection, actor, found, back, "brought data back", RESTORED, payer)

    def erase_dataset(self, actor: Actor, token: str) -> None:
        """Delete data for good, at once, from the bin or not; copies that others made of them go, too."""
        with self.database.deleting() as connection:
            found = _owned(connection, actor, token) or _owned(connection, actor, token, deleted=True)
            if found is None:
                return
            _refuse_in_use(connection, found)
            gone = followers(connection, [found])
            _tell(connection, actor, found, gone, "deleted data for good", REMOVED)
            erase(connection, [found, *gone])
            blobs.drop_unused(connection)
        blobs.clear(self.database)

    def bin_of(self, actor: Actor, project: str | None = None) -> list[Dataset]:
        """What somebody can bring back, the last removed first: own uploads, or the data of a project they own."""
        with self.database.reading() as connection:
            if project is not None:
                access.allow(connection, actor, project, OWNER)
                whose = DATASET.c.project_id == project
            elif actor.owner:
                whose = sa.and_(DATASET.c.project_id.is_(None), DATASET.c.person == actor.owner)
            else:
                return []
            query = (
                sa.select(*COLUMNS)
                .where(whose, DATASET.c.deleted.is_not(None))
                .order_by(DATASET.c.deleted.desc())
                .limit(AT_MOST)
            )
            found = [Dataset(**row) for row in connection.execute(query).mappings()]
            held = _held_back(connection, found)
            return [one for one in found if one.id not in held]


def followers(connection: sa.Connection, found: Iterable[Dataset]) -> list[Dataset]:
    """The copies that others made of data, and the copies of those; they go with them."""
    gone: dict[str, Dataset] = {}
    ids = [one.id for one in found]
    while ids:
        rows = _by(connection, DATASET.c.source, ids)
        new = [one for one in rows if one.id not in gone]
        gone |= {one.id: one for one in new}
        ids = [one.id for one in new]
    return list(gone.values())


def of_project(connection: sa.Connection, project: str) -> list[Dataset]:
    """All that goes with a project: its data, the uploads it was made of, and the copies that others made of either."""
    own = _by(connection, DATASET.c.project_id, [project])
    uploads = _by(connection, DATASET.c.id, [one.origin for one in own if one.origin])
    own += [one for one in uploads if one.project_id is None]
    return own + followers(connection, own)


def erase(connection: sa.Connection, found: Iterable[Dataset]) -> None:
    """Delete rows of data sets; their bytes go with `blobs.drop_unused`."""
    ids = [one.id for one in found]
    for start in range(0, len(ids), AT_ONCE):
        connection.execute(sa.delete(DATASET).where(DATASET.c.id.in_(ids[start : start + AT_ONCE])))


def restore_named(connection: sa.Connection, tokens: Collection[str]) -> None:
    """Bring data back from the bin, with a scenario that was made of them."""
    rows = [one for one in _by(connection, DATASET.c.token, list(tokens)) if one.deleted is not None]
    held = _held_back(connection, rows)
    _set_deleted(connection, [one for one in rows if one.id not in held], None)


def _held_back(connection: sa.Connection, found: list[Dataset]) -> set[str]:
    """Copies of what its own owner has removed: they come back only with it."""
    sources = _by(connection, DATASET.c.id, [one.source for one in found if one.source])
    there = {one.id for one in sources if one.deleted is None}
    return {one.id for one in found if one.source and one.source not in there}


def tell_others(connection: sa.Connection, projects: Iterable[str | None], what: str) -> None:
    """Write into the history of other projects what happened to copies that they had."""
    for project in sorted({project for project in projects if project}):
        if connection.scalar(sa.select(PROJECT.c.id).where(PROJECT.c.id == project)):
            note_event(connection, THEIR_OWNER, project, what, "")


def _tell(
    connection: sa.Connection,
    actor: Actor,
    found: Dataset,
    others: list[Dataset],
    what: str,
    to_others: str,
    payer: str = "",
) -> None:
    if found.project_id is not None:
        note_event(connection, actor, found.project_id, what, found.title or found.kind, payer=payer)
    tell_others(
        connection, [one.project_id for one in others if one.project_id != found.project_id], to_others
    )


def _owned(connection: sa.Connection, actor: Actor, token: str, *, deleted: bool = False) -> Dataset | None:
    """Data that somebody may remove; None if there are none.

    Raises
    ------
    DeniedError
        With a sentence of its own for those who may look at them.
    """
    found = by_token(connection, token, deleted=deleted)
    if found is None or is_owner(connection, actor, found):
        return found
    if found.project_id is None:
        raise DeniedError(NOT_YOURS)
    access.allow(connection, actor, found.project_id, VIEWER)
    raise DeniedError(OWNERS_ONLY)


def _refuse_in_use(connection: sa.Connection, found: Dataset) -> None:
    if found.project_id is None:
        return
    kept = sa.and_(SCENARIO.c.project_id == found.project_id, SCENARIO.c.deleted.is_(None))
    rows = connection.execute(sa.select(SCENARIO.c.name, SCENARIO.c.settings).where(kept)).all()
    names = [
        str(name) for name, settings in rows if found.token in {settings.get(field) for field in NAMING_DATA}
    ]
    if names:
        more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
        told = listed([f"“{name}”" for name in names[:NAMED]] + more)
        msg = f"These data are in use: delete {told} first, then remove the data."
        raise InUseError(msg)


def _set_deleted(connection: sa.Connection, found: list[Dataset], when: float | None) -> None:
    ids = [one.id for one in found]
    for start in range(0, len(ids), AT_ONCE):
        some = DATASET.c.id.in_(ids[start : start + AT_ONCE])
        connection.execute(sa.update(DATASET).where(some).values(deleted=when))


def _by(connection: sa.Connection, column: sa.Column[str], values: list[str]) -> list[Dataset]:
    found: list[Dataset] = []
    for start in range(0, len(values), AT_ONCE):
        query = sa.select(*COLUMNS).where(column.in_(values[start : start + AT_ONCE]))
        found += [Dataset(**row) for row in connection.execute(query).mappings()]
    return found
