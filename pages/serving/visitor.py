"""Who the visitor is to the job pool: a session at an address, for a fair line; neither is written down."""

from ipaddress import IPv6Address, ip_address

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.serving.jobs.asker import NOBODY, Asker


def asker() -> Asker:
    """The visitor whose page is drawn in this thread; nobody outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return NOBODY if context is None else Asker(context.session_id, address_here())


def address_here() -> str:
    """The network from which the visitor comes whose page is drawn."""
    return network(st.context.ip_address or "")


def network(address: str) -> str:
    """What one household or office has of an address: all of an IPv4 address, the first half of an IPv6 one.

    Whatever is no address shares one name.

    >>> network("203.0.113.7"), network("::ffff:203.0.113.7"), network("2001:db8:1:2:3:4:5:6"), network("unknown")
    ('203.0.113.7', '203.0.113.7', '2001:db8:1:2::', '')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
