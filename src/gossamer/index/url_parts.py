"""Where a document stands: its host and the domains above it, its path and the folders above it."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEEPEST_PATH = 16  # segments of a path that `site:` can tell apart


def hostname(authority: str) -> str:
    """An authority without its port."""
    return authority[: authority.rindex("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


@lru_cache(maxsize=4_096)
def site_names(authority: str) -> list[str]:
    """What `site:` finds a host by: itself with and without its port, and the domains above it."""
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
    """The segments of a canonical URL's path, and whether a query follows."""
    path, _, query = url.partition("://")[2].partition("/")[2].partition("?")
    return [segment for segment in path.split("/") if segment], bool(query)


def path_prefixes(segments: Sequence[str]) -> list[str]:
    """A path and the folders it stands in: /a/b.html, /a."""
    deepest = min(len(segments), DEEPEST_PATH)
    return ["/" + "/".join(segments[:length]) for length in range(1, deepest + 1)]


@lru_cache(maxsize=4_096)
def host_number(host: str) -> int:
    """The same number for the same host: 63 bits, so that it fits a signed column."""
    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest()) >> 1
