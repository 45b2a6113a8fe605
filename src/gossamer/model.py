"""The values that packages exchange, in the order in which a crawl makes them.

The life of a URL: `Candidate` (a link was found) → `Admission` (the decision about it) → `Lease` (the store handed it
out) → `Request` → `FetchResult` (bytes) → `ParseJob` → `Page` (structure) → `Visit` (the result) → `VisitBatch`
(submitted to the store).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all values: immutable, keyword-only."""


class State(StrEnum):
    """The state of a resource: `known → queued → leased → visited`, or another end."""

    KNOWN = "known"  # recorded, not to be visited (an embed, behind nofollow, too deep); `reason` says why
    QUEUED = "queued"
    LEASED = "leased"
    VISITED = "visited"
    FAILED = "failed"  # given up for this round
    REFUSED = "refused"  # by robots.txt, content type, address guard or size
    OUT_OF_SCOPE = "out of scope"
    GONE = "gone"  # 404 or 410


class Role(StrEnum):
    """The purpose of a request, which decides how its response is handled."""

    PAGE = "page"  # fetched and parsed
    SITEMAP = "sitemap"  # fetched and parsed as a sitemap (XML, gzip, text)
    CHECK = "check"  # requested for its status only (HEAD, then GET)
    ROBOTS = "robots"  # a host's robots.txt; never a resource


class Outcome(StrEnum):
    """How a visit ended. Every outcome is expected; none is an exception."""

    FETCHED = "fetched"
    NOT_MODIFIED = "not modified"
    REDIRECTED = "redirected"
    CHECKED = "checked"  # a link check found the resource
    NOT_FOUND = "not found"  # 404, 410
    HTTP_ERROR = "http error"  # any other status >= 400
    THROTTLED = "throttled"  # 429, or 503 with Retry-After
    DNS = "dns failure"
    CONNECT = "connection failure"
    TLS = "tls failure"
    TIMEOUT = "timeout"
    TOO_SLOW = "too slow"
    BAD_HTTP = "bad http"  # not HTTP, broken chunking, truncated
    HEADERS_TOO_BIG = "headers too big"
    TOO_BIG = "too big"  # on the wire or after decompression
    BAD_ENCODING = "bad encoding"  # a Content-Encoding that does not decode
    BAD_REDIRECT = "bad redirect"  # without a target, to another scheme, to an invalid URL
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"
    ROBOTS = "refused by robots.txt"
    TYPE = "refused type"
    ADDRESS = "refused address"
    PARSER_CRASHED = "parser crashed"
    PARSER_TIMEOUT = "parser timeout"
    PARSER_MEMORY = "parser out of memory"


PAGE_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED})  # the content of the page is known
SUCCESSFUL_OUTCOMES = PAGE_OUTCOMES | {Outcome.REDIRECTED, Outcome.CHECKED}


class Kind(IntEnum):
    """The kind of a bond. The numbers are stored; never renumber."""

    HYPERLINK = 1  # <a>, <area>
    FRAME = 2  # <frame>, <iframe>
    REFRESH = 3  # <meta http-equiv=refresh>, Refresh: header
    REDIRECT = 4  # HTTP 3xx
    CANONICAL = 5
    ALTERNATE = 6  # <link rel=alternate>: feeds, hreflang
    RELATED = 7  # <link rel=next|prev|help|...> that leads to a document
    FEED = 8  # an entry of a feed
    SITEMAP = 9  # an entry of a sitemap
    SITEMAP_FILE = 10  # a sitemap: named in robots.txt, or an entry of a sitemap index
    IMAGE = 20
    SCRIPT = 21
    STYLE = 22
    MEDIA = 23  # audio, video, track, source, object, embed
    OTHER = 24  # icons, manifests, preloads, background= and the like


EMBEDS = frozenset({Kind.IMAGE, Kind.SCRIPT, Kind.STYLE, Kind.MEDIA, Kind.OTHER})


class Position(IntEnum):
    """The part of the page that holds the first occurrence of a link. The numbers are stored; never renumber."""

    CONTENT = 0
    NAV = 1
    HEADER = 2
    FOOTER = 3
    ASIDE = 4
    HEAD = 5  # <head>, HTTP headers


class Field(IntEnum):
    """The field that holds a run of text. The numbers are stored; never renumber."""

    TITLE = 0
    H1 = 1
    H2 = 2
    H3 = 3
    H4 = 4
    H5 = 5
    H6 = 6
    PARAGRAPH = 7
    TEXT = 8
    DESCRIPTION = 9


class Candidate(Value, frozen=True, kw_only=True):
    """A URL that a link, sitemap, redirect or user named, not yet admitted."""

    url: str  # canonical
    digest: bytes  # 128-bit BLAKE2b of the canonical URL's key
    kind: Kind
    follow: bool  # False: rel=nofollow, or nofollow for the whole page
    depth: int  # links from a seed; redirects do not count
    hops: int = 0  # consecutive redirects, or nested sitemap indexes, that led here
    anchor: str = ""
    source_topic: float = 0.0  # nearness of the source page to the crawl's topic, 0..1
    seed: bool = False
    backlinks: int = 0  # known pages that link to it, if it was known already


class Admission(Value, frozen=True, kw_only=True):
    """The decision about a candidate."""

    state: State  # QUEUED, KNOWN or OUT_OF_SCOPE
    role: Role = Role.PAGE
    reason: str = ""  # why it is not queued
    priority: float = 0.0  # higher first; ties by age


if TYPE_CHECKING:
    AdmitCandidates = Callable[[Sequence[Candidate]], Sequence[Admission]]


class Lease(Value, frozen=True, kw_only=True):
    """One URL leased to one crawler."""

    resource: int  # DocID
    host: int
    url: str
    role: Role
    depth: int
    hops: int
    tries: int  # failed tries in this round
    etag: str = ""
    last_modified: str = ""
    before: str = ""  # the Outcome of the last visit; "": never visited


class Robots(Value, frozen=True, kw_only=True):
    """The last known robots.txt of a host."""

    host: int
    scheme: str
    outcome: str  # "rules", "unavailable" (allow all), "unreachable" (refuse all, try later)
    text: str
    fetched_at: float
    reason: str = ""  # "answered 503", "connection refused"


class HostLease(Value, frozen=True, kw_only=True):
    """A host leased to one crawler, with some of its URLs."""

    host: int
    name: str  # authority: "example.org", "localhost:8080"
    ready_at: float  # Unix time of the earliest next request
    failures: int  # host failures in a row
    robots: tuple[Robots, ...]
    leases: tuple[Lease, ...]


class Request(Value, frozen=True, kw_only=True):
    """A transfer to start."""

    id: int
    url: str
    role: Role
    etag: str = ""
    last_modified: str = ""
    head: bool = False  # use HEAD


class FetchResult(Value, frozen=True, kw_only=True):
    """The result of a transfer."""

    request: Request
    outcome: Outcome
    reason: str  # a sentence fragment for people; "" after success
    status: int  # 0 without a response
    headers: dict[str, str]  # lower-case names; repeated ones joined with ", " (X-Robots-Tag: with a line feed)
    body: bytes  # as on the wire: still encoded (gzip, br)
    milliseconds: int
    address: str  # IP address of the peer, "" without a connection
    location: str = ""  # absolute canonical redirect target, if REDIRECTED


class ParseJob(msgspec.Struct, array_like=True, frozen=True):
    """Bytes for a parser process."""

    id: int
    role: Role
    url: str
    body: bytes
    content_type: str
    content_encoding: str
    link: str  # Link: header
    robots: str  # X-Robots-Tag: header
    refresh: str  # Refresh: header
    language: str  # Content-Language: header


class Links(msgspec.Struct, array_like=True, frozen=True):
    """The bonds of a page as parallel columns: one row per (target, kind, follow, anchor), by first occurrence."""

    digests: list[bytes] = []
    urls: list[str] = []
    kinds: list[int] = []
    follows: list[bool] = []
    anchors: list[str] = []
    weights: list[int] = []  # occurrences of each bond
    rels: list[str] = []
    positions: list[int] = []


class Hints(msgspec.Struct, array_like=True, frozen=True):
    """Change dates that a sitemap or feed gives for the pages it lists, as parallel columns."""

    digests: list[bytes] = []
    modified: list[float] = []  # Unix time of the last change; 0: not given
    periods: list[float] = []  # seconds between two changes; 0: not given


class Page(msgspec.Struct, array_like=True, frozen=True):
    """The result of parsing a body."""

    id: int  # of the ParseJob
    outcome: Outcome  # FETCHED, or why the other fields are empty
    reason: str
    media_type: str = ""
    charset: str = ""
    title: str = ""
    description: str = ""
    language: str = ""  # BCP 47, as declared
    canonical: str = ""  # target of <link rel=canonical>, in canonical form
    noindex: bool = False
    nofollow: bool = False
    content_digest: bytes = b""  # the first 128 bits of the SHA-256 of the decoded body
    text_digest: bytes = b""  # digest of the text by field
    topic: float = 0.0  # nearness to the crawl's topic, 0..1
    size: int = 0  # bytes of the decoded body
    text: bytes = b""  # zstd of msgpack [[field, text], ...] in reading order; robots.txt: its plain text
    source: bytes = b""  # zstd of the decoded body, empty with --no-source
    links: Links = Links()
    hints: Hints = Hints()
    cut: str = ""  # parts over the page budget, of which only the beginning was kept: "text, words"


class Visit(Value, frozen=True, kw_only=True):
    """The complete result of one visit, ready for the store."""

    lease: Lease
    outcome: Outcome
    state: State  # new state of the resource; QUEUED: to be tried again
    reason: str
    status: int
    visited_at: float
    bytes: int
    milliseconds: int
    etag: str = ""
    last_modified: str = ""  # the header, unchanged
    media_type: str = ""
    page: Page | None = None
    redirect: Candidate | None = None


class HostUpdate(Value, frozen=True, kw_only=True):
    """News about a held host, for the store."""

    host: int
    ready_at: float  # Unix time of the earliest next request
    delay: float  # seconds between two requests
    failures: int  # host failures in a row
    reason: str = ""  # why it waits, for people
    keep: bool = True  # False: release the host


class VisitBatch(Value, frozen=True, kw_only=True):
    """Finished visits and news about hosts, for one transaction of the store."""

    visits: Sequence[Visit] = ()
    hosts: Sequence[HostUpdate] = ()
    robots: Sequence[Robots] = ()
    released: Sequence[Lease] = ()  # leases that were not used
    keep_links: bool = True  # False: follow and count links without storing them; redirects are stored

    def __bool__(self) -> bool:
        return bool(self.visits or self.hosts or self.robots or self.released)
