"""What a program does to a stored web: rank it, forget pages, copy it, count its findings.

Each action opens the store for writing itself, and closes it at its end.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer import wiring
from gossamer.errors import IndexBusy, UsageError
from gossamer.lookup import find_resource, stored_url_rules
from gossamer.ranking import ranking_lock
from gossamer.urls.canonical import authority, url_digest, urls_from_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.graph.reports.audit import Audit
    from gossamer.graph.shape import Site
    from gossamer.library.link_graph import WebGraph
    from gossamer.store.copy import CopyResult
    from gossamer.store.follow.graph import Ranking
    from gossamer.store.protocol import Store


def rank(location: str, options: dict[str, object]) -> Ranking:
    """Compute the ranks of a web and write them; wait for another process that does so."""
    from gossamer.graph import arrays  # noqa: PLC0415 - numpy and scipy are loaded only when needed
    from gossamer.graph.ranking import rank_web  # noqa: PLC0415

    rank_options = msgspec.convert(options, rank_web.RankOptions)
    with (
        closing(wiring.open_store(location)) as store,
        arrays.graph_directory(location) as directory,
        ranking_lock(directory),
    ):
        return rank_web.rank_web(store, directory, rank_options)


def forget(location: str, what: str) -> int:
    """Remove a page (a URL) or a host (a bare name) with everything stored about it; return how many resources."""
    with closing(wiring.open_store(location)) as store:
        count = _forget_page(store, what) if "/" in what else _forget_host(store, what)
        _remove_from_index(store, location)
    return count


def _forget_page(store: Store, url: str) -> int:
    row = find_resource(store, url)
    return store.forget(url_digest=url_digest(row.url, stored_url_rules(store)))


def _forget_host(store: Store, name: str) -> int:
    names = {authority(url) for url in urls_from_input(name)}
    host = next((each for each in store.every_host() if each.name in names), None)
    if host is None:
        raise UsageError(f"{name} is not a host of this web.")
    if host.holder in {each.name for each in store.crawlers() if each.state not in {"stopped", "lost"}}:
        raise UsageError(f"{host.holder} is visiting {host.name}. Stop this crawler first.")
    return store.forget(host=host.name)


def _remove_from_index(store: Store, location: str) -> None:
    """Bring the index up to date; a process that writes it now removes the documents too."""
    if not wiring.has_index(location):
        return
    from gossamer.index.build import update_index  # noqa: PLC0415 - few programs forget

    try:
        update_index(store, lambda: wiring.open_index_writer(location))
    except IndexBusy:
        return


def copy(location: str, to: str, on_progress: Callable[[str], None]) -> CopyResult:
    """Copy a web to another directory or database, and compare the copy."""
    return wiring.copy_web(location, to, on_progress)


def audit(store: Store, location: str) -> Audit:
    """Return the health score and the findings of all reports; count first what has no count for the present state."""
    from gossamer.auditing import count_reports  # noqa: PLC0415 - few programs count
    from gossamer.graph.reports import audit as audits  # noqa: PLC0415
    from gossamer.graph.reports.audit_file import counts_directory, read_counts, web_state  # noqa: PLC0415
    from gossamer.graph.reports.base import find_missing_data  # noqa: PLC0415

    lacking = find_missing_data(store, audits.COUNTED_REPORTS)
    possible = [each for each in audits.COUNTED_REPORTS if each.code not in lacking or not lacking[each.code].is_total]
    directory = counts_directory(location)
    stored = read_counts(directory) if directory else audits.StoredCounts()
    if outdated := stored.find_outdated(web_state(store), possible):
        stored = count_reports(location, store, outdated, directory)
    return audits.make_audit(stored, web_state(store), lacking)


def site(store: Store, location: str, host: str) -> Site:
    """Return a host with its neighbours."""
    from gossamer.graph.arrays import graph_directory  # noqa: PLC0415 - numpy and scipy are loaded only when needed
    from gossamer.graph.bonds import open_bonds  # noqa: PLC0415
    from gossamer.graph.shape import measure_site  # noqa: PLC0415

    number = store.host_id(host.lower())
    if number is None:
        raise UsageError(f"{host} is not a host of this web.")
    with graph_directory(location) as directory:
        return measure_site(store, open_bonds(store, directory), number)


def related(store: Store, graph: WebGraph, url: str, limit: int) -> list[dict[str, Any]]:
    """Return pages that the same pages link to as a page."""
    from gossamer.graph.structure import related_pages  # noqa: PLC0415

    row = find_resource(store, url)
    pages = graph.pages_of([row.id])
    if not len(pages):
        raise UsageError(f"{row.url} is not in the graph because it was not visited. Crawl it first.")
    return [
        {"url": graph.url(one.page), "together": one.together, "similarity": round(one.similarity, 4)}
        for one in related_pages(graph.pages, int(pages[0]), limit)
    ]
