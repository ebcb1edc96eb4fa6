"""What the store hands out: people and what they may do, projects, scenarios, data sets, links, history."""

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FIGURES, VIEWER, EDITOR, OWNER = "figures", "viewer", "editor", "owner"
ROLES = (FIGURES, VIEWER, EDITOR, OWNER)  # each may do what those before it may
LOCAL = "this machine"  # the person in front of the screen, with a plain start
RESIDENTS, EXISTING, PLAN = "residents", "existing", "plan"  # kinds of data sets
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True)
class Actor:
    """Who asks the store: a person who signed in, or somebody with links, or both.

    Attributes
    ----------
    person : str
        What the person is known by, the same at every visit; empty for somebody without a name.
    name : str
        As it is shown in the history.
    keys : tuple of str
        The secrets of the links this visitor came with.
    browser : str
        The secret of the visitor's browser: where nobody signs in, uploads belong to the browser that brought them.
    address : str
        The network the visitor comes from, which has a share of the room where nobody signs in.
    """

    person: str = ""
    name: str = ""
    keys: tuple[str, ...] = ()
    browser: str = field(default="", repr=False)
    address: str = ""

    @property
    def owner(self) -> str:
        """Whose an upload of this visitor is: the person's, or the browser's; nobody's if neither is known."""
        return self.person or (f"browser:{digest(self.browser)}" if self.browser else "")

    @property
    def shown(self) -> str:
        """The name for the history."""
        return cleaned(self.name or self.person, 120) or "somebody with the link"


NOBODY = Actor()


@dataclass(frozen=True)
class Dataset:
    """Bytes with a meaning; `token` opens it, and within a project only for those who may see the project.

    Attributes
    ----------
    origin : str
        The saver's own upload that it is a copy of: the upload goes when this copy's project goes.
    source : str
        Somebody else's data that it is a copy of: the copy goes when they go.
    person : str
        Whose it is; see `Actor.owner`.
    deleted : float or None
        When it was put in the bin.
    """

    id: str
    token: str
    hash: str
    kind: str
    title: str
    people: str
    size: int
    project_id: str | None
    origin: str
    source: str
    person: str
    created: float
    used: float
    deleted: float | None = None


@dataclass(frozen=True)
class Project:
    """A project as one person sees it: `role` is what this person may do, `scenarios` how many there are."""

    id: str
    name: str
    note: str
    rules: Mapping[str, Any]
    version: int
    created: float
    updated: float
    role: str
    scenarios: int = 0

    @property
    def can_edit(self) -> bool:
        """Whether this person may change it."""
        return self.role in (EDITOR, OWNER)

    @property
    def shows_homes(self) -> bool:
        """Whether this person may see where people live, and not only figures."""
        return self.role != FIGURES


@dataclass(frozen=True)
class Scenario:
    """A saved plan without its bytes.

    Attributes
    ----------
    settings : mapping of str to str
        The address that shows it.
    figures : mapping
        Its measures in metres, and the trade-off curve it lies on.
    pictures : mapping
        The small map as SVG, by theme; empty in a list that was asked for without them.
    plan : str
        The hash of its plan file.
    parent : str
        The scenario it was made from, or "".
    made_with : str
        The version of EvenReach that saved it.
    """

    id: str
    project_id: str
    name: str
    note: str
    settings: Mapping[str, str]
    figures: Mapping[str, Any]
    plan: str
    parent: str
    author: str
    made_with: str
    version: int
    created: float
    updated: float
    deleted: float | None
    pictures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """A scenario that is to be saved; fields as in `Scenario`, `plan` is the plan file itself."""

    name: str
    settings: Mapping[str, str]
    figures: Mapping[str, Any]
    plan: bytes
    note: str = ""
    pictures: Mapping[str, str] = field(default_factory=dict)
    parent: str = ""


@dataclass(frozen=True)
class Share:
    """A link to a project; its secret was shown once, when it was made."""

    id: str
    project_id: str
    role: str
    label: str
    created: float
    expires: float | None


@dataclass(frozen=True)
class Token:
    """What a program works with in a person's name; its secret was shown once, when it was made."""

    id: str
    person: str
    name: str
    label: str
    created: float
    expires: float
    used: float | None


@dataclass(frozen=True)
class Member:
    """A person of a project."""

    project_id: str
    person: str
    role: str
    added: float


@dataclass(frozen=True)
class Event:
    """One change: what was done to which scenario, when and by whom."""

    id: str
    project_id: str
    scenario: str
    author: str
    what: str
    detail: str
    at: float


def new_id() -> str:
    """A name for a row that nobody guesses."""
    return secrets.token_urlsafe(18)


def new_secret() -> str:
    """A secret that opens something: 192 random bits."""
    return secrets.token_urlsafe(24)


def digest(secret: str) -> str:
    """What is kept of a secret. It is random and long, so a plain hash does."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def event_id() -> str:
    """A name for an event; later ones sort later."""
    return f"{time.time_ns():020d}{secrets.token_hex(4)}"


def cleaned(text: str, most: int, otherwise: str = "") -> str:
    r"""Text from outside as it is kept: one line, no control characters, none that turn text around, not too long.

    Examples
    --------
    >>> cleaned("  Plan\x00 A\u202e\n<b>  ", 120), cleaned("\n", 120, "Plan")
    ('Plan A <b>', 'Plan')
    """
    return " ".join(CONTROLS.sub(" ", text).split())[:most].strip() or otherwise


def cleaned_note(text: str, most: int) -> str:
    """A note: like `cleaned`, but it may have lines."""
    return "\n".join(cleaned(line, most) for line in text.replace("\r", "\n").split("\n"))[:most].strip()
