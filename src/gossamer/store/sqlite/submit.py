"""A batch of finished visits, written in one transaction.

The order: which visits still are this crawler's → an id for every link target, new ones admitted → redirects that run
in circles → contents and links replaced → the resources' own rows → smaller depths passed on → hosts and leases.
Statements run once for the whole batch (`executemany` over columns zipped together), never once per link.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, compress, count, islice, repeat
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from gossamer.model import Candidate, Kind, Links, Outcome, Page, Position, Role, State
from gossamer.store.base import Submitted
from gossamer.store.sqlite import history, rounds, schedule
from gossamer.store.sqlite.admission import EVERYTHING, STRENGTHS, Finder, as_json, distance, is_news, recall, settle
from gossamer.store.sqlite.crawlers import give_back
from gossamer.store.sqlite.depth import hops_from, pass_on
from gossamer.store.sqlite.forget import NOT_KEPT, change_backlinks, clear_contents, targets_of
from gossamer.store.sqlite.ledger import PAGE_OUTCOMES
from gossamer.store.sqlite.revisits import weigh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Admit, HostNote, Lease, Robots, Visit
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.sqlite.memory import Remembered

LONGEST_CHAIN = 64  # redirects followed to find a loop; crawlers give up long before
REPLACING = frozenset({Outcome.FETCHED, Outcome.REDIRECTED, Outcome.NOT_FOUND, Outcome.TYPE})  # what was there is gone
NO_PAGE = Page(0, Outcome.FETCHED, "")

HELD = """
    SELECT r.id, r.host, r.role, r.outcome, r.depth, r.hops, r.tries, r.visits, r.outlinks, r.content_digest
    FROM resources AS r JOIN hosts AS h ON h.id = r.host
    WHERE r.id IN (SELECT value FROM json_each(?)) AND r.state = 'leased' AND h.holder = ?"""
REDIRECT = "SELECT target FROM links WHERE source = ? AND seq = 0 AND kind = ?"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"
# Bonds are inserted 16 to a statement: 1.3 µs each, 2.0 alone. OR ROLLBACK, which a fault comes to in any case, spares
# SQLite a journal of its own for each statement of several rows; with that journal half of the gain would be lost.
LINKS_AT_ONCE = 16
_INSERT_LINKS = (
    "INSERT OR ROLLBACK INTO links (source, seq, target, kind, follow, weight, position, rel, anchor) VALUES"
)
_LINK = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_LINK = f"{_INSERT_LINKS} {_LINK}"
INSERT_LINKS = f"{_INSERT_LINKS} {', '.join([_LINK] * LINKS_AT_ONCE)}"
INSERT_VISIT = """
    INSERT INTO visits (resource, round, visited_at, crawler, outcome, status, bytes, milliseconds)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_VISITED = """
    UPDATE resources SET state = ?, outcome = ?, reason = ?, status = ?, tries = ?, visits = visits + 1,
        visited_at = ?, visited_by = ?, dated = ?, found = ?, gap = ?, quiet = ?, misled = ?, pace = ?"""
# What is derived from the store follows the version, so it moves only with what is derived: contents and links.
UPDATE_KEPT = f"""{_VISITED}, version = coalesce(version, ?), etag = coalesce(?, etag),
        last_modified = coalesce(?, last_modified), priority = coalesce(?, priority)
    WHERE id = ?"""
UPDATE_SAME = f"{_VISITED}, etag = ?, last_modified = ?, bytes = ?, content_digest = ? WHERE id = ?"
UPDATE_REPLACED = f"""{_VISITED}, version = ?, etag = ?, last_modified = ?, bytes = ?, media_type = ?, charset = ?,
        language = ?, title = ?, description = ?, canonical = ?, noindex = ?, nofollow = ?, content_digest = ?,
        text_digest = ?, topic = ?, outlinks = ?, changes = changes + ?
    WHERE id = ?"""
ROUND_PAGES = "UPDATE rounds SET pages = pages + ? WHERE id = ?"
HOST_PAGES = """
    UPDATE hosts SET round_pages = round_pages + ?1, spent = coalesce(round_pages + ?1 >= ?2, 0) WHERE id = ?3"""
UPSERT_ROBOTS = """
    INSERT INTO robots (host, scheme, outcome, text, fetched_at, reason)
    SELECT id, ?, ?, ?, ?, ? FROM hosts WHERE id = ?
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, text = excluded.text, fetched_at = excluded.fetched_at,
        reason = excluded.reason"""
NOTE_HOST = "UPDATE hosts SET ready_at = ?, delay = ?, failures = ?, reason = ? WHERE id = ? AND holder = ?"


class Held(NamedTuple):
    """A resource leased to the crawler that submits, as it is stored."""

    id: int
    host: int
    role: str
    outcome: str
    depth: int
    hops: int
    tries: int
    visits: int
    outlinks: int | None
    content_digest: bytes


class Finished(NamedTuple):
    """A visit, the row it is of, and the links it brought."""

    visit: Visit
    row: Held
    links: Links
    kept: bool = False  # it found what was there before

    @property
    def replaces(self) -> bool:
        """Whether what was stored of an earlier visit is no more."""
        visit = self.visit
        has_news = visit.outcome in REPLACING and (visit.outcome is not Outcome.FETCHED or visit.page is not None)
        return has_news and not self.kept

    @property
    def state(self) -> State:
        """Where the resource stands now. What became a page while it was only checked has its visit still to come."""
        return State.QUEUED if self.row.role != self.visit.lease.role else self.visit.state


class Batch(NamedTuple):
    """What is handed to `submit`."""

    visits: Sequence[Visit]
    hosts: Sequence[HostNote]
    robots: Sequence[Robots]
    released: Sequence[Lease]
    keep_links: bool


class Submission:
    """One batch on its way into the store."""

    def __init__(self, tx: Transaction, crawler: int, admit: Admit, now: float, old_sources: int = 0) -> None:
        """`old_sources` is how many bytes of replaced sources are kept."""
        self._tx = tx
        self._db = tx.db
        self._crawler = crawler
        self._finder = Finder(admit, now, crawler)
        self._limits = rounds.limits(tx.db)
        self._version = tx.meta["version"] + 1
        self._old_sources = old_sources

    def write(self, batch: Batch) -> Submitted:
        """Write it all."""
        finished = list(self._held(batch.visits))
        ids, shallower = self._settle_links(finished)
        finished = list(self._without_loops(finished, ids))
        weighed = weigh(self._db, finished, ids, keep_links=batch.keep_links)
        finished = weighed.finished
        if weighed.changes:
            history.write(self._tx, weighed.changes, self._version, self._old_sources)
        self._write_contents(finished, ids, batch)
        self._write_rows(finished, weighed.standings, batch)
        schedule.tell(self._db, (item.visit for item in finished), ids)
        self._count_pages(finished)
        pass_on(self._tx, shallower + self._came_nearer(finished), self._limits.max_depth, self._finder)
        self._release(batch.released)
        self._note(batch)
        resources = self._tx.meta.resources
        return Submitted(
            version=self._tx.meta["version"],
            known=sum(map(resources, State)),
            open=resources(State.QUEUED) + resources(State.LEASED),
            lost=len(batch.visits) - len(finished),
        )

    def _held(self, visits: Sequence[Visit]) -> Iterator[Finished]:
        """The visits whose lease is still ours. Another crawler has the others, or they were forgotten."""
        rows = self._rows_held(visit.lease.resource for visit in visits)
        for visit in visits:
            row = rows.pop(visit.lease.resource, None)
            if row is not None:
                yield Finished(visit, row, _links_of(visit))

    def _rows_held(self, ids: Iterable[int]) -> dict[int, Held]:
        rows = self._db.execute(HELD, (as_json(ids), self._crawler))
        return {row.id: row for row in map(Held._make, rows)}

    # -- links -> resources --------------------------------------------------------------------------------------------

    def _settle_links(self, finished: Sequence[Finished]) -> tuple[dict[bytes, int], list[int]]:
        """An id for every target, and the visited resources that are less deep now."""
        redirects = [replace(f.visit.redirect, depth=f.row.depth) for f in finished if f.visit.redirect is not None]
        pages = sorted((f for f in finished if f.visit.redirect is None and f.links.digests), key=_distance_from)
        linked = {candidate.digest for candidate in redirects}.union(*(page.links.digests for page in pages))
        known = recall(self._tx, linked)
        offers = _offers(pages, _unsettled(linked, known, _distance_from(pages[0]))) if pages else {}
        news = [
            _candidate(item, index)
            for (digest, strong), (item, index) in offers.items()
            if digest not in known or is_news(known[digest], strong, _distance_from(item))
        ]
        shallower = settle(self._tx, news + redirects, known, self._finder)
        return {digest: entry.id for digest, entry in known.items()}, shallower

    def _without_loops(self, finished: Sequence[Finished], ids: dict[bytes, int]) -> Iterator[Finished]:
        """Visits whose redirect leads back to where it came from are failures, with the circle as the reason."""
        ahead: dict[int, int | None] = {item.row.id: None for item in finished if item.replaces}
        for item in finished:
            candidate = item.visit.redirect
            if candidate is None:
                yield item
            elif circle := self._circle(item.row.id, ids[candidate.digest], ahead):
                reason = f"redirect loop: {' → '.join(circle)}"
                visit = replace(
                    item.visit, outcome=Outcome.REDIRECT_LOOP, state=State.FAILED, reason=reason, redirect=None
                )
                yield item._replace(visit=visit)
            else:
                ahead[item.row.id] = ids[candidate.digest]
                yield item

    def _circle(self, source: int, target: int, ahead: dict[int, int | None]) -> list[str]:
        """The URLs of a redirect loop through a resource, or nothing.

        `ahead` is where the resources of this batch lead by now, as far as they are decided; the links of others are
        stored.
        """
        path = [source]
        while target != source:
            path.append(target)
            stored = self._db.execute(REDIRECT, (target, int(Kind.REDIRECT))).fetchone()
            onward = ahead.get(target, stored[0] if stored else None)
            if onward is None or onward in path[1:] or len(path) > LONGEST_CHAIN:
                return []
            target = onward
        urls = dict(self._db.execute(URLS, (as_json(path),)))
        return [urls[step] for step in (*path, source)]

    # -- what the visits brought ---------------------------------------------------------------------------------------

    def _write_contents(self, finished: Sequence[Finished], ids: dict[bytes, int], batch: Batch) -> None:
        """Links, texts and sources in place of those of earlier visits."""
        replacing = [item for item in finished if item.replaces]
        backlinks = clear_contents(self._tx, [item.row.id for item in replacing if item.row.visits])
        linking = [(item, [*map(ids.__getitem__, item.links.digests)]) for item in replacing if item.links.digests]
        for item, targets in linking:
            if item.row.outlinks != NOT_KEPT:  # not known what to subtract: taken to be the same
                backlinks.update(targets_of(item.row.id, targets, item.links.kinds))
        change_backlinks(self._db, backlinks, self._limits.backlink_gain)
        kept = [pair for pair in linking if _keeps_links(pair[0], batch)]
        self._insert_links(kept)
        pages = [(item.row.id, item.visit.page) for item in replacing if item.visit.page is not None]
        texts = [(resource, page.text) for resource, page in pages if page.text]
        self._db.executemany("INSERT INTO texts (resource, body) VALUES (?, ?)", texts)
        self._tx.meta["documents"] += len(texts)
        pages += ((item.row.id, item.visit.page) for item in finished if item.kept and item.visit.page is not None)
        sources = ((resource, page.source) for resource, page in pages if page.source)
        self._db.executemany("INSERT OR REPLACE INTO sources (resource, body) VALUES (?, ?)", sources)

    def _insert_links(self, kept: Sequence[tuple[Finished, list[int]]]) -> None:
        """The bonds: what is left over of whole statements first, then `LINKS_AT_ONCE` at a time."""
        rows = chain.from_iterable(_link_rows(item, targets) for item, targets in kept)
        number = sum(len(targets) for _, targets in kept)
        self._db.executemany(INSERT_LINK, islice(rows, number % LINKS_AT_ONCE))
        values = chain.from_iterable(rows)
        self._db.executemany(INSERT_LINKS, zip(*[values] * INSERT_LINKS.count("?"), strict=True))
        self._tx.meta["links"] += number

    def _write_rows(
        self, finished: Sequence[Finished], standings: Mapping[int, schedule.Standing], batch: Batch
    ) -> None:
        """The resources themselves, and a row for each visit. Batches of host notes alone make no new version."""
        if finished:
            self._tx.meta["version"] = self._version
        replaced, same, kept = [], [], []
        for item in finished:
            row = (*self._outcome(item), *standings[item.row.id])
            if item.replaces:
                replaced.append((*row, self._version, *_content(item, batch)))
            elif item.kept and item.visit.page is not None:
                same.append((*row, *_same_content(item, item.visit.page)))
            else:
                kept.append((*row, self._version, *_validators(item.visit), _priority(item), item.row.id))
        self._db.executemany(UPDATE_REPLACED, replaced)
        self._db.executemany(UPDATE_SAME, same)
        self._db.executemany(UPDATE_KEPT, kept)
        self._db.executemany(INSERT_VISIT, (self._visit_row(item) for item in finished))
        for item in finished:
            row = item.row
            self._tx.ledger.leave(row.host, State.LEASED, row.role, row.outcome)
            self._tx.ledger.enter(row.host, item.state, row.role, item.visit.outcome)

    def _outcome(self, item: Finished) -> tuple[object, ...]:
        visit, state = item.visit, item.state
        tries = item.row.tries + 1 if visit.state is State.QUEUED else 0
        return (
            state.value, visit.outcome.value, visit.reason, visit.status, tries, visit.visited_at, self._crawler,
        )  # fmt: skip

    def _visit_row(self, item: Finished) -> tuple[object, ...]:
        visit = item.visit
        return (
            item.row.id, self._limits.round, visit.visited_at, self._crawler, visit.outcome.value, visit.status,
            visit.bytes, visit.milliseconds,
        )  # fmt: skip

    def _count_pages(self, finished: Sequence[Finished]) -> None:
        """The round's pages, which its limits are about."""
        pages = [f for f in finished if f.visit.lease.role is Role.PAGE and f.visit.outcome in PAGE_OUTCOMES]
        self._db.execute(ROUND_PAGES, (len(pages), self._limits.round))
        hosts = Counter(item.row.host for item in pages)
        most = self._limits.max_pages_per_host
        self._db.executemany(HOST_PAGES, ((number, most, host) for host, number in hosts.items()))

    # -- depth ---------------------------------------------------------------------------------------------------------

    def _came_nearer(self, finished: Sequence[Finished]) -> list[int]:
        """Resources of this very batch that its other pages found at a smaller depth than they were leased with."""
        if self._limits.max_depth is None:
            return []
        before = {item.row.id: item.row.depth for item in finished}
        rows = self._db.execute(
            "SELECT id, depth FROM resources WHERE id IN (SELECT value FROM json_each(?))", (as_json(before),)
        )
        return [resource for resource, depth in rows if depth < before[resource]]

    # -- hosts and leases ----------------------------------------------------------------------------------------------

    def _release(self, leases: Sequence[Lease]) -> None:
        """Leases given back unused."""
        rows = self._rows_held(lease.resource for lease in leases)
        for row in rows.values():
            self._tx.ledger.leave(row.host, State.LEASED, row.role, row.outcome)
            self._tx.ledger.enter(row.host, State.QUEUED, row.role, row.outcome)
        self._db.executemany("UPDATE resources SET state = 'queued' WHERE id = ?", ((resource,) for resource in rows))

    def _note(self, batch: Batch) -> None:
        """What was learned of hosts, and hosts given back."""
        robots = ((r.scheme, r.outcome, r.text, r.fetched_at, r.reason, r.host) for r in batch.robots)
        self._db.executemany(UPSERT_ROBOTS, robots)
        notes = ((n.ready_at, n.delay, n.failures, n.reason, n.host, self._crawler) for n in batch.hosts)
        self._db.executemany(NOTE_HOST, notes)
        unwanted = as_json(note.host for note in batch.hosts if not note.keep)
        held = "SELECT id FROM hosts WHERE holder = ? AND id IN (SELECT value FROM json_each(?))"
        give_back(self._tx, [host for (host,) in self._db.execute(held, (self._crawler, unwanted))])


# -- pure helpers ------------------------------------------------------------------------------------------------------


def _links_of(visit: Visit) -> Links:
    """The bonds a visit brought: those of its page, or its redirect."""
    if (to := visit.redirect) is not None:
        return Links([to.digest], [to.url], [int(Kind.REDIRECT)], [True], [""], [1], [""], [int(Position.HEAD)])
    return visit.page.links if visit.page is not None and visit.outcome is Outcome.FETCHED else Links()


def _unsettled(linked: set[bytes], known: Mapping[bytes, Remembered], nearest: int) -> set[bytes]:
    """The targets on which a claim from so near could be news. Of most there is nothing left to say."""
    settled = (digest for digest, it in known.items() if it.asked == EVERYTHING and it.distance <= nearest)
    return linked.difference(settled)


def _offers(pages: Sequence[Finished], wanted: set[bytes]) -> dict[tuple[bytes, int], tuple[Finished, int]]:
    """For every wanted target and strength of claim, where such a claim is first made: (visit, number of the bond).

    The nearest pages come first. Redirects are not among them, they speak for themselves (see `Visit.redirect`).
    """
    offers: dict[tuple[bytes, int], tuple[Finished, int]] = {}
    for item in pages:
        links = item.links
        for index in compress(count(), map(wanted.__contains__, links.digests)):
            strong = STRENGTHS[links.kinds[index], links.follows[index]]
            offers.setdefault((links.digests[index], strong), (item, index))
    return offers


def _distance_from(item: Finished) -> int:
    """How far the targets of a visit's links are."""
    return distance(item.row.depth + 1, hops_from(item.row.role, item.row.hops))


def _candidate(item: Finished, index: int) -> Candidate:
    links, page = item.links, item.visit.page
    return Candidate(
        url=links.urls[index], digest=links.digests[index], kind=Kind(links.kinds[index]), follow=links.follows[index],
        depth=item.row.depth + 1, hops=hops_from(item.row.role, item.row.hops),
        anchor=links.anchors[index] if links.anchors else "", source_topic=page.topic if page else 0.0,
    )  # fmt: skip


def _keeps_links(item: Finished, batch: Batch) -> bool:
    """A redirect is always kept: without it nobody could tell where the resource leads."""
    return batch.keep_links or item.visit.redirect is not None


def _link_rows(item: Finished, targets: list[int]) -> Iterable[tuple[object, ...]]:
    links, number = item.links, len(targets)
    return zip(
        repeat(item.row.id, number), range(number), targets, links.kinds, map(int, links.follows), links.weights,
        links.positions, links.rels, links.anchors, strict=True,
    )  # fmt: skip


def _content(item: Finished, batch: Batch) -> tuple[object, ...]:
    """The columns that a new content brings, those of a page or of nothing."""
    visit, page = item.visit, item.visit.page or NO_PAGE
    etag, last_modified = _validators(visit)
    changed = item.row.visits > 0 and page.content_digest != item.row.content_digest
    return (
        etag or "", last_modified or "", visit.bytes, page.media_type or visit.media_type, page.charset, page.language,
        page.title, page.description, page.canonical, int(page.noindex), int(page.nofollow), page.content_digest,
        page.text_digest, page.topic, _outlinks(item, batch), int(changed), item.row.id,
    )  # fmt: skip


def _same_content(item: Finished, page: Page) -> tuple[object, ...]:
    """The columns that a content brings which says the same as the one before."""
    etag, last_modified = _validators(item.visit)
    return etag or "", last_modified or "", item.visit.bytes, page.content_digest, item.row.id


def _priority(item: Finished) -> float | None:
    """What is not believed to be gone is asked again when the rest of its host is done."""
    again = item.visit.outcome is Outcome.NOT_FOUND and item.visit.state is State.QUEUED
    return rounds.LAST_OF_ALL if again else None


def _outlinks(item: Finished, batch: Batch) -> int:
    """How many links are stored of it, or that it is not known any more which ones count."""
    if item.links.digests:
        return len(item.links.digests) if _keeps_links(item, batch) else NOT_KEPT
    return NOT_KEPT if item.row.outlinks == NOT_KEPT else 0


def _validators(visit: Visit) -> tuple[str | None, str | None]:
    """ETag and Last-Modified, only of contents that a later "not modified" could refer to."""
    if visit.outcome not in PAGE_OUTCOMES:
        return None, None
    return visit.etag or None, visit.last_modified or None
