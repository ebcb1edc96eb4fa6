"""Scenarios in the store: saved as a whole or not at all, opened as they were, deleted with a way back."""

import time
from collections.abc import Collection
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from pages.serving.store import access, blobs
from pages.serving.store.datasets import copied_into
from pages.serving.store.engine import Database
from pages.serving.store.problems import CHANGED, DENIED, ConflictError, DeniedError, StoreError
from pages.serving.store.projects import make_project, note_event
from pages.serving.store.records import (
    EDITOR,
    VIEWER,
    Actor,
    Draft,
    Project,
    Scenario,
    cleaned,
    cleaned_note,
    new_id,
)
from pages.serving.store.schema import NAME, NOTE, PROJECT, SCENARIO
from tkm_core.version import VERSION

MOST_SCENARIOS = 500  # of one project
LARGEST_PLAN = 20_000_000  # bytes of a plan file
TOKENS = ("upload", "existing", "places", "roads", "table")  # settings that name data by a token
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
        own: Collection[str] = (),
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
        own : collection of str
            Tokens of uploads that this visitor brought: they go when the project goes.

        Returns
        -------
        tuple of (Scenario, str)
            The secret of a new project that belongs to nobody by name, as in `new_project`; else "".
        """
        secret = ""
        with self.database.writing() as connection:
            if project is None:
                made, secret = make_project(connection, actor, title or draft.name)
                project = made.id
                actor = Actor(actor.person, actor.name, (*actor.keys, secret) if secret else actor.keys)
            access.allow(connection, actor, project, EDITOR)
            count = sa.select(sa.func.count()).select_from(SCENARIO).where(SCENARIO.c.project_id == project)
            if (connection.scalar(count) or 0) >= MOST_SCENARIOS:
                msg = f"A project has at most {MOST_SCENARIOS} scenarios. Delete some, or begin another project."
                raise StoreError(msg)
            settings = self._with_own_data(connection, actor, draft, project, own)
            row = _row(actor, draft, project, settings, blobs.put(connection, draft.plan, most=LARGEST_PLAN))
            connection.execute(sa.insert(SCENARIO).values(row))
            _touch(connection, project)
            note_event(connection, actor, project, "saved", "", row["name"])
        return Scenario(**row), secret

    @staticmethod
    def _with_own_data(
        connection: sa.Connection, actor: Actor, draft: Draft, project: str, own: Collection[str]
    ) -> dict[str, str]:
        """The settings, with the tokens of the project's own copies of the data."""
        settings = dict(draft.settings)
        for name in TOKENS:
            token = settings.get(name)
            if token and token != OF_SAMPLE:
                kept = copied_into(connection, actor, token, project, own=token in own)
                if kept is None:
                    msg = (
                        "The data of this plan are not in the database, so it cannot be saved. Upload them again on "
                        "the Data page, then save."
                    )
                    raise StoreError(msg)
                settings[name] = kept
        return settings

    def scenarios_of(
        self, actor: Actor, project: str, *, deleted: bool = False, pictures: bool = True
    ) -> list[Scenario]:
        """The scenarios of a project, the newest first; or those that were deleted and can be brought back."""
        with self.database.reading() as connection:
            access.allow(connection, actor, project, VIEWER)
            gone = SCENARIO.c.deleted.is_not(None) if deleted else SCENARIO.c.deleted.is_(None)
            query = (
                sa.select(*(COLUMNS if pictures else LISTED))
                .where(SCENARIO.c.project_id == project, gone)
                .order_by(SCENARIO.c.created.desc(), SCENARIO.c.id)
            )
            return [Scenario(**row) for row in connection.execute(query).mappings()]

    def open_scenario(self, actor: Actor, scenario: str) -> tuple[Scenario, Project]:
        """One scenario and its project; see `plan_of` for its plan file.

        Raises
        ------
        DeniedError
            If there is none for this person, or it was deleted.
        """
        with self.database.reading() as connection:
            found, role = _found(connection, actor, scenario, VIEWER)
            row = (
                connection.execute(sa.select(PROJECT).where(PROJECT.c.id == found.project_id))
                .mappings()
                .one()
            )
            return found, Project(**row, role=role)

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
        with self.database.writing() as connection:
            before, _ = _found(connection, actor, scenario, EDITOR)
            same = sa.and_(SCENARIO.c.id == scenario, SCENARIO.c.version == version)
            if connection.execute(sa.update(SCENARIO).where(same).values(values)).rowcount != 1:
                raise ConflictError(CHANGED)
            _touch(connection, before.project_id)
            told = f"now called {values['name']}" if values.get("name", before.name) != before.name else ""
            what = "renamed" if told else "changed the note of"
            note_event(connection, actor, before.project_id, what, told, before.name)
            return _found(connection, actor, scenario, VIEWER)[0]

    def duplicate_scenario(self, actor: Actor, scenario: str, name: str) -> Scenario:
        """The same scenario again under another name, to go on from."""
        with self.database.writing() as connection:
            found, _ = _found(connection, actor, scenario, EDITOR)
            row = {part.name: getattr(found, part.name) for part in fields(Scenario)} | {
                "id": new_id(),
                "name": cleaned(name, NAME, "Scenario"),
                "parent": found.id,
                "author": actor.shown,
                "version": 1,
                "created": time.time(),
                "updated": time.time(),
            }
            connection.execute(sa.insert(SCENARIO).values(row))
            _touch(connection, found.project_id)
            note_event(connection, actor, found.project_id, "duplicated", f"as {row['name']}", found.name)
        return Scenario(**row)

    def delete_scenario(self, actor: Actor, scenario: str) -> None:
        """Put a scenario away; it can be brought back until it is cleared away for good."""
        with self.database.writing() as connection:
            found, _ = _found(connection, actor, scenario, EDITOR)
            _set_deleted(connection, scenario, time.time())
            _touch(connection, found.project_id)
            note_event(connection, actor, found.project_id, "deleted", "", found.name)

    def restore_scenario(self, actor: Actor, scenario: str) -> None:
        """Bring a deleted scenario back."""
        with self.database.writing() as connection:
            found, _ = _found(connection, actor, scenario, EDITOR, deleted=True)
            _set_deleted(connection, scenario, None)
            _touch(connection, found.project_id)
            note_event(connection, actor, found.project_id, "brought back", "", found.name)


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


def _set_deleted(connection: sa.Connection, scenario: str, when: float | None) -> None:
    connection.execute(sa.update(SCENARIO).where(SCENARIO.c.id == scenario).values(deleted=when))


def _touch(connection: sa.Connection, project: str) -> None:
    """Note that a project was changed just now."""
    connection.execute(sa.update(PROJECT).where(PROJECT.c.id == project).values(updated=time.time()))
