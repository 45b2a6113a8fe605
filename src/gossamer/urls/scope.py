"""Which URLs a crawl may visit: near enough to its seeds, wanted by its patterns, and not a trap.

`Scope.refusal(url)` returns "" or the reason, a sentence fragment that is stored with the URL and shown to people. A
scope judges the URL alone; depth, budgets and robots.txt are judged elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from publicsuffixlist import PublicSuffixList

from gossamer.errors import UsageError
from gossamer.urls.canonical import authority, canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.config import CrawlSettings

OUTSIDE_REASONS = {"host": "other host", "domain": "other domain", "prefix": "outside the prefix"}  # by setting
WHOLE_HOST = ("/",)  # the path prefixes of a host that is in scope as a whole
MAX_CACHED_HOSTS = 16_384  # about 3 MB; a full cache is cleared, which is cheap and rare
PORT = re.compile(r":[0-9]+$")
IP_ADDRESS = re.compile(r"\[.*\]|[0-9.]+")  # an IP address, as canonical URLs write it


class Scope:
    """The URLs that a crawl may visit. New seeds only widen it, even while another thread reads it."""

    def __init__(self, settings: CrawlSettings, seeds: Iterable[str]) -> None:
        """`seeds` are canonical URLs."""
        self._settings = settings
        self._domains = tuple(_parse_domain(name) for name in settings.domains)
        self._include = [_compile_pattern(pattern) for pattern in settings.include]
        self._exclude = [_compile_pattern(pattern) for pattern in settings.exclude]
        self._area_of = registrable_domain if settings.scope == "domain" else _without_www
        self._prefixes: dict[str, tuple[str, ...]] = {}  # area -> path prefixes
        self._prefix_cache: dict[str, tuple[str, ...]] = {}  # authority -> path prefixes
        for seed in seeds:
            self.add(seed)

    def add(self, seed: str) -> None:
        """Add a seed."""
        area = self._area_of(authority(seed))
        prefix = _directory(seed) if self._settings.scope == "prefix" else "/"
        known = self._prefixes.get(area, ())
        if prefix not in known:
            self._prefixes[area] = (*known, prefix)
            # A new dict: a thread in `_is_inside` may still write an outdated entry to the old one.
            self._prefix_cache = {}

    def refusal(self, url: str) -> str:
        """Return why a crawl must not visit a canonical URL, "" when it may.

        The length comes first: it bounds the cost of the user's patterns and the trap rule on hostile URLs. A pattern
        with nested repeats, such as (a+)+$, can still be slow on them, because Python's `re` backtracks.
        """
        settings = self._settings
        if unwanted := self.unwanted_reason(url):
            return unwanted
        if not self._is_inside(url):
            return OUTSIDE_REASONS[settings.scope]
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return "not included"
        if has_repeated_segments(url, settings.max_path_repeats):
            return "repeating path segments"
        return ""

    def unwanted_reason(self, url: str) -> str:
        """Return why the user wants no request for a canonical URL, wherever it is: too long, or excluded."""
        if len(url) > self._settings.max_url_length:
            return "URL too long"
        return next((f"excluded by {pattern.pattern}" for pattern in self._exclude if pattern.search(url)), "")

    def is_outside(self, url: str) -> bool:
        """Return whether a URL is only outside of the area: the crawl may still ask for its status."""
        return self.refusal(url) in OUTSIDE_REASONS.values()

    def _is_inside(self, url: str) -> bool:
        host, cache = authority(url), self._prefix_cache
        prefixes = cache.get(host)
        if prefixes is None:
            if len(cache) >= MAX_CACHED_HOSTS:
                cache.clear()
            prefixes = cache[host] = self._prefixes_of(host)
        return url.startswith(prefixes, url.index("/", 8))

    def _prefixes_of(self, host: str) -> tuple[str, ...]:
        if self._settings.scope == "any" or self._is_in_domains(host):
            return WHOLE_HOST
        return self._prefixes.get(self._area_of(host), ())

    def _is_in_domains(self, host: str) -> bool:
        names = (f".{host}", f".{PORT.sub('', host)}")  # a domain without a port means every port
        return any(name.endswith(f".{domain}") for domain in self._domains for name in names)


def has_repeated_segments(url: str, limit: int) -> bool:
    """Return whether one path segment occurs more than `limit` times: /a/a/a/a, /a/b/a/b/a/b/a/b.

    Relative links on a page that answers at any depth make endless paths of this kind.
    """
    if url.count("/") - 2 <= limit:  # two of them belong to "://"; too few segments to repeat
        return False
    segments = url[url.index("/", 8) + 1 :].partition("?")[0].split("/")
    if len(segments) - len(set(segments)) < limit:
        return False
    return max(Counter(segments).values()) > limit


def registrable_domain(host: str) -> str:
    """Return the domain that somebody registered: "example.co.uk" for "www.example.co.uk", by the public suffix list.

    An address, a name without dots and a public suffix ("github.io") are returned as they are, with their port.
    """
    name = PORT.sub("", host)
    domain: str | None = None if IP_ADDRESS.fullmatch(name) else _public_suffixes().privatesuffix(name)
    return domain or host


def is_same_site(url: str, other: str) -> bool:
    """Return whether a page at `url` and a canonical URL that it asks for belong to one site.

    A page of http is no part of the https site, because anybody on the way could have written it.
    """
    if url.startswith("http:") and other.startswith("https:"):
        return False
    host, other_host = authority(url), authority(other)
    return host == other_host or registrable_domain(host) == registrable_domain(other_host)


@lru_cache(maxsize=1)
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # takes 40 ms, so it is built at first use


def _without_www(host: str) -> str:
    return host.removeprefix("www.")


def _directory(url: str) -> str:
    """Return the path of a canonical URL up to its last slash."""
    path = url[url.index("/", 8) :].partition("?")[0]
    return path[: path.rindex("/") + 1]


def _parse_domain(name: str) -> str:
    bare = name.strip().removeprefix("*").strip(".")
    url = canonicalize(f"http://{bare}/")
    if not bare or url is None or url != f"http://{authority(url)}/":
        raise UsageError(f"{name!r} is not a domain; give a name such as example.org.")
    return authority(url)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        position = getattr(fault, "pos", None)
        where = "" if position is None else f" at position {position}"
        what = getattr(fault, "msg", None) or "it is too big"
        raise UsageError(f"The pattern {pattern!r} is not a regular expression: {what}{where}.") from fault
