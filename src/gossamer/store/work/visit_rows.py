"""A batch of finished visits without a database: their claims, and the rows they become."""

from __future__ import annotations

from itertools import chain, compress, count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from gossamer.model import (
    EMBEDS,
    PAGE_OUTCOMES,
    Candidate,
    Kind,
    Links,
    Outcome,
    Page,
    PageLink,
    Position,
    Rendering,
    Role,
    State,
)
from gossamer.store import columns
from gossamer.store.work.claims import ALL_STRENGTHS, STRENGTHS, distance, is_news
from gossamer.store.work.lease_rows import is_counted_sitemap
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Visit, VisitBatch
    from gossamer.store.work.counters import CounterDeltas
    from gossamer.store.work.url_cache import KnownResource

MAX_REDIRECT_CHAIN = 64  # redirects followed to find a loop; crawlers give up earlier
LINKS_NOT_STORED = -1  # resources.outlinks of a page whose links were followed and counted, but not stored
BACKLINK_KINDS = frozenset(int(kind) for kind in Kind if kind not in EMBEDS)
# The old content is gone after these.
REPLACING_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.REDIRECTED, Outcome.NOT_FOUND, Outcome.TYPE})
EMPTY_PAGE = Page(0, Outcome.FETCHED, "")
RENDERING_COLUMNS = Rendering.__struct_fields__  # of the table `renderings`, after `resource`


class LeasedRow(NamedTuple):
    """A stored resource that is leased to the submitting crawler."""

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
    visited_at: float | None  # by the visit before


class FinishedVisit(NamedTuple):
    """A visit, its resource, and the links it brought."""

    visit: Visit
    row: LeasedRow
    links: Links
    targets: list[bytes]  # digests of the targets of the links
    is_unchanged: bool = False  # it found the stored content again

    @property
    def replaces(self) -> bool:
        """Whether the visit replaces the stored content."""
        visit = self.visit
        has_news = visit.outcome in REPLACING_OUTCOMES and (
            visit.outcome is not Outcome.FETCHED or visit.page is not None
        )
        return has_news and not self.is_unchanged

    @property
    def state(self) -> State:
        """The new state of the resource; queued again if it became a page during a check."""
        return State.QUEUED if self.row.role != self.visit.lease.role else self.visit.state


# -- links -> resources ------------------------------------------------------------------------------------------------


def target_digests(finished: Sequence[FinishedVisit]) -> set[bytes]:
    """Return the digests of all targets of the visits."""
    redirects = {f.visit.redirect.digest for f in finished if f.visit.redirect is not None}
    return redirects.union(*(f.targets for f in finished if f.visit.redirect is None))


def collect_claims(
    finished: Sequence[FinishedVisit], linked: set[bytes], known: Mapping[bytes, KnownResource]
) -> list[Candidate]:
    """Return the claims of a batch that may be news."""
    redirects = [replace(f.visit.redirect, depth=f.row.depth) for f in finished if f.visit.redirect is not None]
    pages = sorted((f for f in finished if f.visit.redirect is None and f.targets), key=_target_distance)
    if not pages:
        return redirects
    claims = _first_claims(pages, _select_open_targets(linked, known, _target_distance(pages[0])))
    news = (
        (item, index)
        for (digest, strong), (item, index) in claims.items()
        if digest not in known or is_news(known[digest], strong, _target_distance(item))
    )
    by_page = groupby(news, key=lambda claim: claim[0].row.id)
    return [*chain.from_iterable(_link_candidates([*claimed]) for _, claimed in by_page), *redirects]


def finish_visit(visit: Visit, row: LeasedRow) -> FinishedVisit:
    """Return a visit with the links it brought: those of its page, or its redirect."""
    links = _visit_links(visit)
    return FinishedVisit(visit, row, links, links.digests)


def _visit_links(visit: Visit) -> Links:
    if (to := visit.redirect) is not None:
        return Links.pack([PageLink(to.digest, to.url, int(Kind.REDIRECT), position=int(Position.HEAD))])
    return visit.page.links if visit.page is not None and visit.outcome is Outcome.FETCHED else Links()


def _select_open_targets(linked: set[bytes], known: Mapping[bytes, KnownResource], nearest: int) -> set[bytes]:
    """Return the targets for which a claim at this distance could be news; most are settled."""
    settled = (digest for digest, it in known.items() if it.asked == ALL_STRENGTHS and it.distance <= nearest)
    return linked.difference(settled)


def _first_claims(
    pages: Sequence[FinishedVisit], open_targets: set[bytes]
) -> dict[tuple[bytes, int], tuple[FinishedVisit, int]]:
    """Return for each open target and strength the first claim: (visit, index of the link).

    The nearest pages come first. Redirects are not included (see `Visit.redirect`).
    """
    claims: dict[tuple[bytes, int], tuple[FinishedVisit, int]] = {}
    for item in pages:
        targets, kinds, follows = item.targets, item.links.kinds, item.links.follows
        for index in compress(count(), map(open_targets.__contains__, targets)):
            claim_strength = STRENGTHS[kinds[index], bool(follows[index])]
            claims.setdefault((targets[index], claim_strength), (item, index))
    return claims


def _target_distance(item: FinishedVisit) -> int:
    """Return the distance of the targets of a visit's links."""
    return distance(item.row.depth + 1, target_hops(item.row.role, item.row.hops))


def _link_candidates(claimed: Sequence[tuple[FinishedVisit, int]]) -> Iterator[Candidate]:
    """Yield some links of one page, given by their indexes, as candidates."""
    item = claimed[0][0]
    links, page = item.links, item.visit.page
    urls, kinds, follows, anchors = links.urls, links.kinds, links.follows, links.anchors
    for _, index in claimed:
        yield Candidate(
            url=urls[index], digest=item.targets[index], kind=Kind(kinds[index]), follow=bool(follows[index]),
            depth=item.row.depth + 1, hops=target_hops(item.row.role, item.row.hops), anchor=anchors[index],
            source_topic=page.topic if page else 0.0,
        )  # fmt: skip


def target_hops(role: str, hops: int) -> int:
    """Return the hops of a link's target.

    Entries of a sitemap are one hop further, so that sitemaps that list sitemaps come to an end.
    """
    return hops + 1 if role == Role.SITEMAP else 0


def stored_link_candidate(row: tuple[bytes, str, int, int, str, int, int, str, float]) -> Candidate:
    """Return a stored link as a candidate."""
    digest, url, kind, follow, anchor, depth, hops, role, topic = row  # the last four are its source's
    redirect = kind == Kind.REDIRECT
    return Candidate(
        url=url, digest=digest, kind=Kind(kind), follow=bool(follow), anchor=anchor, source_topic=topic,
        depth=depth if redirect else depth + 1, hops=hops + 1 if redirect else target_hops(role, hops),
    )  # fmt: skip


def backlink_targets(source: int, targets: Sequence[int], kinds: Sequence[int]) -> set[int]:
    """Return the other resources that a page leads a reader to, each once."""
    linked = set(compress(targets, map(BACKLINK_KINDS.__contains__, kinds)))
    linked.discard(source)
    return linked


# -- redirect loops ----------------------------------------------------------------------------------------------------


def without_loops(
    finished: Sequence[FinishedVisit],
    ids: Mapping[bytes, int],
    stored_redirect: Callable[[int], int | None],
    load_urls: Callable[[Sequence[int]], Mapping[int, str]],
) -> Iterator[FinishedVisit]:
    """Yield the visits; a redirect that leads back to its start becomes a failure with the loop as reason.

    `stored_redirect` returns the target of a stored redirect, `load_urls` the URLs of resources.
    """
    redirect_targets: dict[int, int | None] = {item.row.id: None for item in finished if item.replaces}
    for item in finished:
        candidate = item.visit.redirect
        if candidate is None:
            yield item
        elif loop := _redirect_loop(item.row.id, ids[candidate.digest], redirect_targets, stored_redirect):
            urls = load_urls(loop)
            reason = f"redirect loop: {' → '.join(urls[step] for step in loop)}"
            visit = replace(item.visit, outcome=Outcome.REDIRECT_LOOP, state=State.FAILED, reason=reason, redirect=None)
            yield item._replace(visit=visit)
        else:
            redirect_targets[item.row.id] = ids[candidate.digest]
            yield item


def _redirect_loop(
    source: int, target: int, redirect_targets: Mapping[int, int | None], stored_redirect: Callable[[int], int | None]
) -> list[int]:
    """Return the steps of a redirect loop through a resource, which is first and last; or an empty list.

    `redirect_targets` are the targets of this batch, as far as they are decided.
    """
    path = [source]
    while target != source:
        path.append(target)
        next_target = redirect_targets[target] if target in redirect_targets else stored_redirect(target)
        if next_target is None or next_target in path[1:] or len(path) > MAX_REDIRECT_CHAIN:
            return []
        target = next_target
    return [*path, source]


# -- rows --------------------------------------------------------------------------------------------------------------


def outcome_row(item: FinishedVisit, crawler: int) -> tuple[str, str, str, int, int, float, int]:
    """Return `columns.OUTCOME`."""
    visit = item.visit
    tries = item.row.tries + 1 if visit.state is State.QUEUED else 0
    return (
        item.state.value, visit.outcome.value, visit.reason, visit.status, tries, visit.visited_at, crawler,
    )  # fmt: skip


def visit_row(item: FinishedVisit, round_: int, crawler: int) -> tuple[int, int, float, int, str, int, int, int]:
    """Return the row of `visits`."""
    visit = item.visit
    return (
        item.row.id, round_, visit.visited_at, crawler, visit.outcome.value, visit.status, visit.bytes,
        visit.milliseconds,
    )  # fmt: skip


def count_finished(deltas: CounterDeltas, finished: Iterable[FinishedVisit]) -> None:
    """Count resources that were leased until their visit."""
    deltas.move(
        (
            (item.row.host, State.LEASED, item.row.role, item.row.outcome),
            (item.row.host, item.state, item.row.role, item.visit.outcome),
        )
        for item in finished
    )


def page_visits(finished: Sequence[FinishedVisit]) -> list[FinishedVisit]:
    """Return the visits that count as pages for the limits of a round."""
    return [f for f in finished if f.visit.lease.role is Role.PAGE and f.visit.outcome in PAGE_OUTCOMES]


def sitemap_requests(finished: Sequence[FinishedVisit], round_started_at: float) -> list[FinishedVisit]:
    """Return the visits that count for the limit of sitemaps."""
    sitemaps = (f for f in finished if f.visit.lease.role is Role.SITEMAP)
    return [f for f in sitemaps if is_counted_sitemap(f.row.visited_at, f.row.tries, round_started_at)]


def stores_links(item: FinishedVisit, batch: VisitBatch) -> bool:
    """Return whether links are stored; a redirect always is, because its target is known from nowhere else."""
    return batch.keep_links or item.visit.redirect is not None


def link_columns(item: FinishedVisit, targets: list[int]) -> tuple[Sequence[object], ...]:
    """Return the columns of `links`, in order of first occurrence."""
    links, number = item.links, len(targets)
    return (
        [item.row.id] * number, range(number), targets, links.kinds, links.follows, links.weights,
        links.positions, links.rels, links.anchors,
    )  # fmt: skip


def response_row(item: FinishedVisit) -> tuple[object, ...]:
    """Return `columns.RESPONSE` of a visit that brought content, new or unchanged, or found that there is none."""
    etag, last_modified = validators(item.visit)
    page = item.visit.page or EMPTY_PAGE
    return (etag or "", last_modified or "", *columns.response_of_visit(item.visit), *columns.response_of_page(page))


def content_row(item: FinishedVisit, batch: VisitBatch) -> tuple[object, ...]:
    """Return `columns.CONTENT` of new content: a page, or none."""
    visit, page = item.visit, item.visit.page or EMPTY_PAGE
    return (
        page.media_type or visit.media_type, _outlink_count(item, batch), *columns.content_of_visit(visit),
        *columns.content_of_page(page),
    )  # fmt: skip


def is_new_content(item: FinishedVisit) -> bool:
    """Return whether the visit replaces content by another; a rendered page may change while its source stays."""
    page = item.visit.page or EMPTY_PAGE
    return item.row.visits > 0 and (page.content_digest != item.row.content_digest or bool(page.rendered))


def rendering_rows(finished: Sequence[FinishedVisit]) -> tuple[list[tuple[object, ...]], list[int]]:
    """Return the rows of `renderings` to add, and unchanged pages whose rows must be deleted before."""
    pages = [(item, item.visit.page) for item in finished if item.visit.page is not None]
    rows = [
        (item.row.id, *(getattr(page.rendering, name) for name in RENDERING_COLUMNS))
        for item, page in pages
        if page.rendering is not None and (item.replaces or item.is_unchanged)
    ]
    return rows, [item.row.id for item, _ in pages if item.is_unchanged]


def stored_rendering(row: Sequence[Any] | None) -> Rendering | None:
    """Return a rendering from its row."""
    return None if row is None else Rendering(*row)


def retry_priority(item: FinishedVisit) -> float | None:
    """Return the lowest priority for a retry of a doubtful "not found", after the rest of its host."""
    is_retry = item.visit.outcome is Outcome.NOT_FOUND and item.visit.state is State.QUEUED
    return LOWEST_PRIORITY if is_retry else None


def _outlink_count(item: FinishedVisit, batch: VisitBatch) -> int:
    """Return how many links are stored, or `LINKS_NOT_STORED`."""
    if item.targets:
        return len(item.targets) if stores_links(item, batch) else LINKS_NOT_STORED
    return LINKS_NOT_STORED if item.row.outlinks == LINKS_NOT_STORED else 0


def validators(visit: Visit) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified, only for contents that a later "not modified" can refer to."""
    if visit.outcome not in PAGE_OUTCOMES:
        return None, None
    return visit.etag or None, visit.last_modified or None
