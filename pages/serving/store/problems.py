"""What can go wrong with the store, each with the sentence for whoever works in the app."""

import errno

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

FULL_WORDS = ("disk is full", "no space left", "disk full")


class StoreError(ValueError):
    """Something the store cannot do, with the sentence for the planner."""


class AwayError(StoreError):
    """The database does not answer, or cannot write; nothing was half written."""


class FullError(StoreError):
    """There is no room left for somebody, or for anybody; nothing was half written."""


class ConflictError(StoreError):
    """Somebody else changed the same thing first; nothing was overwritten."""


class InUseError(StoreError):
    """It cannot be removed while something else needs it."""


class DeniedError(StoreError):
    """It does not exist, or is not for this person: the sentence does not tell which."""


AWAY = (
    "The database does not answer right now, so nothing can be saved or opened from it. "
    "You can go on working with what is on screen; try again in a moment."
)
FULL = (
    "The disk of the database is full, so nothing was saved. What was saved before is safe. "
    "Please tell whoever runs this server; until then, download what you need."
)
CHANGED = (
    "Somebody else changed this in the meantime. Nothing was overwritten: "
    "look at the newer version first, and then save yours again if it is still needed."
)
DENIED = "This does not exist, or it is not shared with you. Ask its owner for a link."
READ_ONLY = "You may look at this project, but not change it. Ask its owner to make you an editor."
OWNERS_ONLY = "Only an owner of this project can do this."
FIGURES_ONLY = (
    "You may see the figures of this project, not where people live. Ask its owner for a link for viewers."
)
NO_COPY = (
    "You may look at these data, but not copy them into another project. Ask the owner of their project to make you an "
    "editor."
)
NOT_YOURS = "Only whoever uploaded these data can remove or restore them."


def spoken(problem: Exception) -> StoreError:
    """The sentence for an error of the database driver.

    Examples
    --------
    >>> str(spoken(OSError(errno.ENOSPC, "No space left on device"))) == FULL
    True
    """
    text = str(getattr(problem, "orig", problem)).lower()
    full = getattr(problem, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if full or any(words in text for words in FULL_WORDS):
        return AwayError(FULL)
    if isinstance(problem, IntegrityError):
        return ConflictError(CHANGED)
    return AwayError(AWAY)


DRIVER_ERRORS = (DBAPIError, OperationalError, PoolTimeoutError, OSError)
