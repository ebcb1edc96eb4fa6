"""Who the visitor is to the store: a person who signed in, the one at this machine, or somebody with a link."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.serving.config import config
from pages.serving.store import LOCAL, Actor
from pages.serving.visitor import address_here

# Of other letters, some become another's when they are made small: the Kelvin sign is not a k.
ADDRESS = re.compile(r"[!-?A-~]+@[!-?A-~]+")
LONGEST = 120  # characters
UNVERIFIED = "somebody without a verified address"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_for_many = False


def serve_many() -> None:
    """Called by the server for teams when it starts: its visitors are not the person who started it."""
    global _for_many
    _for_many = True


def serving_many() -> bool:
    """Whether this is the server for teams, which has the HTTP API beside the pages."""
    return _for_many


def known_as(claims: Mapping[str, Any]) -> tuple[str, str]:
    """What somebody who signed in is known by, and the name that is shown.

    An e-mail address counts only if the identity provider says with a plain true that it is verified: otherwise
    anybody could claim somebody else's. Without one, a person is known by a hash of the provider's name and of what it
    calls them.

    Parameters
    ----------
    claims : mapping
        What the identity provider says.

    Examples
    --------
    >>> known_as({"email": "Ann@example.org", "email_verified": True, "name": "Ann"})
    ('ann@example.org', 'Ann')
    >>> person, name = known_as({"email": "ann@example.org", "email_verified": "true", "iss": "https://a", "sub": "7"})
    >>> person[:3], len(person), name
    ('id-', 67, 'somebody without a verified address')
    """
    said = claims.get("email")
    plain = isinstance(said, str) and len(said) <= LONGEST and ADDRESS.fullmatch(said)
    email = str(said).lower() if plain and claims.get("email_verified") is True else ""
    issuer, subject, shown = (str(claims.get(name) or "") for name in ("iss", "sub", "name"))
    hashed = hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()
    return email or (f"id-{hashed}" if subject else ""), shown or email or UNVERIFIED


def visitor(keys: tuple[str, ...], browser: str = "") -> Actor:
    """The visitor whose page is drawn.

    With a plain start (``make run``) everything belongs to the person in front of the screen.

    Parameters
    ----------
    keys : tuple of str
        Secrets of the links that this visitor came with.
    browser : str
        What the visitor's browser is known by where nobody signs in.
    """
    if config().login:
        person, name = known_as(st.user.to_dict()) if st.user.is_logged_in else ("", "")
        return Actor(person, name, keys, address=address_here())
    if not _for_many and (st.context.ip_address or "::1") in LOOPBACK:
        return Actor(LOCAL, "somebody at this computer", keys)
    return Actor(keys=keys, browser=browser, address=address_here())
