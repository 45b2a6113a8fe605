"""The address guard: it lets the crawler connect to public addresses only, because strangers wrote the links.

Without it, any page could make the crawler index `http://169.254.169.254/` or the front page of a router. The guard
judges the address of each new socket, not the host name. So neither an odd spelling of an address nor a name that later
resolves differently (DNS rebinding) gets past it.

These functions are pure: `transfer` asks before it opens a socket.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from gossamer.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Address = IPv4Address | IPv6Address
    Network = IPv4Network | IPv6Network

# The IANA special-purpose registries (RFC 6890 and its updates); the first match names the class. They are written out
# because `ipaddress.is_global` calls multicast, site-local and unallocated addresses global, and its answers differ
# between patch releases of Python. Addresses that pass the tables must still be global by `is_global`.
_SPECIAL_V4 = tuple(
    (IPv4Network(cidr), words)
    for cidr, words in (
        ("0.0.0.0/8", "an unspecified"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier-grade NAT"),
        ("127.0.0.0/8", "a loopback"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a protocol-assignment"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)

# Obsolete tunnels (6to4: RFC 7526; Teredo; IPv4-compatible: RFC 4291 §2.5.5.1) are refused completely. No public server
# uses them, and each address can contain a private IPv4 address.
_SPECIAL_V6 = tuple(
    (IPv6Network(cidr), words)
    for cidr, words in (
        ("::/128", "an unspecified"),
        ("::1/128", "a loopback"),
        ("::/96", "an IPv4-compatible"),
        ("64:ff9b:1::/48", "a local translation"),
        ("100::/64", "a discard-only"),
        ("2001::/32", "a Teredo"),
        ("2001::/23", "a protocol-assignment"),
        ("2001:db8::/32", "a documentation"),
        ("2002::/16", "a 6to4"),
        ("3fff::/20", "a documentation"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("fec0::/10", "a site-local"),
        ("ff00::/8", "a multicast"),
    )
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")  # the only range that IANA allocates from (RFC 4291 §2.4)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: IPv6-only networks reach IPv4 servers by it


def parse_networks(cidrs: Iterable[str]) -> tuple[Network, ...]:
    """Parse the address ranges that the user allows."""
    return tuple(_parse_network(cidr) for cidr in cidrs)


def refusal(address: str, allowed: Sequence[Network]) -> str:
    """Return why the crawler must not connect to an address: "127.0.0.1 is a loopback address"; "" when it may."""
    try:
        ip = _destination(ip_address(address))
    except ValueError:
        return f"{address!r} is not an IP address"
    if any(ip in network for network in allowed):
        return ""
    if words := _special_kind(ip):
        return f"{address} is {words} address"
    return ""


def _parse_network(cidr: str) -> Network:
    try:
        return ip_network(cidr, strict=False)
    except ValueError as error:
        raise SettingsError(f"allow_private: {cidr!r} is not an address range such as 10.0.0.0/8: {error}") from None


def _destination(ip: Address) -> Address:
    """Return the address that packets reach: the IPv4 one inside an IPv4-mapped or NAT64 address."""
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return ip.ipv4_mapped
        if ip in _NAT64:
            return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def _special_kind(ip: Address) -> str:
    """Return the class of an address that is not public, with its article: "a private"; "" when it is public."""
    table: Iterable[tuple[Network, str]] = _SPECIAL_V4 if isinstance(ip, IPv4Address) else _SPECIAL_V6
    for network, words in table:
        if ip in network:
            return words
    if isinstance(ip, IPv6Address):
        if ip.scope_id:
            return "a scoped"
        if ip not in _GLOBAL_UNICAST:
            return "a reserved"
    return "" if ip.is_global else "a special-purpose"
