"""Who the visitor is to the job pool: a session at an address, for a fair line; neither is written down."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.serving.jobs.asker import NOBODY, Asker
from pages.serving.network import network


def asker() -> Asker:
    """The visitor whose page is drawn in this thread; nobody outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return NOBODY if context is None else Asker(context.session_id, address_here())


def address_here() -> str:
    """The network from which the visitor comes whose page is drawn."""
    return network(st.context.ip_address or "")
