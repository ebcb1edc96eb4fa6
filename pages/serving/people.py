"""Who the visitor is to the store: a person who signed in, the one at this machine, or somebody with a link."""

import streamlit as st

from pages.serving.config import config
from pages.serving.store import Actor

LOCAL = "this machine"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_for_many = False


def serve_many() -> None:
    """Called by the server for teams when it starts: its visitors are not the person who started it."""
    global _for_many
    _for_many = True


def serving_many() -> bool:
    """Whether this is the server for teams, which has the HTTP API beside the pages."""
    return _for_many


def visitor(keys: tuple[str, ...]) -> Actor:
    """The visitor whose page is drawn, with the links that this visit has seen.

    People who signed in are known by the e-mail address that the identity provider vouches for, or else by what it
    calls them. With a plain start (``make run``) everything belongs to the person in front of the screen.
    """
    if config().login:
        told = {name: str(value) for name, value in st.user.items()} if st.user.is_logged_in else {}
        email = told.get("email", "") if told.get("email_verified", "True") != "False" else ""
        known = email.lower() or "|".join(filter(None, (told.get("iss", ""), told.get("sub", ""))))
        return Actor(known[:120], told.get("name", "") or email, keys)
    if not _for_many and (st.context.ip_address or "::1") in LOOPBACK:
        return Actor(LOCAL, "you", keys)
    return Actor(keys=keys)
