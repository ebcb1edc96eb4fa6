"""Name the network that a request comes from: limits and shares are counted by it."""

from ipaddress import IPv6Address, ip_address

from starlette.types import Scope


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


def network_of(scope: Scope) -> str:
    """Whose share a request counts against: the network it comes from."""
    return network((scope.get("client") or ("",))[0])
