"""What a program does to a stored web: rank it, forget pages, copy it, write it to files.

Each action opens the store for writing itself, and closes it at its end.
"""

from __future__ import annotations

from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer import wiring
from gossamer.errors import IndexBusy, UsageError
from gossamer.files.atomic_file import open_atomic
from gossamer.files.tables import WRITERS
from gossamer.lookup import find_resource, stored_url_rules
from gossamer.ranking import ranking_lock
from gossamer.urls.canonical import authority, url_digest, urls_from_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.files.tables import Table
    from gossamer.graph.shape import Site
    from gossamer.library.link_graph import WebGraph
    from gossamer.store.copy import CopyResult
    from gossamer.store.follow.graph import Ranking
    from gossamer.store.protocol import Store

TABLES = ("links", "resources", "hosts", "visits", "ranks")
GRAPH_FORMATS = ("gexf", "graphml")


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


def table(store: Store, name: str) -> Table:
    """Return a table of a web, as `gossamer export` writes it."""
    from gossamer.files import export_tables  # noqa: PLC0415

    if name not in TABLES:
        raise UsageError(f"There is no table {name}; there are {', '.join(TABLES)}.")
    made: Table = getattr(export_tables, name)(store)
    return made


def export_table(store: Store, name: str, path: str | Path) -> int:
    """Write a table to a file, in the format of its suffix; return the number of rows."""
    form = Path(path).suffix.removeprefix(".")
    if form not in WRITERS:
        raise UsageError(f"The suffix of {path} names no format; there are .{', .'.join(WRITERS)}.")
    with open_atomic(Path(path)) as out:
        return WRITERS[form](table(store, name), out)


def export_graph(store: Store, graph: WebGraph, path: str | Path) -> int:
    """Write the link graph to a file, in the format of its suffix; return the number of nodes."""
    from gossamer.graph.export import xml_formats  # noqa: PLC0415

    form = Path(path).suffix.removeprefix(".")
    if form not in GRAPH_FORMATS:
        raise UsageError(f"The suffix of {path} names no format of graphs; there are .{', .'.join(GRAPH_FORMATS)}.")
    write = xml_formats.write_gexf if form == "gexf" else xml_formats.write_graphml
    with open_atomic(Path(path)) as out:
        write(xml_formats.page_export_graph(store, graph), out, f"Gossamer {version('gossamer')}")
    return graph.pages.nodes


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
