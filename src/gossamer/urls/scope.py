"""Which URLs a crawl may visit: near enough to its seeds, wanted by its patterns, and not a trap.

A `Scope` answers `refusal(url)`: "" or the reason, a sentence fragment that is stored with the URL and shown to people.
It judges places and spellings only; depth, budgets and robots.txt are judged elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from publicsuffixlist import PublicSuffixList

from gossamer.errors import UsageError
from gossamer.urls.canonical import authority, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.config import CrawlSettings

ELSEWHERE = {"host": "other host", "domain": "other domain", "prefix": "outside the prefix"}  # refusals by place
EVERYWHERE = ("/",)  # the path prefixes of a host that is in scope as a whole
REMEMBERED_HOSTS = 16_384  # at most; about 3 MB. When full, all are forgotten: cheap, and rare
PORT = re.compile(r":[0-9]+$")
ADDRESS = re.compile(r"\[.*\]|[0-9.]+")  # an IP address, as canonical URLs write it


class Scope:
    """Where a crawl may go. It only becomes wider, by seeds that join, also while another thread asks."""

    def __init__(self, settings: CrawlSettings, seeds: Iterable[str]) -> None:
        """`seeds` are canonical URLs."""
        self._settings = settings
        self._domains = tuple(_asked_domain(name) for name in settings.domains)
        self._include = [_compiled(pattern) for pattern in settings.include]
        self._exclude = [_compiled(pattern) for pattern in settings.exclude]
        self._place = registrable_domain if settings.scope == "domain" else _without_www
        self._prefixes: dict[str, tuple[str, ...]] = {}  # place -> path prefixes
        self._remembered: dict[str, tuple[str, ...]] = {}  # authority -> path prefixes
        for seed in seeds:
            self.add(seed)

    def add(self, seed: str) -> None:
        """One more seed."""
        place = self._place(authority(seed))
        prefix = _directory(seed) if self._settings.scope == "prefix" else "/"
        known = self._prefixes.get(place, ())
        if prefix not in known:
            self._prefixes[place] = (*known, prefix)
            self._remembered = {}  # another one, for who asks just now may put what was so before into the old one

    def refusal(self, url: str) -> str:
        """Why a canonical URL is not to be visited, "" when it is.

        The length is judged first: it bounds what the user's own patterns and the trap rule can cost on hostile URLs.
        (A pattern with nested repeats, such as (a+)+$, can still be slow on them; Python's `re` backtracks.)
        """
        settings = self._settings
        if len(url) > settings.max_url_length:
            return "URL too long"
        for pattern in self._exclude:
            if pattern.search(url):
                return f"excluded by {pattern.pattern}"
        if not self._in_place(url):
            return ELSEWHERE[settings.scope]
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return "not included"
        if repeats(url, settings.max_path_repeats):
            return "repeating path segments"
        return ""

    def is_elsewhere(self, url: str) -> bool:
        """Whether a URL is refused for its place alone: a neighbour, fine to ask for its status."""
        return self.refusal(url) in ELSEWHERE.values()

    def _in_place(self, url: str) -> bool:
        host, remembered = authority(url), self._remembered
        prefixes = remembered.get(host)
        if prefixes is None:
            if len(remembered) >= REMEMBERED_HOSTS:
                remembered.clear()
            prefixes = remembered[host] = self._prefixes_of(host)
        return url.startswith(prefixes, url.index("/", 8))

    def _prefixes_of(self, host: str) -> tuple[str, ...]:
        if self._settings.scope == "any" or self._in_domains(host):
            return EVERYWHERE
        return self._prefixes.get(self._place(host), ())

    def _in_domains(self, host: str) -> bool:
        names = (f".{host}", f".{PORT.sub('', host)}")  # a domain given without a port holds on every port
        return any(name.endswith(f".{domain}") for domain in self._domains for name in names)


def repeats(url: str, limit: int) -> bool:
    """Whether one path segment occurs more than `limit` times: /a/a/a/a, /a/b/a/b/a/b/a/b.

    Relative links that never leave a page which answers at any depth make such paths, without end.
    """
    if url.count("/") - 2 <= limit:  # two of them belong to "://"; too few segments to repeat
        return False
    segments = url[url.index("/", 8) + 1 :].partition("?")[0].split("/")
    if len(segments) - len(set(segments)) < limit:
        return False
    return max(Counter(segments).values()) > limit


def registrable_domain(host: str) -> str:
    """The domain somebody registered ("example.co.uk" for "www.example.co.uk"), by the public suffix list.

    An address, a name without dots and a public suffix itself ("github.io") stand for themselves, with their port.
    """
    name = PORT.sub("", host)
    domain: str | None = None if ADDRESS.fullmatch(name) else _public_suffixes().privatesuffix(name)
    return domain or host


@lru_cache(maxsize=1)
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # 40 ms to build, so only when a crawl asks for domains


def _without_www(host: str) -> str:
    return host.removeprefix("www.")


def _directory(url: str) -> str:
    """The path of a canonical URL up to its last slash."""
    path = url[url.index("/", 8) :].partition("?")[0]
    return path[: path.rindex("/") + 1]


def _asked_domain(name: str) -> str:
    bare = name.strip().removeprefix("*").strip(".")
    url = canonical(f"http://{bare}/")
    if not bare or url is None or url != f"http://{authority(url)}/":
        raise UsageError(f"{name!r} is not a domain; give a name such as example.org.")
    return authority(url)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        position = getattr(fault, "pos", None)
        where = "" if position is None else f" at position {position}"
        what = getattr(fault, "msg", None) or "it is too big"
        raise UsageError(f"The pattern {pattern!r} is not a regular expression: {what}{where}.") from fault
