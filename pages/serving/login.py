"""Signing in, where the server wants it: in front of every page, and of the files that pages send and offer."""

import streamlit as st
from starlette.requests import HTTPConnection
from starlette.types import Scope
from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from pages.serving.config import config


def gate() -> None:
    """Let those who have signed in pass; everyone else sees the door and nothing behind it."""
    if not config().login or st.user.is_logged_in:
        return
    st.title("Sign in to EvenReach", anchor=False)
    st.markdown("This server is for members of your organisation. The link you came with opens afterwards.")
    st.button("Sign in", type="primary", icon=":material/login:", key="sign_in", on_click=st.login)
    st.stop()


def leave() -> None:
    """The way out, at the end of the sidebar."""
    if config().login:
        st.sidebar.button(
            "Sign out", icon=":material/logout:", key="sign_out", on_click=st.logout, type="tertiary"
        )


def signed_in(scope: Scope) -> bool:
    """Whether a request carries the signed cookie of someone who has signed in.

    It is checked by the functions with which Streamlit checks it when a session starts.
    """
    asked = HTTPConnection(scope)
    cookie = starlette_websocket._get_signed_cookie_with_chunks(asked.cookies, USER_COOKIE_NAME)
    if not cookie:
        return False
    origin = asked.headers.get("origin") or get_origin_from_redirect_uri() or ""  # a download has no origin
    user = starlette_websocket._parse_decoded_user_cookie(cookie, origin)
    return bool(user.get("is_logged_in"))
