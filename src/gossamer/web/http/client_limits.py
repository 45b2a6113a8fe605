"""The client share: what one client of the server may take, from the socket to the answer.

A client is an address, or the /64 network of an IPv6 address, because one machine owns all of it. Clients on loopback
have the same limits, because a reverse proxy is one. A proxy that `--trusted-proxy` names passes its clients' addresses
on in `X-Forwarded-For`; then the limits hold for those.

The order is that of a request's way. `protocol` refuses or closes connections, `shares` lets requests wait.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.urls.canonical import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable

# -- connections -------------------------------------------------------------------------------------------------------
MAX_CONNECTIONS = 1_000  # open at once, of all clients; fewer if the process may open fewer files
MAX_CLIENT_CONNECTIONS = 100  # of one client: sixteen browsers, or one page of a load test
RESERVED_FILES = 256  # file descriptors for store, index, graph, crawlers and pipes
IDLE_SECONDS = 30  # between two requests on one connection

# -- one request -------------------------------------------------------------------------------------------------------
REQUEST_SECONDS = 10.0  # from the first byte, or the start of the connection, to the end of the body
MAX_TARGET_BYTES = 16_384  # of the request line's URL: a query of 8 kB and the longest path
MAX_HEAD_BYTES = 65_536  # of request line and headers: browsers send the cookies of all ports of a host name
MAX_HEADERS = 100  # of one request; browsers send about 20
MAX_QUERY_BYTES = 8_192  # of a query string
MAX_BODY_BYTES = 65_536  # of a form or a JSON body
BODY_TOO_LARGE = f"The body is longer than {MAX_BODY_BYTES:,} bytes, or of unknown length."
MAX_PIPELINED = 100  # requests sent before their answers are read

# -- answers -----------------------------------------------------------------------------------------------------------
MAX_CLIENT_RUNNING = 2  # requests of one client that run at once: half of the read sessions
MAX_CLIENT_SEARCHES = 8  # searches of one client that run at once; a cached answer takes no time
MAX_CLIENT_WAITING = 64  # further requests of one client that wait for those
WAIT_SECONDS = 10.0  # for the client's own requests to end
ANSWER_SECONDS = 60.0  # until an answer begins
MAX_CLIENT_STREAMS = 20  # event streams of one client: a tenth of all
PART_BYTES = 65_536  # of an answer given to the socket at a time
WRITE_SECONDS = 20.0  # between two checks that a client reads its answer
MIN_READ_RATE = 1_000  # bytes per second: slower readers lose their connection


@lru_cache(10_000)
def client_of(address: str) -> str:
    """Return the client that an address belongs to: the address, or the network of an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and not parsed.is_loopback:
        return str(parsed.ipv4_mapped or ip_network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)


class TrustedProxies:
    """The reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._networks = [_network(name) for name in names]

    def __contains__(self, address: str) -> bool:
        """Whether an address is one of these proxies."""
        if not self._networks:
            return False
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
        return any((mapped or parsed) in network for network in self._networks)

    def sender(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """Return the address that a request came from: the last one that is not a proxy of ours.

        Each proxy appends the address that it saw, so everything before the first foreign address may be a lie.
        """
        sender = peer
        hops = [hop.strip() for header in forwarded_for for hop in header.split(",") if hop.strip()]
        while sender in self and hops:
            sender = _without_port(hops.pop())
        return sender

    def may_name_scheme(self, peer: str) -> bool:
        """Whether `X-Forwarded-Proto` of this peer counts; on loopback always, because it concerns one request only."""
        return is_loopback(peer) or peer in self


def _network(name: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(name, strict=False)
    except ValueError as error:
        raise UsageError(
            f"{name!r} is not an address or a network; give --trusted-proxy such as 127.0.0.1 or 10.0.0.0/8."
        ) from error


def _without_port(hop: str) -> str:
    """Return the address of an entry of `X-Forwarded-For`: `192.0.2.1:80` and `[2001:db8::1]:80` have ports."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
