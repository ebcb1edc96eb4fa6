"""Who may do what: the one place where it is decided."""

import time
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from pages.serving.store.problems import DENIED, FIGURES_ONLY, OWNERS_ONLY, READ_ONLY, DeniedError
from pages.serving.store.records import EDITOR, FIGURES, OWNER, ROLES, VIEWER, Actor, digest
from pages.serving.store.schema import MEMBER, PROJECT, SHARE

REFUSED = {VIEWER: FIGURES_ONLY, EDITOR: READ_ONLY, OWNER: OWNERS_ONLY}  # by the role that is needed
MOST_KEYS = 50  # links of one visitor that are looked at


def roles_of(connection: sa.Connection, actor: Actor, project: str | None = None) -> dict[str, str]:
    """What somebody may do in each project, or in one: the most that membership and links allow."""
    found: list[tuple[str, str]] = []
    if actor.person:
        mine = sa.select(MEMBER.c.project_id, MEMBER.c.role).where(MEMBER.c.person == actor.person)
        found += _rows(connection, mine if project is None else mine.where(MEMBER.c.project_id == project))
    if actor.keys:
        digests = [digest(key) for key in actor.keys[-MOST_KEYS:]]
        valid = sa.or_(SHARE.c.expires.is_(None), SHARE.c.expires > time.time())
        linked = sa.select(SHARE.c.project_id, SHARE.c.role).where(SHARE.c.digest.in_(digests), valid)
        found += _rows(connection, linked if project is None else linked.where(SHARE.c.project_id == project))
    best: dict[str, str] = {}
    for name, role in found:
        if ROLES.index(role) >= ROLES.index(best.get(name, FIGURES)):
            best[name] = role
    return best


def allow(connection: sa.Connection, actor: Actor, project: str, least: str) -> str:
    """Let those pass who have at least a role; returns the role.

    Raises
    ------
    DeniedError
        With the same sentence whether there is no such project or it is somebody else's.
    """
    role = roles_of(connection, actor, project).get(project)
    if role is None:
        raise DeniedError(DENIED)
    if ROLES.index(role) < ROLES.index(least):
        raise DeniedError(REFUSED[least])
    return role


def allow_alone(connection: sa.Connection, actor: Actor, project: str, least: str) -> str:
    """As `allow`, for a change of who may do what: others who make one wait until this one is done.

    Without that, two owners could take each other's access away at the same moment, and somebody whose link is being
    withdrawn could still make another one.
    """
    connection.execute(sa.select(PROJECT.c.id).where(PROJECT.c.id == project).with_for_update())
    return allow(connection, actor, project, least)


def _rows(connection: sa.Connection, query: sa.Select[Any]) -> Iterable[tuple[str, str]]:
    return [(str(name), str(role)) for name, role in connection.execute(query)]
