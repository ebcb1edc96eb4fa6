"""Tokens in the store: with one, a program works in the name of the person who made it."""

import time
from contextlib import suppress
from dataclasses import fields

import sqlalchemy as sa

from pages.serving.store.engine import Database
from pages.serving.store.problems import DENIED, AwayError, DeniedError, StoreError
from pages.serving.store.records import Actor, Token, cleaned, digest, new_id, new_secret
from pages.serving.store.schema import NAME, TOKEN_TABLE

DAY = 86_400.0
FRESH = 3600.0  # seconds after which the use of a token is noted again
MOST_TOKENS = 20  # of one person
PREFIX = "evenreach_"  # so that scanners for leaked secrets know one
COLUMNS = [TOKEN_TABLE.c[part.name] for part in fields(Token)]


class Tokens:
    """The part of the store that keeps people's tokens for the HTTP API."""

    database: Database

    def new_token(self, actor: Actor, label: str, *, days: float) -> tuple[Token, str]:
        """Make a token for a person.

        Parameters
        ----------
        actor : Actor
            Who it is for; it can do what this person can.
        label : str
            What it is for.
        days : float
            After so many days it no longer opens anything.

        Returns
        -------
        tuple of (Token, str)
            With the secret, which is not kept: it cannot be shown again.

        Raises
        ------
        StoreError
            If nobody is signed in, or this person has too many.
        """
        if not actor.person:
            msg = "Tokens are for people who have signed in."
            raise StoreError(msg)
        secret, now = PREFIX + new_secret(), time.time()
        shown = cleaned(actor.name, NAME)
        made = Token(
            new_id(), actor.person, shown, cleaned(label, NAME, "Token"), now, now + days * DAY, None
        )
        with self.database.writing() as connection:
            mine = sa.select(sa.func.count()).where(_valid(now), TOKEN_TABLE.c.person == actor.person)
            if (connection.scalar(mine) or 0) >= MOST_TOKENS:
                msg = f"A person has at most {MOST_TOKENS} tokens. Withdraw some first."
                raise StoreError(msg)
            row = {part.name: getattr(made, part.name) for part in fields(Token)}
            connection.execute(sa.insert(TOKEN_TABLE).values(row | {"digest": digest(secret)}))
        return made, secret

    def tokens_of(self, actor: Actor) -> list[Token]:
        """The tokens of a person that still open something, the oldest first."""
        if not actor.person:
            return []
        with self.database.reading() as connection:
            query = (
                sa.select(*COLUMNS)
                .where(_valid(time.time()), TOKEN_TABLE.c.person == actor.person)
                .order_by(TOKEN_TABLE.c.created)
            )
            return [Token(**row) for row in connection.execute(query).mappings()]

    def withdraw_token(self, actor: Actor, token: str) -> None:
        """Withdraw one of a person's own tokens: from now on it opens nothing."""
        with self.database.deleting() as connection:
            own = sa.and_(TOKEN_TABLE.c.id == token, TOKEN_TABLE.c.person == actor.person)
            if not actor.person or not connection.execute(sa.delete(TOKEN_TABLE).where(own)).rowcount:
                raise DeniedError(DENIED)

    def withdraw_all(self, person: str) -> int:
        """Withdraw all tokens of a person who has left; returns how many. For whoever runs the server."""
        with self.database.deleting() as connection:
            gone = sa.delete(TOKEN_TABLE).where(
                TOKEN_TABLE.c.person.in_({person.strip(), person.strip().lower()})
            )
            return connection.execute(gone).rowcount

    def person_with(self, secret: str) -> Actor | None:
        """The person in whose name a program with this secret works; None if it opens nothing."""
        now = time.time()
        with self.database.reading() as connection:
            query = sa.select(*COLUMNS).where(_valid(now), TOKEN_TABLE.c.digest == digest(secret))
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        if now - (row["used"] or 0.0) > FRESH:
            with (
                suppress(AwayError),
                self.database.writing() as connection,
            ):  # with a full disk, too, programs can read
                connection.execute(
                    sa.update(TOKEN_TABLE).where(TOKEN_TABLE.c.id == row["id"]).values(used=now)
                )
        return Actor(row["person"], row["name"])


def _valid(now: float) -> sa.ColumnElement[bool]:
    return TOKEN_TABLE.c.expires > now
