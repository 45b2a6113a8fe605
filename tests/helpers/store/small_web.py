"""A small stored web to read: a few resources in every state, some of them hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import zstandard

from gossamer.config import CrawlSettings
from gossamer.crawl.policy import verdict
from gossamer.model import Admission, Candidate, Field, Kind, Links, Outcome, Page, PageLink, State, Visit, VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from gossamer.urls.canonical import authority, url_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.model import Lease
    from gossamer.store.sql_store import SqlStore

SEED = "https://example.org/"
TITLE = "Home \x1b[31m\u202eevil"
SOURCE = "<title>Home</title>caf\xe9 \x1b[2J".encode("latin-1")
NOW = 1_760_000_000.0

LINKS: dict[str, list[tuple[str, str]]] = {
    SEED: [("a", "to a"), ("a", "to a"), ("missing", "a broken\tlink"), ("private", "private"), ("slow", "")],
    f"{SEED}a": [("", "home"), ("https://other.example/", "elsewhere")],
}
FAULTS = {
    f"{SEED}missing": (Outcome.NOT_FOUND, 404, "Not Found"),
    f"{SEED}private": (Outcome.ROBOTS, 0, "robots.txt"),
    f"{SEED}slow": (Outcome.TIMEOUT, 0, "no answer within 60 s \x1b]0;owned\x07"),
}


def build(directory: Path, *, settings: CrawlSettings | None = None, source: bool = True) -> SqlStore:
    """Create the web and leave it open, with its crawler (Naiad) at work."""
    store = open_sqlite_store(directory, create=True)
    store.begin_round(msgspec.json.encode(settings or CrawlSettings()).decode(), [SEED], None, None)
    store.add([candidate(SEED, seed=True)], admit)
    crawler = store.join("testbed", 1).id
    while leased := store.lease(crawler, hosts=10, urls=10, held=[], now=NOW):
        visits = [visit(lease, source=source) for host in leased for lease in host.leases]
        store.submit(crawler, VisitBatch(visits=visits), admit, NOW)
        held = [host.host for host in leased]
        while more := store.lease(crawler, hosts=0, urls=10, held=held, now=NOW):
            store.submit(
                crawler,
                VisitBatch(visits=[visit(one, source=source) for host in more for one in host.leases]),
                admit,
                NOW,
            )
    return store


def candidate(url: str, *, seed: bool = False) -> Candidate:
    return Candidate(url=url, digest=url_digest(url), kind=Kind.HYPERLINK, follow=True, depth=0, seed=seed)


def admit(candidates: Sequence[Candidate]) -> list[Admission]:
    inside = authority(SEED)
    return [
        Admission(state=State.QUEUED)
        if authority(one.url) == inside
        else Admission(state=State.OUT_OF_SCOPE, reason="another host")
        for one in candidates
    ]


def visit(lease: Lease, *, source: bool) -> Visit:
    outcome, status, reason = FAULTS.get(lease.url, (Outcome.FETCHED, 200, ""))
    page = parsed_page(lease.url, source=source) if outcome is Outcome.FETCHED else None
    return Visit(
        lease=lease, outcome=outcome, state=verdict(outcome, status, 0, 1).state, reason=reason, status=status,
        visited_at=NOW, bytes=page.size if page else 0, milliseconds=12, media_type=page.media_type if page else "",
        page=page,
    )  # fmt: skip


def parsed_page(url: str, *, source: bool) -> Page:
    title = TITLE if url == SEED else "Page"
    text = msgspec.msgpack.encode([(Field.TITLE, title), (Field.PARAGRAPH, "some\nwords \x1b[1m")])
    return Page(
        0, Outcome.FETCHED, "", "text/html", "windows-1252", title, content_digest=b"\1" * 16, text_digest=b"\2" * 16,
        size=len(SOURCE), text=zstandard.compress(text), source=zstandard.compress(SOURCE) if source else b"",
        links=bonds(url),
    )  # fmt: skip


def bonds(url: str) -> Links:
    weights: dict[tuple[str, str], int] = {}
    for href, anchor in LINKS.get(url, []):
        target = href if "://" in href else SEED + href
        weights[target, anchor] = weights.get((target, anchor), 0) + 1
    return Links.pack(
        PageLink(url_digest(target), target, int(Kind.HYPERLINK), anchor=anchor, weight=weight)
        for (target, anchor), weight in weights.items()
    )
