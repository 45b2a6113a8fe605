"""The values handed from room to room, in the order of the data's way.

A URL's way: `Candidate` (a link found) → `Admission` (what to do with it) → `Lease` (work handed out) →
`Request` → `Fetched` (bytes) → `ParseJob` → `Page` (structure) → `Visit` (all of it, submitted to the store).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values: immutable, keyword-only."""


class State(StrEnum):
    """Where a resource stands in its life: `known → queued → leased → visited`, or one of the other ends."""

    KNOWN = "known"  # recorded, not to be visited (an embed, behind nofollow, too deep ...); `reason` says why
    QUEUED = "queued"
    LEASED = "leased"
    VISITED = "visited"
    FAILED = "failed"  # tried and given up for this round
    REFUSED = "refused"  # robots, content type, address guard, size: a rule of ours or theirs
    OUT_OF_SCOPE = "out of scope"
    GONE = "gone"  # 404 or 410


class Role(StrEnum):
    """What a request is for, and so how its answer is treated."""

    PAGE = "page"  # fetched and parsed
    SITEMAP = "sitemap"  # fetched and parsed as a sitemap (XML, gzip, text)
    CHECK = "check"  # asked for its status only (HEAD, then GET)
    ROBOTS = "robots"  # a host's robots.txt; never a resource


class Outcome(StrEnum):
    """How a visit ended. Every case is expected; none is an exception."""

    FETCHED = "fetched"
    NOT_MODIFIED = "not modified"
    REDIRECTED = "redirected"
    CHECKED = "checked"  # a link check that found the resource alive
    NOT_FOUND = "not found"  # 404, 410
    HTTP_ERROR = "http error"  # any other status >= 400
    THROTTLED = "throttled"  # 429, or 503 with Retry-After
    DNS = "dns failure"
    CONNECT = "connection failure"
    TLS = "tls failure"
    TIMEOUT = "timeout"
    TOO_SLOW = "too slow"
    BAD_HTTP = "bad http"  # not HTTP, broken chunking, cut short
    HEADERS_TOO_BIG = "headers too big"
    TOO_BIG = "too big"  # on the wire or after decompression
    BAD_ENCODING = "bad encoding"  # a Content-Encoding that does not decode
    BAD_REDIRECT = "bad redirect"  # without a target, to another scheme, to nonsense
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"
    ROBOTS = "refused by robots.txt"
    TYPE = "refused type"
    ADDRESS = "refused address"
    PARSER_CRASHED = "parser crashed"
    PARSER_TIMEOUT = "parser timeout"
    PARSER_MEMORY = "parser out of memory"


class Kind(IntEnum):
    """What kind of bond a link is. The numbers are stored; never renumber."""

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
    OTHER = 24  # icons, manifests, preloads, background= ...


EMBEDS = frozenset({Kind.IMAGE, Kind.SCRIPT, Kind.STYLE, Kind.MEDIA, Kind.OTHER})


class Position(IntEnum):
    """Where on the page the first occurrence of a link stands. The numbers are stored; never renumber."""

    CONTENT = 0
    NAV = 1
    HEADER = 2
    FOOTER = 3
    ASIDE = 4
    HEAD = 5  # <head>, HTTP headers


class Field(IntEnum):
    """The field a run of text stands in. The numbers are stored; never renumber."""

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
    """A URL somebody pointed at, before anybody decided what to do with it."""

    url: str  # canonical
    digest: bytes  # 128-bit BLAKE2b of the canonical URL's key
    kind: Kind
    follow: bool  # False: rel=nofollow, or the page says nofollow
    depth: int  # links from a seed; a redirect does not count
    hops: int = 0  # consecutive redirects (or nested sitemap indexes) that led here
    anchor: str = ""
    source_topic: float = 0.0  # nearness of the source page to the crawl's topic, 0..1
    seed: bool = False
    backlinks: int = 0  # pages known to point at it, when it was known before


class Admission(Value, frozen=True, kw_only=True):
    """What to do with a candidate."""

    state: State  # QUEUED, KNOWN or OUT_OF_SCOPE
    role: Role = Role.PAGE
    reason: str = ""  # why it is not queued
    priority: float = 0.0  # higher first; ties by age


if TYPE_CHECKING:
    AdmitCandidates = Callable[[Sequence[Candidate]], Sequence[Admission]]


class Lease(Value, frozen=True, kw_only=True):
    """One URL handed to one crawler."""

    resource: int  # DocID
    host: int
    url: str
    role: Role
    depth: int
    hops: int
    tries: int  # failed tries before this one, this round
    etag: str = ""
    last_modified: str = ""
    before: str = ""  # how the visit before ended: an Outcome; "": there was none


class Robots(Value, frozen=True, kw_only=True):
    """What a host's robots.txt was when it was last asked for."""

    host: int
    scheme: str
    outcome: str  # "rules", "unavailable" (allow all), "unreachable" (refuse all, try later)
    text: str
    fetched_at: float
    reason: str = ""  # "answered 503", "connection refused"


class HostLease(Value, frozen=True, kw_only=True):
    """A host handed to one crawler, with some of its URLs."""

    host: int
    name: str  # authority: "example.org", "localhost:8080"
    ready_at: float  # not before (Unix time)
    failures: int  # host failures in a row
    robots: tuple[Robots, ...]
    leases: tuple[Lease, ...]


class Request(Value, frozen=True, kw_only=True):
    """One transfer to make."""

    id: int
    url: str
    role: Role
    etag: str = ""
    last_modified: str = ""
    head: bool = False  # ask with HEAD


class FetchResult(Value, frozen=True, kw_only=True):
    """How a transfer ended."""

    request: Request
    outcome: Outcome
    reason: str  # a sentence fragment for people; "" when all is well
    status: int  # 0 when there was no answer
    headers: dict[str, str]  # lower-case names; repeated ones joined with ", " (X-Robots-Tag: with a line feed)
    body: bytes  # as on the wire: still encoded (gzip, br ...)
    milliseconds: int
    address: str  # the peer actually connected to, "" when none
    location: str = ""  # absolute canonical redirect target when REDIRECTED


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
    """A page's bonds as parallel columns: one row per (target, kind, follow, anchor), in order of first occurrence."""

    digests: list[bytes] = []
    urls: list[str] = []
    kinds: list[int] = []
    follows: list[bool] = []
    anchors: list[str] = []
    weights: list[int] = []  # times the bond occurs
    rels: list[str] = []
    positions: list[int] = []


class Hints(msgspec.Struct, array_like=True, frozen=True):
    """What a sitemap or feed says about when the pages it lists change, as parallel columns."""

    digests: list[bytes] = []
    modified: list[float] = []  # Unix time of the last change; 0: not said
    periods: list[float] = []  # seconds between two changes; 0: not said


class Page(msgspec.Struct, array_like=True, frozen=True):
    """What a parser found in the bytes."""

    id: int  # of the ParseJob
    outcome: Outcome  # FETCHED, or why there is nothing else here
    reason: str
    media_type: str = ""
    charset: str = ""
    title: str = ""
    description: str = ""
    language: str = ""  # BCP 47, as declared
    canonical: str = ""  # canonical URL of <link rel=canonical>, "" when none
    noindex: bool = False
    nofollow: bool = False
    content_digest: bytes = b""  # the first 128 bits of the SHA-256 of the decoded body
    text_digest: bytes = b""  # of the text by field
    topic: float = 0.0  # nearness to the crawl's topic, 0..1
    size: int = 0  # bytes of the decoded body
    text: bytes = b""  # zstd of msgpack [[field, text], ...] in reading order; robots.txt: its plain text
    source: bytes = b""  # zstd of the decoded body, empty with --no-source
    links: Links = Links()
    hints: Hints = Hints()


class Visit(Value, frozen=True, kw_only=True):
    """Everything one visit brought, ready for the store."""

    lease: Lease
    outcome: Outcome
    state: State  # where the resource stands now; QUEUED: to be tried again
    reason: str
    status: int
    visited_at: float
    bytes: int
    milliseconds: int
    etag: str = ""
    last_modified: str = ""  # as the server wrote it
    media_type: str = ""
    page: Page | None = None
    redirect: Candidate | None = None


class HostUpdate(Value, frozen=True, kw_only=True):
    """What a crawler learned about a host it holds."""

    host: int
    ready_at: float
    delay: float
    failures: int
    reason: str = ""  # why it waits, shown to people
    keep: bool = True  # False: give the host back
