"""A random small web: hosts with robots.txt, faults and outages, and pages with links, redirects and errors."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import zstandard

from gossamer.model import FetchResult, Field, Kind, Links, Outcome, Page, PageLink, Role
from gossamer.urls.canonical import authority, url_digest

if TYPE_CHECKING:
    from random import Random

    from gossamer.model import ParseJob, Request

TEXT = zstandard.compress(msgspec.msgpack.encode([(Field.PARAGRAPH, "some words")]))
TRANSFER_TIMEOUT = 20.0  # seconds; below LEASE_SECONDS, so that no transfer of a hung crawler outlives its lease
PAGE_KINDS = ("page",) * 12 + ("missing", "redirect", "broken", "picture", "private", "slow")
ROBOTS_KINDS = ("rules",) * 4 + ("unavailable", "unavailable", "unreachable", "crawl-delay", "slow")


class Answer(NamedTuple):
    """What a server does with a request."""

    result: FetchResult
    seconds: float  # until the transfer ends


class Host:
    """A server with its habits."""

    def __init__(self, random: Random, number: int, duration: float) -> None:
        self.name = f"host{number}.example"
        self.robots_kind = random.choice(ROBOTS_KINDS)
        self.crawl_delay = random.choice((1.0, 3.0)) if self.robots_kind == "crawl-delay" else None
        self.flakiness = random.choice((0.0, 0.0, 0.0, 0.05, 0.3))
        self.speed = random.choice((0.01, 0.05, 0.2))  # seconds of a usual answer
        begin = random.uniform(0, duration) if random.random() < 0.25 else float("inf")
        self.outage = (begin, begin + random.uniform(1, 60))  # seconds after the start
        self.is_healed = False  # whether the last phase of the simulation began

    @property
    def is_reliable(self) -> bool:
        """Whether every request is answered as its page says."""
        return not self.flakiness and self.outage[0] == float("inf") and self.robots_kind != "unreachable"

    def robots_text(self) -> str:
        """Return its robots.txt."""
        delay = f"Crawl-delay: {self.crawl_delay:g}\n" if self.crawl_delay is not None else ""
        return f"User-agent: *\nDisallow: /private\n{delay}"


class Web:
    """All hosts and pages."""

    def __init__(self, random: Random, duration: float) -> None:
        self._random = random
        hosts = [Host(random, number, duration) for number in range(random.randint(1, 5))]
        self.hosts = {host.name: host for host in hosts}
        self.kinds: dict[str, str] = {}
        for host in hosts:
            for number in range(random.choice((2, 4, 8, 14))):
                kind = random.choice(PAGE_KINDS) if number else "page"
                self.kinds[f"http://{host.name}/{kind}{number}" if number else f"http://{host.name}/"] = kind
        urls = list(self.kinds)
        self.links = {url: random.choices(urls, k=random.choice((1, 3, 6))) for url in urls}
        for url, following in pairwise(urls):
            if random.random() < 0.7:
                self.links[url].append(following)
        self.seeds = [f"http://{host.name}/" for host in hosts]
        self._pages = {url: self._page(url) for url, kind in self.kinds.items() if kind in {"page", "slow", "private"}}

    def _page(self, url: str) -> Page:
        links = list(dict.fromkeys(self.links[url]))
        bonds = Links.pack(PageLink(url_digest(link), link, int(Kind.HYPERLINK)) for link in links)
        digest = hashlib.blake2b(url.encode(), digest_size=16).digest()
        return Page(
            0, Outcome.FETCHED, "", "text/html", "utf-8", "A page", content_digest=digest, text_digest=digest,
            size=100, text=TEXT, links=bonds,
        )  # fmt: skip

    def heal(self) -> None:
        """End all faults of the network."""
        for host in self.hosts.values():
            host.is_healed = True

    def parse(self, job: ParseJob) -> Page:
        """Return the page of a body."""
        if job.role is Role.ROBOTS:
            return Page(job.id, Outcome.FETCHED, "", text=job.body)
        page = self._pages[job.url]
        return Page(*[job.id, *(getattr(page, name) for name in Page.__struct_fields__[1:])])

    def answer(self, request: Request, seconds_since_start: float) -> Answer:
        """Decide what happens to a request that starts now."""
        host, random = self.hosts[authority(request.url)], self._random
        begin, end = host.outage
        if begin <= seconds_since_start < end and not host.is_healed:
            return _fault(request, Outcome.CONNECT, "connection refused", random.choice((0.001, 10.0)))
        if random.random() < host.flakiness and not host.is_healed:
            return self._flaky_answer(request)
        seconds = host.speed * random.uniform(0.5, 2)
        if request.role is Role.ROBOTS:
            return _robots_answer(request, host, seconds)
        return self._page_answer(request, seconds)

    def _flaky_answer(self, request: Request) -> Answer:
        match self._random.randrange(4):
            case 0:
                return _fault(request, Outcome.TIMEOUT, "no answer", TRANSFER_TIMEOUT, address="192.0.2.1")
            case 1:
                return _status(request, 503, Outcome.THROTTLED, 0.1, {"retry-after": "5"})
            case 2:
                return _fault(request, Outcome.BAD_HTTP, "broken", 0.2, address="192.0.2.1")
        return _status(request, 500, Outcome.HTTP_ERROR, 0.1)

    def _page_answer(self, request: Request, seconds: float) -> Answer:
        match self.kinds.get(request.url, "missing"):
            case "missing":
                return _status(request, 404, Outcome.NOT_FOUND, seconds)
            case "redirect":
                return _status(request, 302, Outcome.REDIRECTED, seconds, location=self.links[request.url][0])
            case "broken":
                return _status(request, 500, Outcome.HTTP_ERROR, seconds)
            case "picture":
                return _status(request, 200, Outcome.TYPE, seconds)
            case "slow":
                seconds = self._random.uniform(2, TRANSFER_TIMEOUT)
        return _status(request, 200, Outcome.FETCHED, seconds, body=b"<html>")


def _robots_answer(request: Request, host: Host, seconds: float) -> Answer:
    if host.robots_kind == "unavailable":
        return _status(request, 404, Outcome.NOT_FOUND, seconds)
    if host.robots_kind == "unreachable" and not host.is_healed:
        return _status(request, 500, Outcome.HTTP_ERROR, seconds)
    if host.robots_kind == "slow":
        seconds = 5.0
    return _status(request, 200, Outcome.FETCHED, seconds, body=host.robots_text().encode())


def _fault(request: Request, outcome: Outcome, reason: str, seconds: float, address: str = "") -> Answer:
    result = FetchResult(
        request=request, outcome=outcome, reason=reason, status=0, headers={}, body=b"",
        milliseconds=int(seconds * 1000), address=address,
    )  # fmt: skip
    return Answer(result, seconds)


def _status(
    request: Request, status: int, outcome: Outcome, seconds: float, headers: dict[str, str] | None = None,
    body: bytes = b"", location: str = "",
) -> Answer:  # fmt: skip
    result = FetchResult(
        request=request, outcome=outcome, reason="" if status < 400 else f"answered {status}", status=status,
        headers={"content-type": "text/html", **(headers or {})}, body=body, milliseconds=int(seconds * 1000),
        address="192.0.2.1", location=location,
    )  # fmt: skip
    return Answer(result, seconds)
