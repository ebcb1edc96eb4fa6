"""The store: projects, scenarios, data sets and who may see them, in a database. No page sees SQL."""

from pages.serving.store.problems import AwayError, ConflictError, DeniedError, StoreError
from pages.serving.store.records import (
    EDITOR,
    EXISTING,
    NOBODY,
    OWNER,
    PLAN,
    RESIDENTS,
    ROLES,
    VIEWER,
    Actor,
    Dataset,
    Draft,
    Event,
    Member,
    Project,
    Scenario,
    Share,
    Token,
)
from pages.serving.store.whole import Store, store

__all__ = [
    "EDITOR",
    "EXISTING",
    "NOBODY",
    "OWNER",
    "PLAN",
    "RESIDENTS",
    "ROLES",
    "VIEWER",
    "Actor",
    "AwayError",
    "ConflictError",
    "Dataset",
    "DeniedError",
    "Draft",
    "Event",
    "Member",
    "Project",
    "Scenario",
    "Share",
    "Store",
    "StoreError",
    "Token",
    "store",
]
