"""A stored web, for programs: what it holds, what it answers, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec

from gossamer import wiring
from gossamer.files.tables import Column, Table, field_columns
from gossamer.library import actions, export
from gossamer.library.answers import RowList, Rows, dict_rows, struct_rows
from gossamer.library.frames import ROWS_SHOWN, to_html
from gossamer.lookup import find_resource, stored_url_rules
from gossamer.model import PAGE_OUTCOMES, Role, State
from gossamer.store.read.rank_state import read_rank_state
from gossamer.store.values import ErrorRow, HostRow, LinkRow, ResourceRow, VisitRow
from gossamer.urls.canonical import url_digest, urls_from_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from gossamer.graph.reports.audit import Audit
    from gossamer.graph.shape import Shape, Site
    from gossamer.index.protocol import IndexReader
    from gossamer.index.word_table import DocumentOrder, WordEntry
    from gossamer.library.found_pages import FoundPages
    from gossamer.library.link_graph import WebGraph
    from gossamer.model import Field
    from gossamer.search.service import Searcher
    from gossamer.store.copy import CopyResult
    from gossamer.store.follow.graph import Ranking, Ranks
    from gossamer.store.protocol import Store
    from gossamer.store.read.rank_state import RankState
    from gossamer.store.values import Counts, VisitedTotals

SHOWN_OF_HOSTS = frozenset({"name", "pages", "known", "queued", "failed"})  # in a notebook
RELATED_PAGES = 20  # of `Web.related` without a limit
COMMUNITIES = 10  # of `Web.shape` without a limit


class Web:
    """A stored web. Reading methods share one open store; those that change it open it again for writing."""

    def __init__(self, store: Store, place: str) -> None:
        self._store = store
        self._location = place
        self._reader: IndexReader | None = None

    def __repr__(self) -> str:
        return f"<Web {self._location}: {self.totals().describe()}>"

    def _repr_html_(self) -> str:
        """Return the web as a notebook shows it: its size, and its hosts with most pages."""
        columns = [column for column in field_columns(HostRow) if column.name in SHOWN_OF_HOSTS]
        rows = [[getattr(host, column.name) for column in columns] for host in self._store.hosts(ROWS_SHOWN)]
        return f"<p>{self.totals().describe()}</p>{to_html(Table(columns=columns, rows=rows))}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and the index."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._store.close()

    # -- what the web holds --------------------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Return the numbers of resources, hosts and links."""
        return self._store.counts()

    def totals(self) -> VisitedTotals:
        """Return how many pages were visited, on how many hosts, and how many hosts are only linked to."""
        return self._store.visited_totals()

    def page(self, url: str) -> ResourceRow | None:
        """Return a resource; None if it is not known."""
        rules = stored_url_rules(self._store)
        return next(
            (row for each in urls_from_input(url) if (row := self._store.resource(url_digest(each, rules)))), None
        )

    def pages(self) -> Rows[ResourceRow]:
        """Return all visited pages, without sitemaps, redirects and checked links."""

        def read() -> Iterator[ResourceRow]:
            visited = self._store.resources(State.VISITED)
            return (row for row in visited if row.role == Role.PAGE and row.outcome in PAGE_OUTCOMES)

        return struct_rows("pages", ResourceRow, read)

    def resources(self) -> Rows[ResourceRow]:
        """Return all known resources."""
        return struct_rows("resources", ResourceRow, self._store.resources)

    def hosts(self) -> RowList[HostRow]:
        """Return all hosts."""
        return RowList(HostRow, self._store.hosts())

    def errors(self) -> Rows[ErrorRow]:
        """Return the resources that could not be visited, with reasons."""
        return struct_rows("errors", ErrorRow, self._store.errors)

    def inlinks(self, url: str) -> RowList[LinkRow]:
        """Return the links to a resource."""
        return RowList(LinkRow, self._store.inlinks(self._resource_id(url)))

    def outlinks(self, url: str) -> RowList[LinkRow]:
        """Return the links of a page."""
        return RowList(LinkRow, self._store.outlinks(self._resource_id(url)))

    def visits(self, url: str) -> RowList[VisitRow]:
        """Return the visits of a resource."""
        return RowList(VisitRow, self._store.visits(self._resource_id(url)))

    def fields(self, url: str) -> list[tuple[Field, str]]:
        """Return the text of a page by field."""
        return self._store.text(self._resource_id(url)) or []

    def source(self, url: str) -> bytes | None:
        """Return the stored source of a page; None if there is none."""
        return self._store.source(self._resource_id(url))

    def report(self, name: str, *, url: str = "", since: float = 0.0) -> Rows[dict[str, object]]:
        """Return the rows of a report (docs/reference/reports.md), by its name or code.

        `url` is for reports about one resource, `since` (Unix time) for reports about changes.
        """
        from gossamer.graph.reports import run_report  # noqa: PLC0415 - many programs run no report
        from gossamer.graph.reports.base import column_type  # noqa: PLC0415
        from gossamer.graph.reports.registry import select_reports  # noqa: PLC0415

        resource = self._resource_id(url) if url else None
        run_report(self._store, name, resource=resource, since=since)  # refuses a report that cannot be made, now
        columns = [Column(each, column_type(each)) for each in select_reports([name])[0].columns]
        return dict_rows(name, columns, lambda: run_report(self._store, name, resource=resource, since=since))

    def audit(self) -> Audit:
        """Return the health score and the findings of all reports, worst first, as `gossamer report` shows them.

        Counts for the present state of the web are kept. Others are made now, which takes minutes on a big web.
        """
        return actions.audit(self._store, self._location)

    def table(self, name: str) -> Rows[dict[str, object]]:
        """Return a table with the columns of `gossamer export`: links, resources, hosts, visits or ranks."""
        columns = export.table(self._store, name).columns
        names = [column.name for column in columns]

        def read() -> Iterator[dict[str, object]]:
            return (dict(zip(names, row, strict=True)) for row in export.table(self._store, name).rows)

        return dict_rows(name, columns, read)

    # -- the link graph ------------------------------------------------------------------------------------------------

    def rank(self, **options: object) -> Ranking:
        """Compute ranks and write them to the store: `measures`, `alpha`, `weighted`, `include_unvisited`."""
        return actions.rank(self._location, options)

    def ranking(self) -> Ranking | None:
        """Return when and how the ranks were computed; None if there are none."""
        return self._store.ranking()

    def rank_state(self) -> RankState | None:
        """Return how current the ranks are; None if there are none."""
        return read_rank_state(self._store)

    def ranks(self, url: str) -> Ranks | None:
        """Return the ranks of a page; None if it was not ranked."""
        return self._store.ranks(self._resource_id(url))

    def graph(self, *, include_unvisited: bool = False) -> WebGraph:
        """Return the links between visited pages as memory-mapped arrays."""
        from gossamer.graph import arrays, snapshot  # noqa: PLC0415 - numpy and scipy are loaded only when needed
        from gossamer.library.link_graph import WebGraph  # noqa: PLC0415

        with arrays.graph_directory(self._location) as directory:
            graph = snapshot.open_graph(self._store, directory, include_unvisited=include_unvisited)
        return WebGraph(graph, self._store)

    def shape(self, *, communities: int = COMMUNITIES) -> Shape:
        """Return components, depths and communities of the web in numbers."""
        from gossamer.graph.shape import measure_shape  # noqa: PLC0415

        return measure_shape(self.graph(), self._store, communities)

    def site(self, host: str) -> Site:
        """Return a host with the hosts that it links to or that link to it."""
        return actions.site(self._store, self._location, host)

    def related(self, url: str, limit: int = RELATED_PAGES) -> list[dict[str, Any]]:
        """Return pages that the same pages link to: `url`, `together`, `similarity`, most similar first."""
        return actions.related(self._store, self.graph(), url, limit)

    # -- the index -----------------------------------------------------------------------------------------------------

    def word(self, word: str, *, order: DocumentOrder = "frequency", page: int = 1, limit: int = 20) -> WordEntry:
        """Return a word's entry in the word table, with one page of its documents."""
        from gossamer.index.word_table import WordTable  # noqa: PLC0415 - numpy and Tantivy are loaded only when needed

        return WordTable(self._store, self._index()).entry(word, order=order, page=page, limit=limit)

    def search(self, text: str, *, page: int = 1, limit: int = 10, explain: bool = False) -> FoundPages:
        """Search with the query language; pages count from 1. Iterating over the answer gives its hits."""
        from gossamer.library.found_pages import FoundPages  # noqa: PLC0415 - numpy and Tantivy, as above

        answer = self._searcher().search(text, page=page, limit=limit, explain=explain)
        return FoundPages(**msgspec.structs.asdict(answer))

    def complete(self, text: str, limit: int = 8) -> list[str]:
        """Return completions of a query's last word, each with the whole query."""
        return self._searcher().complete(text, limit)

    def _searcher(self) -> Searcher:
        return wiring.build_searcher(self._store, self._index(), self._location)

    def _index(self) -> IndexReader:
        """Return a reader of the last commit of the index."""
        if self._reader is not None and not self._reader.is_current():
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._reader = wiring.open_index(self._location)
        return self._reader

    # -- changes and files ---------------------------------------------------------------------------------------------

    def forget(self, what: str) -> int:
        """Remove a page (a URL) or a host (a bare name) with everything about it; return how many resources."""
        return actions.forget(self._location, what)

    def copy(self, to: str | Path, on_progress: Callable[[str], None] = lambda _: None) -> CopyResult:
        """Copy the web to a directory or database that holds none, and compare the copy."""
        return actions.copy(self._location, str(to), on_progress)

    def export(self, what: str, path: str | Path) -> int:
        """Write a table or "words" (.csv, .jsonl, .parquet), the "graph" (.gexf, .graphml), a "picture" (.svg, .png),
        "files" (into a folder) or a "warc" archive; return the number of rows, nodes or pages.
        """
        match what:
            case "graph":
                return export.write_graph(self._store, self.graph(), path)
            case "picture":
                return export.write_picture(self._store, self.graph(), path)
            case "files":
                return export.write_files(self._store, path)
            case "warc":
                return export.write_warc(self._store, path)
            case "words":
                return export.write_table(export.words_table(self._store, self._location), path)
        return export.write_table(export.table(self._store, what), path)

    def _resource_id(self, url: str) -> int:
        return find_resource(self._store, url).id


def open_web(place: str | Path = "web") -> Web:
    """Open a stored web for reading."""
    return Web(wiring.open_store(str(place), read_only=True), str(place))
