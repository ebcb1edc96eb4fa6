"""Scenarios in the store: saved as a whole or not at all, opened as they were, deleted with a way back."""

import json
import time
from dataclasses import fields, replace
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.datasets import copied_into
from pages.serving.store.engine import Database
from pages.serving.store.history import MOST, hidden, note_event, part
from pages.serving.store.problems import CHANGED, DENIED, ConflictError, DeniedError, StoreError
from pages.serving.store.projects import COLUMNS as OF_PROJECT
from pages.serving.store.projects import make_project
from pages.serving.store.records import (
    EDITOR,
    FIGURES,
    OWNER,
    VIEWER,
    Actor,
    Draft,
    Project,
    Scenario,
    cleaned,
    cleaned_note,
    new_id,
)
from pages.serving.store.removal import restore_named
from pages.serving.store.schema import NAME, NOTE, PROJECT, SCENARIO
from tkm_core.planning import NAMING_DATA
from tkm_core.version import VERSION

MOST_SCENARIOS = 500  # of one project
LARGEST_PLAN = 20_000_000  # bytes of a plan file
WITHOUT_HOMES = "figures "  # begins the names of pictures that do not show where people live
OF_SAMPLE = "sample"  # what stands in place of a token for what came with a sample
COLUMNS = [SCENARIO.c[part.name] for part in fields(Scenario)]
LISTED = [column for column in COLUMNS if column.name != "pictures"]


class Scenarios:
    """The part of the store that keeps scenarios."""

    database: Database

    def save_scenario(
        self,
        actor: Actor,
        draft: Draft,
        project: str | None = None,
        *,
        title: str = "",
    ) -> tuple[Scenario, str]:
        """Save a plan under a name, with the data it was made of, in one transaction.

        Parameters
        ----------
        actor : Actor
        draft : Draft
        project : str, optional
            Where to; by default a new project.
        title : str
            What a new project is called.

        Returns
        -------
        tuple of (Scenario, str)
            The secret of a new project that belongs to nobody by name, as in `new_project`; else "".

        Raises
        ------
        DeniedError
            If this person may not change the project, or not copy the data of another one into it.
        FullError
            If there is no room for it.
        """
        secret = ""
        with self.database.adding(actor, len(draft.plan)) as (connection, payer):
            if project is None:
                made, secret = make_project(connection, actor, title or draft.name, payer=payer)
                project = made.id
                actor = replace(actor, keys=(*actor.keys, secret)) if secret else actor
            access.allow(connection, actor, project, EDITOR)
            _refuse_too_many(connection, project)
            settings = self._with_own_data(connection, actor, draft, project, payer)
            row = _row(actor, draft, project, settings, blobs.put(connection, draft.plan, most=LARGEST_PLAN))
            connection.execute(sa.insert(SCENARIO).values(row | _paid(row, payer)))
            _touch(connection, project)
            note_event(connection, actor, project, "saved", "", row["name"], payer=payer)
        return Scenario(**row), secret

    @staticmethod
    def _with_own_data(
        connection: sa.Connection, actor: Actor, draft: Draft, project: str, payer: str
    ) -> dict[str, str]:
        """The settings, with the tokens of the project's own copies of the data."""
        settings = dict(draft.settings)
        for name in NAMING_DATA:
            token = settings.get(name)
            if token and token != OF_SAMPLE:
                kept = copied_into(connection, actor, token, project, payer)
                if kept is None:
                    msg = (
                        "The data of this plan are not in the database, so it cannot be saved. Upload them again on "
                        "the Data page, then save."
                    )
                    raise StoreError(msg)
                settings[name] = kept
        return settings

    def scenarios_of(
        self,
        actor: Actor,
        project: str,
        *,
        deleted: bool = False,
        pictures: bool = True,
        most: int = MOST,
        start: int = 0,
    ) -> list[Scenario]:
        """The scenarios of a project, the newest first, `most` of them from `start` on; or those in the bin."""
        with self.database.reading() as connection:
            role = access.allow(connection, actor, project, EDITOR if deleted else FIGURES)
            gone = SCENARIO.c.deleted.is_not(None) if deleted else SCENARIO.c.deleted.is_(None)
            query = (
                sa.select(*(COLUMNS if pictures else LISTED))
                .where(SCENARIO.c.project_id == project, gone)
                .order_by(SCENARIO.c.created.desc(), SCENARIO.c.id)
            )
            rows = connection.execute(part(query, most, start)).mappings()
            return [_shown(Scenario(**row), role) for row in rows]

    def names_in(self, actor: Actor, project: str) -> set[str]:
        """What the scenarios of a project are called."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, FIGURES)
            query = sa.select(SCENARIO.c.name).where(
                SCENARIO.c.project_id == project, SCENARIO.c.deleted.is_(None)
            )
            return {str(name) for (name,) in connection.execute(query)}

    def open_scenario(self, actor: Actor, scenario: str) -> tuple[Scenario, Project]:
        """One scenario and its project; see `plan_of` for its plan file.

        Raises
        ------
        DeniedError
            If there is none for this person, or it was deleted.
        """
        with self.database.reading() as connection:
            found, role = _found(connection, actor, scenario, FIGURES)
            query = sa.select(*OF_PROJECT).where(PROJECT.c.id == found.project_id)
            return _shown(found, role), Project(**connection.execute(query).mappings().one(), role=role)

    def plan_of(self, actor: Actor, scenario: str) -> bytes:
        """The plan file of a scenario."""
        with self.database.reading() as connection:
            found, _ = _found(connection, actor, scenario, VIEWER)
            return blobs.get(connection, found.plan)

    def change_scenario(self, actor: Actor, scenario: str, version: int, **changes: str) -> Scenario:
        """Rename a scenario, or change its note.

        Parameters
        ----------
        actor : Actor
        scenario : str
        version : int
            Of the scenario as it was seen.
        **changes : str
            `name` or `note`.

        Raises
        ------
        ConflictError
            If somebody else changed it since then.
        """
        values: dict[str, Any] = {"version": version + 1, "updated": time.time()}
        if "name" in changes:
            values["name"] = cleaned(changes["name"], NAME, "Scenario")
        if "note" in changes:
            values["note"] = cleaned_note(changes["note"], NOTE)
        with self.database.adding(actor) as (connection, payer):
            before, _ = _found(connection, actor, scenario, EDITOR)
            same = sa.and_(SCENARIO.c.id == scenario, SCENARIO.c.version == version)
            if connection.execute(sa.update(SCENARIO).where(same).values(values)).rowcount != 1:
                raise ConflictError(CHANGED)
            _touch(connection, before.project_id)
            told = f"now called {values['name']}" if values.get("name", before.name) != before.name else ""
            what = "renamed" if told else "changed the note of"
            note_event(connection, actor, before.project_id, what, told, before.name, payer=payer)
            return _shown(*_found(connection, actor, scenario, EDITOR))

    def duplicate_scenario(self, actor: Actor, scenario: str, name: str) -> Scenario:
        """The same scenario again under another name, to go on from."""
        with self.database.adding(actor) as (connection, payer):
            found, _ = _found(connection, actor, scenario, EDITOR)
            _refuse_too_many(connection, found.project_id)
            row = {part.name: getattr(found, part.name) for part in fields(Scenario)} | {
                "id": new_id(),
                "name": cleaned(name, NAME, "Scenario"),
                "parent": found.id,
                "author": actor.shown,
                "version": 1,
                "created": time.time(),
                "updated": time.time(),
            }
            connection.execute(sa.insert(SCENARIO).values(row | _paid(row, payer)))
            _touch(connection, found.project_id)
            told = f"as {row['name']}"
            note_event(connection, actor, found.project_id, "duplicated", told, found.name, payer=payer)
        return _shown(Scenario(**row), EDITOR)

    def delete_scenario(self, actor: Actor, scenario: str) -> None:
        """Put a scenario away; it can be brought back until it is cleared away for good."""
        with self.database.deleting() as connection:
            found, _ = _found(connection, actor, scenario, EDITOR)
            _set_deleted(connection, scenario, time.time())
            _touch(connection, found.project_id)
            note_event(connection, actor, found.project_id, "deleted", "", found.name)

    def restore_scenario(self, actor: Actor, scenario: str) -> None:
        """Bring a deleted scenario back, with data of it that are in the bin."""
        with self.database.adding(actor) as (connection, payer):
            found, _ = _found(connection, actor, scenario, EDITOR, deleted=True)
            _set_deleted(connection, scenario, None)
            restore_named(
                connection, [found.settings[name] for name in NAMING_DATA if name in found.settings]
            )
            _touch(connection, found.project_id)
            note_event(connection, actor, found.project_id, "brought back", "", found.name, payer=payer)

    def erase_scenario(self, actor: Actor, scenario: str) -> None:
        """Delete a scenario that is in the bin for good, at once. For owners."""
        with self.database.deleting() as connection:
            found, _ = _found(connection, actor, scenario, OWNER, deleted=True)
            connection.execute(sa.delete(SCENARIO).where(SCENARIO.c.id == scenario))
            note_event(connection, actor, found.project_id, "deleted for good", "", found.name)
            blobs.drop_unused(connection)
        blobs.clear(self.database)


def _row(actor: Actor, draft: Draft, project: str, settings: dict[str, str], plan: str) -> dict[str, Any]:
    now = time.time()
    return {
        "id": new_id(),
        "project_id": project,
        "name": cleaned(draft.name, NAME, "Scenario"),
        "note": cleaned_note(draft.note, NOTE),
        "settings": settings,
        "figures": dict(draft.figures),
        "pictures": dict(draft.pictures),
        "plan": plan,
        "parent": cleaned(draft.parent, 32),
        "author": actor.shown,
        "made_with": VERSION,
        "version": 1,
        "created": now,
        "updated": now,
        "deleted": None,
    }


def _found(
    connection: sa.Connection, actor: Actor, scenario: str, least: str, *, deleted: bool = False
) -> tuple[Scenario, str]:
    """A scenario for somebody who has at least a role in its project, and the role."""
    row = connection.execute(sa.select(*COLUMNS).where(SCENARIO.c.id == scenario)).mappings().first()
    if row is None or (row["deleted"] is not None) != deleted:
        raise DeniedError(DENIED)
    role = access.allow(connection, actor, row["project_id"], least)
    return Scenario(**row), role


def _refuse_too_many(connection: sa.Connection, project: str) -> None:
    count = sa.select(sa.func.count()).select_from(SCENARIO).where(SCENARIO.c.project_id == project)
    if (connection.scalar(count) or 0) >= MOST_SCENARIOS:
        msg = (
            f"A project has at most {MOST_SCENARIOS} scenarios, those in its bin included. Delete some for good, or "
            "begin another project."
        )
        raise StoreError(msg)


def _shown(found: Scenario, role: str) -> Scenario:
    """A scenario as somebody may see it: without homes, or without the e-mail addresses of others."""
    own = {
        name.removeprefix(WITHOUT_HOMES): picture
        for name, picture in found.pictures.items()
        if name.startswith(WITHOUT_HOMES)
    }
    if role != FIGURES:
        own = {
            name: picture for name, picture in found.pictures.items() if not name.startswith(WITHOUT_HOMES)
        }
    return replace(found, author=hidden(found.author, role), pictures=own)


def _paid(row: dict[str, Any], payer: str) -> dict[str, Any]:
    """How much room a scenario takes beside its plan, and whose."""
    told = [row[name] for name in ("settings", "figures", "pictures", "note")]
    return {"size": len(json.dumps(told, default=str)), "payer": payer}


def _set_deleted(connection: sa.Connection, scenario: str, when: float | None) -> None:
    connection.execute(sa.update(SCENARIO).where(SCENARIO.c.id == scenario).values(deleted=when))


def _touch(connection: sa.Connection, project: str) -> None:
    """Note that a project was changed just now."""
    connection.execute(sa.update(PROJECT).where(PROJECT.c.id == project).values(updated=time.time()))
