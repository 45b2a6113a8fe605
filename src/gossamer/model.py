"""The values that packages exchange, in the order in which a crawl makes them.

The life of a URL: `Candidate` (a link was found) → `Admission` (the decision about it) → `Lease` (the store handed it
out) → `Request` → `FetchResult` (bytes) → `ParseJob` → `Page` (structure) → `Visit` (the result) → `VisitBatch`
(submitted to the store).
"""

from __future__ import annotations

import struct
from enum import IntEnum, StrEnum
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


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
    SUBRESOURCE = "subresource"  # asked for by a rendered page; never a resource of its own


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
    RENDERER_CRASHED = "renderer crashed"
    RENDERER_TIMEOUT = "renderer timeout"
    RENDERER_MEMORY = "renderer out of memory"


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
    ROUTE = 11  # a page that scripts lead to: history.pushState, popups
    SCRIPT_URL = 12  # a URL in JSON-LD, `data-href` or the inline state of a script; off by default
    IMAGE = 20
    SCRIPT = 21
    STYLE = 22
    MEDIA = 23  # audio, video, track, source, object, embed
    OTHER = 24  # icons, manifests, preloads, background= and the like
    DATA = 25  # requests of scripts: fetch, XMLHttpRequest


EMBEDS = frozenset({Kind.IMAGE, Kind.SCRIPT, Kind.STYLE, Kind.MEDIA, Kind.OTHER, Kind.DATA})


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
    method: str = ""  # of a subresource, where the user allows others than GET and HEAD
    headers: Mapping[str, str] = {}  # of a subresource: those that scripts of the page set
    body: bytes = b""  # of a subresource
    has_credentials: bool = True  # send what the user set for the host; not on behalf of pages of other sites


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


class PageLink(NamedTuple):
    """One bond of a page."""

    digest: bytes
    url: str
    kind: int
    follow: bool = True
    anchor: str = ""
    weight: int = 1  # occurrences
    rel: str = ""
    position: int = 0


DIGEST_BYTES = 16
_MARKS = struct.Struct("<BBBxI")
_WEIGHT = struct.Struct("<4xI")
_KINDS, _FOLLOWS, _POSITIONS = frozenset(map(int, Kind)), frozenset((0, 1)), frozenset(map(int, Position))


class Links(msgspec.Struct, array_like=True, frozen=True):
    """The bonds of a page as packed columns: one row per (target, kind, follow, anchor), by first occurrence.

    Processes and threads hand on five values, however many bonds a page has. Each property unpacks its column, so
    callers read it once.
    """

    packed_digests: bytes = b""  # `DIGEST_BYTES` of each target
    marks: bytes = b""  # of each bond: kind, follow, position, a zero byte, weight (uint32, little-endian)
    packed_urls: str = ""  # each text after a separator, a character that no text contains
    packed_rels: str = ""
    packed_anchors: str = ""

    @classmethod
    def pack(cls, rows: Iterable[PageLink]) -> Links:
        """Return the columns of rows."""
        columns = list(zip(*rows, strict=True))
        if not columns:
            return cls()
        digests, urls, kinds, follows, anchors, weights, rels, positions = columns
        marks = b"".join(map(_MARKS.pack, kinds, follows, positions, weights))
        return cls(b"".join(digests), marks, _join(urls), _join(rels), _join(anchors))

    def __len__(self) -> int:
        return len(self.packed_digests) // DIGEST_BYTES

    @property
    def digests(self) -> list[bytes]:
        """The digests of the targets."""
        packed = self.packed_digests
        return [packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES)]

    @property
    def urls(self) -> list[str]:
        """The targets."""
        return self._split(self.packed_urls)

    @property
    def kinds(self) -> bytes:
        """The kinds, a byte each."""
        return self.marks[:: _MARKS.size]

    @property
    def follows(self) -> bytes:
        """Whether to follow each bond: 1 or 0."""
        return self.marks[1 :: _MARKS.size]

    @property
    def positions(self) -> bytes:
        """The positions, a byte each."""
        return self.marks[2 :: _MARKS.size]

    @property
    def weights(self) -> list[int]:
        """How often each bond occurs."""
        return [weight for (weight,) in _WEIGHT.iter_unpack(self.marks)]

    @property
    def rels(self) -> list[str]:
        """The `rel` of each bond."""
        return self._split(self.packed_rels)

    @property
    def anchors(self) -> list[str]:
        """The anchor texts."""
        return self._split(self.packed_anchors)

    @staticmethod
    def _split(packed: str) -> list[str]:
        return packed.split(packed[0])[1:] if packed else []

    def without_follow(self) -> Links:
        """Return the same bonds, of which none is to be followed."""
        marks = bytearray(self.marks)
        marks[1 :: _MARKS.size] = bytes(len(self))
        return msgspec.structs.replace(self, marks=bytes(marks))

    def is_well_formed(self) -> bool:
        """Return whether all columns have the same length and numbers have a meaning."""
        number = len(self)
        texts = (self.packed_urls, self.packed_rels, self.packed_anchors)
        return (
            len(self.packed_digests) == DIGEST_BYTES * number
            and len(self.marks) == _MARKS.size * number
            and all((text.count(text[0]) if text else 0) == number for text in texts)
            and _KINDS.issuperset(self.kinds)
            and _FOLLOWS.issuperset(self.follows)
            and _POSITIONS.issuperset(self.positions)
        )


def _join(texts: Sequence[str]) -> str:
    separators = chain("\n", map(chr, count(1)))
    together = "".join(texts)
    separator = next(each for each in separators if each not in together)
    return separator + separator.join(texts)


class Hints(msgspec.Struct, array_like=True, frozen=True):
    """Change dates that a sitemap or feed gives for the pages it lists, as parallel columns."""

    digests: list[bytes] = []
    modified: list[float] = []  # Unix time of the last change; 0: not given
    periods: list[float] = []  # seconds between two changes; 0: not given


class Rendering(msgspec.Struct, array_like=True, frozen=True):
    """What a browser made of a page, beside its text and links."""

    dom: bytes = b""  # zstd of the rendered DOM as HTML, empty with --no-rendered
    words: int = 0  # of the rendered reading
    links: int = 0
    plain_words: int = 0  # of the reading of the source alone
    plain_links: int = 0
    milliseconds: int = 0
    cut: str = ""  # budgets that cut the rendering: "requests, time"
    screenshot: bytes = b""  # PNG or WebP, empty without --screenshots


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
    script_sign: str = ""  # why it seems to be made by scripts: "app shell"; "": nothing in the source says so
    rendered: str = ""  # why a browser rendered it; "": these are the words and links of its source
    rendering: Rendering | None = None  # of a rendered page


class ShapeEvidence(Value, frozen=True, kw_only=True):
    """What browsers found about the pages of one path shape of a host."""

    host: int
    shape: str
    signed: bool  # whether it is about the pages with a `script_sign`, or those without
    outcomes: str = ""  # of the last pages rendered, newest last: "1" scripts added words or links, "0" they did not
    looked_at: float = 0.0  # Unix time of the last one


class RenderJob(msgspec.Struct, array_like=True, frozen=True):
    """A response for a renderer process."""

    id: int  # of the request
    url: str
    status: int
    headers: dict[str, str]  # content-type, content-security-policy and the like; not content-encoding
    body: bytes  # decoded from Content-Encoding
    screenshot: bool = False


class PageRequest(msgspec.Struct, array_like=True, frozen=True):
    """A request that a rendered page makes; the crawl's fetcher answers it."""

    job: int
    id: int  # unique in a pool
    url: str  # absolute, http or https
    method: str  # GET or HEAD, unless the user allows others for the host
    kind: Kind  # SCRIPT, STYLE, FRAME, DATA or OTHER
    headers: dict[str, str]  # lower-case names; those that scripts set, and Origin
    body: bytes = b""


class PageResponse(msgspec.Struct, array_like=True, frozen=True):
    """The answer to a `PageRequest`."""

    id: int
    status: int  # 0: refused or failed; `reason` says why
    headers: dict[str, str]
    body: bytes  # decoded
    reason: str = ""


class RenderedPage(msgspec.Struct, array_like=True, frozen=True):
    """A page after its scripts ran."""

    id: int  # of the RenderJob
    outcome: Outcome  # FETCHED, or why there is no snapshot
    reason: str
    html: bytes = b""  # the DOM as HTML in UTF-8, with shadow roots and frames in the place where they show
    routes: list[str] = []  # absolute URLs of history.pushState, refused navigations and popups
    requests: list[tuple[str, Kind]] = []  # every request of the page, also those answered empty or refused
    cut: str = ""  # budgets that cut it: "requests, nodes"
    screenshot: bytes = b""  # a thumbnail, WebP
    milliseconds: int = 0


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
    shapes: Sequence[ShapeEvidence] = ()  # of held hosts; each replaces what was known of its shape
    keep_links: bool = True  # False: follow and count links without storing them; redirects are stored

    def __bool__(self) -> bool:
        return bool(self.visits or self.hosts or self.robots or self.released or self.shapes)
