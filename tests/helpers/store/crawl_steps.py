"""Small sites and the steps of a crawl without a network, for tests of the store."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import zstandard

from gossamer.model import (
    EMBEDS,
    Admission,
    Candidate,
    Field,
    HostLease,
    Kind,
    Lease,
    Links,
    Outcome,
    Page,
    PageLink,
    Role,
    State,
    Visit,
    VisitBatch,
)
from gossamer.store.protocol import Store
from gossamer.store.values import CrawlerReport

HERE = "here"  # a machine name
EMBED_NAMES = {kind.name.lower() for kind in EMBEDS}
PAGE_OUTCOMES = {"fetched", "not modified"}
AT_WORK = CrawlerReport(
    state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for="", most_parsers=2
)
Open = Callable[[], Store]  # each call opens the same web as another object


class Bond(NamedTuple):
    """A link on a page of a small test site."""

    url: str
    kind: Kind = Kind.HYPERLINK
    follow: bool = True
    anchor: str = ""
    weight: int = 1


Site = Mapping[str, Sequence[Bond | str]]


def digest(url: str) -> bytes:
    return hashlib.blake2b(url.encode(), digest_size=16).digest()


def candidate(
    url: str, *, kind: Kind = Kind.HYPERLINK, follow: bool = True, depth: int = 0, hops: int = 0, seed: bool = False
) -> Candidate:
    return Candidate(url=url, digest=digest(url), kind=kind, follow=follow, depth=depth, hops=hops, seed=seed)


def seed(url: str) -> Candidate:
    return candidate(url, seed=True)


def bonds(*links_: Bond | str) -> list[Bond]:
    return [bond if isinstance(bond, Bond) else Bond(bond) for bond in links_]


def links(*given: Bond | str) -> Links:
    rows = bonds(*given)
    return Links.pack(
        PageLink(digest(bond.url), bond.url, int(bond.kind), bond.follow, bond.anchor, bond.weight) for bond in rows
    )


def text(*runs: tuple[Field, str]) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(runs))


def fetched_visit(
    lease: Lease, *given: Bond | str, body: str = "a body", title: str = "A title", at: float = 1.0
) -> Visit:
    """Return a visit that fetched a page."""
    page = Page(
        lease.resource,
        Outcome.FETCHED,
        "",
        media_type="text/html",
        charset="utf-8",
        title=title,
        language="en",
        content_digest=digest(body),
        text_digest=digest(f"{title}\n{body}"),
        text=text((Field.TITLE, title), (Field.PARAGRAPH, body)),
        source=zstandard.compress(body.encode()),
        links=links(*given),
    )
    return Visit(
        lease=lease,
        outcome=Outcome.FETCHED,
        state=State.VISITED,
        reason="",
        status=200,
        visited_at=at,
        bytes=len(body),
        milliseconds=5,
        etag='"e"',
        last_modified="yesterday",
        media_type="text/html",
        page=page,
    )


def ended_visit(
    lease: Lease,
    outcome: Outcome,
    state: State,
    *,
    reason: str = "",
    status: int = 0,
    redirect: Candidate | None = None,
) -> Visit:
    """Return a visit without a page."""
    return Visit(
        lease=lease,
        outcome=outcome,
        state=state,
        reason=reason,
        status=status,
        visited_at=2.0,
        bytes=0,
        milliseconds=3,
        redirect=redirect,
    )


def redirected_visit(lease: Lease, to: str) -> Visit:
    target = candidate(to, kind=Kind.REDIRECT, depth=lease.depth, hops=lease.hops + 1)
    return ended_visit(lease, Outcome.REDIRECTED, State.VISITED, status=301, redirect=target)


def gone_visit(lease: Lease) -> Visit:
    return ended_visit(lease, Outcome.NOT_FOUND, State.GONE, reason="answered 404", status=404)


def admit_all(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED) for _ in candidates]


def admit_none(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.OUT_OF_SCOPE, reason="elsewhere") for _ in candidates]


class Policy:
    """Rules like those of a real crawl; records the candidates it judged."""

    def __init__(self, *, host: str = "", max_depth: int | None = None, check: bool = False) -> None:
        self.host = host
        self.max_depth = max_depth
        self.check = check
        self.candidates: list[Candidate] = []

    def __call__(self, candidates: Sequence[Candidate]) -> list[Admission]:
        self.candidates.extend(candidates)
        return [self._admit(one) for one in candidates]

    def _admit(self, one: Candidate) -> Admission:
        if not one.follow:
            return Admission(state=State.KNOWN, reason="nofollow")
        if one.kind in EMBEDS:
            if self.check:
                return Admission(state=State.QUEUED, role=Role.CHECK)
            return Admission(state=State.KNOWN, reason="embedded")
        if self.host and f"//{self.host}/" not in one.url:
            return Admission(state=State.OUT_OF_SCOPE, reason="another host")
        if self.max_depth is not None and one.depth > self.max_depth:
            return Admission(state=State.KNOWN, reason="too deep")
        role = Role.SITEMAP if one.kind is Kind.SITEMAP_FILE else Role.PAGE
        return Admission(state=State.QUEUED, role=role, priority=float(-one.depth))


Admit = Callable[[Sequence[Candidate]], list[Admission]]


def join(store: Store, machine: str = HERE) -> int:
    return store.join(machine, 4711).id


def lease_all(store: Store, crawler: int, *, urls: int = 100, hosts: int = 100) -> list[HostLease]:
    """Lease new hosts, and more URLs of the held ones."""
    held = [row.id for row in store.hosts()]
    return store.lease(crawler, hosts=hosts, urls=urls, held=held, now=time.time())


def leases(leased: Sequence[HostLease]) -> dict[str, Lease]:
    return {lease.url: lease for host in leased for lease in host.leases}


def start(store: Store, *urls: str, admit: Admit = admit_all, settings: str = "{}") -> int:
    """Begin a round with seeds and join a crawler."""
    crawler = join(store)
    store.begin_round(settings, urls, None, None)
    store.add([seed(url) for url in urls], admit)
    return crawler


def requeue(store: Store) -> None:
    """Begin a round like the last one, which visits everything again."""
    last = store.current_round()
    assert last is not None
    store.begin_round(last.settings, [], last.max_pages, last.max_pages_per_host, revisit="all")


def visit_all(
    store: Store, crawler: int, site: Site, *, admit: Admit = admit_all, urls: int = 100, keep_links: bool = True
) -> list[str]:
    """Visit all queued URLs and return them in order. URLs that the site lacks are gone."""
    order: list[str] = []
    while leased := lease_all(store, crawler, urls=urls):
        leased_urls = leases(leased)
        order += leased_urls
        visits = [
            fetched_visit(lease, *site[url], body=f"the body of {url}") if url in site else gone_visit(lease)
            for url, lease in leased_urls.items()
        ]
        store.submit(crawler, VisitBatch(visits=visits, keep_links=keep_links), admit, time.time())
    return order


def state(store: Store, url: str) -> str:
    row = store.resource(digest(url))
    assert row is not None, f"{url} is not known"
    return row.state


def recount(store: Store) -> None:
    """Compare every counter with the rows it counts."""
    rows = list(store.resources())
    bonds = {row.id: store.outlinks(row.id) for row in rows}
    counts = store.counts()
    assert counts.resources == {state.value: sum(row.state == state for row in rows) for state in State}
    assert counts.links == sum(map(len, bonds.values()))
    assert counts.documents == sum(store.text(row.id) is not None for row in rows)
    pointing = Counter(
        target
        for row in rows
        for target in {bond.url for bond in bonds[row.id] if bond.kind not in EMBED_NAMES and bond.url != row.url}
    )
    assert {row.url: row.backlinks for row in rows} == {row.url: pointing[row.url] for row in rows}
    hosts = store.hosts()
    assert counts.hosts == len(hosts)
    for host in hosts:
        own_rows = [row for row in rows if row.host == host.name]
        assert host.known == len(own_rows)
        assert host.queued == sum(row.state == "queued" for row in own_rows)
        visited = [row for row in own_rows if row.state == "visited" and row.role == "page"]
        assert host.pages == sum(row.outcome in PAGE_OUTCOMES for row in visited)
        assert host.failed == sum(row.state in {"failed", "gone"} for row in own_rows)
        assert host.holder or not any(row.state == "leased" for row in own_rows), "a host with leased URLs has a holder"
