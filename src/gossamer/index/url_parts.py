"""Split a URL into the parts that filters use: host and parent domains, path and parent folders."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import TYPE_CHECKING

from gossamer.urls.canonical import hostname

if TYPE_CHECKING:
    from collections.abc import Sequence

DEEPEST_PATH = 16  # segments of a path that `site:` compares


@lru_cache(maxsize=4_096)
def site_names(authority: str) -> list[str]:
    """Return the names that `site:` finds a host by: with and without port, and its parent domains."""
    name = hostname(authority)
    names = [authority, name]
    if not _is_ip_address(name):
        labels = name.split(".")
        names += [".".join(labels[first:]) for first in range(1, len(labels))]
    return list(dict.fromkeys(filter(None, names)))


def _is_ip_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def path_segments(url: str) -> tuple[list[str], bool]:
    """Return the path segments of a canonical URL, and whether it has a query."""
    path, _, query = url.partition("://")[2].partition("/")[2].partition("?")
    return [segment for segment in path.split("/") if segment], bool(query)


def path_prefixes(segments: Sequence[str]) -> list[str]:
    """Return a path and its parent folders: /a, /a/b.html."""
    deepest = min(len(segments), DEEPEST_PATH)
    return ["/" + "/".join(segments[:length]) for length in range(1, deepest + 1)]


@lru_cache(maxsize=4_096)
def host_number(host: str) -> int:
    """Return a hash of the host, of 63 bits so that it fits a signed column."""
    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest()) >> 1
