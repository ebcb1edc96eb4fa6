"""The tables of the store, each with its reason. How they came to be, step by step, is in migrations/versions."""

import sqlalchemy as sa

NAME, NOTE, ID, TOKEN, HASH = 120, 4_000, 32, 64, 64  # characters

METADATA = sa.MetaData()


def _id() -> sa.Column[str]:
    return sa.Column("id", sa.String(ID), primary_key=True)


def _payer() -> sa.Column[str]:
    """Whose share of the room a row takes: a person's, an address's, or nobody's."""
    return sa.Column("payer", sa.String(NAME), nullable=False, index=True)


def _of(table: str, *, nullable: bool = False, key: bool = False) -> sa.Column[str]:
    """A reference to a row, with which this row goes."""
    target = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", sa.String(ID), target, nullable=nullable, primary_key=key, index=not key)


# The bytes of data sets and plans, once for the same content, in pieces: nothing has to be in memory as a whole.
BLOB = sa.Table(
    "blob",
    METADATA,
    sa.Column("hash", sa.String(HASH), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("dropped", sa.Integer, nullable=False),  # 1: nobody needs it, its pieces are being deleted
)
CHUNK = sa.Table(
    "chunk",
    METADATA,
    sa.Column("hash", sa.String(HASH), sa.ForeignKey("blob.hash", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# What a project is about. Access, rename and deletion all go by it.
PROJECT = sa.Table(
    "project",
    METADATA,
    _id(),
    sa.Column("name", sa.String(NAME), nullable=False),
    sa.Column("note", sa.String(NOTE), nullable=False),
    sa.Column("rules", sa.JSON, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("updated", sa.Double, nullable=False, index=True),
    _payer(),
)
# Residents, existing facilities, sites, zones, streets. Without a project it is an upload, which its token opens.
DATASET = sa.Table(
    "dataset",
    METADATA,
    _id(),
    sa.Column("token", sa.String(TOKEN), nullable=False, unique=True),
    sa.Column("hash", sa.String(HASH), sa.ForeignKey("blob.hash"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("title", sa.String(NAME), nullable=False),
    sa.Column("people", sa.String(NAME), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    _of("project", nullable=True),
    sa.Column("origin", sa.String(ID), nullable=False),  # the saver's own upload that it is a copy of
    sa.Column(
        "source", sa.String(ID), nullable=False, index=True
    ),  # somebody else's data that it is a copy of
    sa.Column("person", sa.String(NAME), nullable=False, index=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("used", sa.Double, nullable=False),
    sa.Column("deleted", sa.Double),
    _payer(),
)
# A plan as it was saved: its settings are those of the address, its plan file brings it back exactly.
SCENARIO = sa.Table(
    "scenario",
    METADATA,
    _id(),
    _of("project"),
    sa.Column("name", sa.String(NAME), nullable=False),
    sa.Column("note", sa.String(NOTE), nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("figures", sa.JSON, nullable=False),
    sa.Column("pictures", sa.JSON, nullable=False),
    sa.Column("plan", sa.String(HASH), sa.ForeignKey("blob.hash"), nullable=False, index=True),
    sa.Column("parent", sa.String(ID), nullable=False),
    sa.Column("author", sa.String(NAME), nullable=False),
    sa.Column("made_with", sa.String(40), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("updated", sa.Double, nullable=False),
    sa.Column("deleted", sa.Double),
    sa.Column("size", sa.BigInteger, nullable=False),  # of its figures, pictures and words
    _payer(),
    sa.Index("ix_scenario_listed", "project_id", "created"),
)
# People who signed in, and what they may do.
MEMBER = sa.Table(
    "member",
    METADATA,
    _of("project", key=True),
    sa.Column("person", sa.String(NAME), primary_key=True, index=True),
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("added", sa.Double, nullable=False),
)
# Links: whoever has one may do what it says, until it expires or is withdrawn. Only a digest of the secret is kept.
SHARE = sa.Table(
    "share",
    METADATA,
    _id(),
    _of("project"),
    sa.Column("digest", sa.String(HASH), nullable=False, unique=True),
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("label", sa.String(NAME), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double),
)
# What a program works with in a person's name, through the HTTP API. Only a digest of the secret is kept.
TOKEN_TABLE = sa.Table(
    "token",
    METADATA,
    _id(),
    sa.Column("digest", sa.String(HASH), nullable=False, unique=True),
    sa.Column("person", sa.String(NAME), nullable=False, index=True),
    sa.Column("name", sa.String(NAME), nullable=False),
    sa.Column("label", sa.String(NAME), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Column("used", sa.Double),
)
# What was changed when and by whom.
EVENT = sa.Table(
    "event",
    METADATA,
    _id(),
    _of("project"),
    sa.Column("scenario", sa.String(NAME), nullable=False),
    sa.Column("author", sa.String(NAME), nullable=False),
    sa.Column("what", sa.String(40), nullable=False),
    sa.Column("detail", sa.String(NOTE), nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    _payer(),
    sa.Index("ix_event_listed", "project_id", "id"),
)
# What all servers on this database share: the key they sign with, when it was swept, when it was written to last.
SETTING = sa.Table(
    "setting",
    METADATA,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.String(NAME), nullable=False),
)
