"""The history of a project: what was changed when and by whom, written in the transaction of the change itself."""

import re
import time
from dataclasses import fields, replace

import sqlalchemy as sa

from pages.serving.store import access
from pages.serving.store.engine import Database
from pages.serving.store.records import EDITOR, FIGURES, ROLES, Actor, Event, cleaned, event_id
from pages.serving.store.schema import EVENT, NOTE

MOST = 50  # entries of a list, unless somebody asks for another number
AT_MOST = 500
ADDRESS = re.compile(r"\S+@\S+")
SOMEBODY = "a member"
COLUMNS = [EVENT.c[part.name] for part in fields(Event)]


class History:
    """The part of the store that keeps what happened."""

    database: Database

    def history(self, actor: Actor, project: str, most: int = MOST, start: int = 0) -> list[Event]:
        """What was changed when and by whom, the last first; only editors and owners see e-mail addresses."""
        with self.database.reading() as connection:
            role = access.allow(connection, actor, project, FIGURES)
            query = sa.select(*COLUMNS).where(EVENT.c.project_id == project).order_by(EVENT.c.id.desc())
            found = [Event(**row) for row in connection.execute(part(query, most, start)).mappings()]
        return [
            replace(event, author=hidden(event.author, role), detail=hidden(event.detail, role))
            for event in found
        ]


def part(query: sa.Select[tuple[object, ...]], most: int, start: int) -> sa.Select[tuple[object, ...]]:
    """Some rows of a list: never more than a page can show."""
    return query.limit(max(0, min(most, AT_MOST))).offset(max(0, start))


def hidden(text: str, role: str) -> str:
    """A text without e-mail addresses, for those who may only look.

    >>> hidden("ann@example.org (viewer)", "viewer"), hidden("ann@example.org", "editor")
    ('a member (viewer)', 'ann@example.org')
    """
    return text if ROLES.index(role) >= ROLES.index(EDITOR) else ADDRESS.sub(SOMEBODY, text)


def note_event(
    connection: sa.Connection,
    actor: Actor,
    project: str,
    what: str,
    detail: str,
    scenario: str = "",
    *,
    payer: str = "",
) -> None:
    """Write down what is done, in the transaction in which it is done.

    `payer` is whose share of the room it takes; nobody's where something is deleted, which always works.
    """
    row = Event(event_id(), project, scenario, actor.shown, what, cleaned(detail, NOTE), time.time())
    told = {part.name: getattr(row, part.name) for part in fields(Event)}
    connection.execute(sa.insert(EVENT).values(told | {"payer": payer}))
