"""The commands `rank`, `shape` and `related`, which analyse the link graph."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import escape_hidden, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import json_option, limit_option, open_web, store_option
from gossamer.cli.output import (
    DIM,
    TerminalColumn,
    json_text,
    print_heading,
    print_line,
    print_message,
    row_limit,
    with_style,
)
from gossamer.cli.pager import wide_option
from gossamer.cli.report_table import write_url_table
from gossamer.errors import UsageError
from gossamer.lookup import find_resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.graph.ranking.rank_web import Nearness, RankOptions
    from gossamer.graph.shape import Shape, Site
    from gossamer.store.follow.graph import RankedHost, RankedPage, Ranking
    from gossamer.store.protocol import Store

LINKED = "the most linked of them"  # column of a community
DEFAULT_ROWS = 20  # without --limit
MEASURES = ("hits", "harmonic", "depth", "components", "communities", "cores")
REQUIRED_MEASURES = {"authority": "hits", "hub": "hits", "core": "cores"}  # order -> the measure that computes it
ORDERS = ("pagerank", "authority", "hub", "harmonic", "indegree", "outdegree", "in_weight", "core")


@contextmanager
def _show_progress() -> Iterator[Callable[[str], None]]:
    from gossamer.cli.output import ProgressLine

    progress_line = ProgressLine()
    try:
        yield progress_line.update
    finally:
        progress_line.close()


# -- rank --------------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@click.option("--only", multiple=True, type=click.Choice([*MEASURES, "pagerank"]), metavar="MEASURE",
              help=f"Beside PageRank and degrees, compute only this: {', '.join(MEASURES)}.")  # fmt: skip
@click.option("--by", type=click.Choice(ORDERS), default="pagerank", show_default=True, metavar="MEASURE",
              help=f"Order the pages by this: {', '.join(ORDERS)}.")  # fmt: skip
@click.option("--hosts", "by_host", is_flag=True, help="Show hosts instead of pages.")
@click.option("--near", multiple=True, metavar="URL",
              help="Show importance as seen from this page; stores nothing. Can be given again.")  # fmt: skip
@click.option("--weighted", is_flag=True, help="Count a link as often as it occurs on a page.")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.85, show_default=True,
              metavar="SHARE",
              help="Share of steps in which the random reader follows a link instead of jumping.")  # fmt: skip
@click.option("--include-unvisited", is_flag=True, help="Also rank URLs that are linked but not visited.")
@wide_option
@limit_option
@store_option
@json_option
def rank(
    only: tuple[str, ...], by: str, by_host: bool, near: tuple[str, ...], weighted: bool, alpha: float,
    include_unvisited: bool, wide: bool, limit: int | None, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Compute the importance of pages and hosts from their links, and the structure of the graph.

    The command stores PageRank, hubs and authorities, degrees, harmonic centrality, click depth, components,
    communities and cores. Search, exports and `gossamer page` use them. It reads only changes since the last run. In a
    web that is not completely visited, ranks are estimates; the command prints the visited share.

    \b
    JSON: {"ranking": {"pages", "links", "hosts", "visited", "known", "visited_share", ...},
           "pages": [{"url", "title", "ranks": {"pagerank", "score", ...}}],
           "hosts": [{"name", "ranks": {...}}]}
    JSON with --near: {"near": [url], "pages": [{"url", "pagerank", "score"}]}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.ranking.rank_web import RankOptions, rank_web
    from gossamer.ranking import ranking_lock

    options = RankOptions(
        measures=tuple(name for name in MEASURES if not only or name in only), weighted=weighted, alpha=alpha,
        include_unvisited=include_unvisited,
    )  # fmt: skip
    if REQUIRED_MEASURES.get(by, by) in {*MEASURES} - {*options.measures}:
        raise UsageError(f"--by {by} needs --only {REQUIRED_MEASURES.get(by, by)} as well.")
    max_rows = DEFAULT_ROWS if limit is None else limit or sys.maxsize
    if near:
        _rank_near(store, near, options, max_rows, wide=wide, as_json=as_json)
        return
    with open_web(store, write=True) as web, graph_directory(store) as directory:
        with _show_progress() as on_progress, ranking_lock(directory, on_progress):
            ranking = rank_web(web, directory, options, on_progress)
        pages = [] if by_host else web.ranked_pages(by, max_rows)
        hosts = web.ranked_hosts(max_rows) if by_host or as_json else []
    if as_json:
        print_line(json_text(_json_fields(ranking, pages, hosts), indent=2))
        return
    _print_hosts(hosts, wide=wide) if by_host else _print_pages(pages, by, wide=wide)
    _print_ranking(ranking)


def _json_fields(ranking: Ranking, pages: Sequence[RankedPage], hosts: Sequence[RankedHost]) -> dict[str, object]:
    import msgspec

    facts = msgspec.to_builtins(ranking) | {"visited_share": round(ranking.visited_share, 4)}
    return {"ranking": facts, "pages": pages, "hosts": hosts}


def _rank_near(
    location: str, urls: Sequence[str], options: RankOptions, limit: int, *, wide: bool, as_json: bool
) -> None:
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.ranking.rank_web import pages_near
    from gossamer.graph.snapshot import open_graph

    with open_web(location) as web, graph_directory(location) as directory:
        start_rows = [find_resource(web, url) for url in urls]
        with _show_progress() as on_progress:
            graph = open_graph(web, directory, include_unvisited=options.include_unvisited, on_progress=on_progress)
            nearest = pages_near(graph, [row.id for row in start_rows], options, limit)
    if as_json:
        print_line(json_text({"near": [row.url for row in start_rows], "pages": nearest}, indent=2))
        return
    _print_nearness(nearest, wide=wide)


def _print_nearness(pages: Sequence[Nearness], *, wide: bool) -> None:
    columns = [
        TerminalColumn("score", align="right"),
        TerminalColumn("pagerank", align="right"),
        TerminalColumn("url", cut="middle"),
    ]
    write_url_table(columns, ((f"{page.score:.1f}", f"{page.pagerank:.6f}", page.url) for page in pages), wide=wide)


def _print_pages(pages: Sequence[RankedPage], by: str, *, wide: bool) -> None:
    columns = [
        TerminalColumn("score", align="right"), TerminalColumn("pagerank", align="right", drop=1),
        TerminalColumn("in", align="right"), TerminalColumn("out", align="right", drop=3),
        TerminalColumn("depth", align="right", drop=2), *_extra_columns(by), TerminalColumn("url", cut="middle"),
        TerminalColumn("title", cut="end"),
    ]  # fmt: skip
    rows = []
    for page in pages:
        ranks = page.ranks
        depth = "" if ranks.depth is None else ranks.depth
        extra = [_format_number(getattr(ranks, by))] if _extra_columns(by) else []
        rows.append(
            (f"{ranks.score:.1f}", f"{ranks.pagerank:.6f}", ranks.indegree, ranks.outdegree, depth, *extra, page.url,
             page.title)
        )  # fmt: skip
    write_url_table(columns, rows, wide=wide)


def _extra_columns(by: str) -> list[TerminalColumn]:
    """Return a column for the order, unless the table has it anyway."""
    return [] if by in {"pagerank", "indegree", "outdegree"} else [TerminalColumn(by, align="right")]


def _format_number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}" if value < 1 else f"{value:,.1f}"


def _print_hosts(hosts: Sequence[RankedHost], *, wide: bool) -> None:
    columns = [
        TerminalColumn("score", align="right"), TerminalColumn("pagerank", align="right", drop=1),
        TerminalColumn("pages", align="right"), TerminalColumn("in", align="right"),
        TerminalColumn("out", align="right"), TerminalColumn("links in", align="right", drop=2),
        TerminalColumn("links out", align="right", drop=3), TerminalColumn("host", cut="middle"),
    ]  # fmt: skip
    rows = (
        (f"{r.score:.1f}", f"{r.pagerank:.6f}", f"{r.pages:,}", r.indegree, r.outdegree, r.in_weight, r.out_weight, h)
        for h, r in ((host.name, host.ranks) for host in hosts)
    )
    write_url_table(columns, rows, wide=wide)


def _print_ranking(ranking: Ranking) -> None:
    amounts = (
        f"{pluralize(ranking.pages, 'page')} on {pluralize(ranking.hosts, 'host')}, {pluralize(ranking.links, 'link')}"
    )
    print_message(f"Ranked {amounts}; PageRank took {pluralize(ranking.iterations, 'iteration')}.")
    if ranking.harmonic not in {"", "exact"}:
        print_message(f"Harmonic centrality is {ranking.harmonic}.")
    if ranking.visited < ranking.known:
        share = int(100 * ranking.visited_share)  # rounded down, so that 100 % means all
        print_message(
            f"Of {pluralize(ranking.known, 'page')} in scope, {ranking.visited:,} were visited ({share} %):"
            " ranks are estimates."
        )


# -- shape -------------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@click.argument("host", required=False)
@wide_option
@limit_option
@store_option
@json_option
def shape(host: str | None, wide: bool, limit: int | None, store: str, as_json: bool) -> None:
    """Show components, depth and communities of a web; with a HOST, that site and its neighbours.

    The figures describe the links between visited pages: strong components, the bow-tie around the biggest one, clicks
    from the seeds, communities and cores. With a HOST, the command lists the hosts that it links to or that link to it,
    visited or not.

    \b
    JSON: {"pages", "links", "hosts", "components", "biggest_component",
           "bowtie": {"core", "in", "out", "tube", "tendril", "apart"}, "depths": {clicks: pages},
           "unreached", "modularity", "communities": [{"number", "name", "pages", "examples"}], "deepest_core", ...}
    JSON with a HOST: {"host", "pages", "links", "weight", "neighbours":
           [{"host", "links_out", "weight_out", "links_in", "weight_in"}]}
    """
    from gossamer.graph.arrays import graph_directory

    with open_web(store) as web, graph_directory(store) as directory, _show_progress() as on_progress:
        if host is not None:
            from gossamer.graph.bonds import open_bonds
            from gossamer.graph.shape import measure_site

            number = _host_number(web, host)
            site = measure_site(web, open_bonds(web, directory, on_progress), number)
        else:
            from gossamer.graph.shape import measure_shape
            from gossamer.graph.snapshot import open_graph

            graph = open_graph(web, directory, on_progress=on_progress)
            web_shape = measure_shape(graph, web, 10 if limit is None else limit or sys.maxsize, on_progress)
    if as_json:
        print_line(json_text(site if host is not None else web_shape, indent=2))
    elif host is not None:
        _print_site(site, row_limit(limit, DEFAULT_ROWS), wide=wide)
    else:
        _print_shape(web_shape, wide=wide)


def _host_number(web: Store, text: str) -> int:
    name = text.split("/")[2] if "://" in text else text
    number = web.host_id(name.lower())
    if number is None:
        raise UsageError(f"{name} is not known in this web; `gossamer hosts` lists its hosts.")
    return number


def _print_shape(shape: Shape, *, wide: bool) -> None:
    print_heading(
        f"{pluralize(shape.pages, 'page')} on {pluralize(shape.hosts, 'host')}, {pluralize(shape.links, 'link')}"
    )
    parts = ", ".join(f"{name} {count:,}" for name, count in shape.bowtie.items() if count)
    facts = [
        ("components", f"{shape.components:,}, the biggest of {pluralize(shape.biggest_component, 'page')}"),
        ("bow-tie", parts),
        ("clicks", ", ".join(f"{clicks}: {pages:,}" for clicks, pages in shape.depths.items())),
        ("unreached", f"{pluralize(shape.unreached, 'page')} without a path from the seeds" if shape.unreached else ""),
        ("deepest core", f"{shape.deepest_core}, of {pluralize(shape.deepest_core_pages, 'page')}"),
        ("communities", f"modularity {shape.modularity:.3f}"),
    ]
    for name, value in facts:
        if value:
            print_line(f"  {with_style(f'{name:<12}', DIM, sys.stdout)}  {value}")
    columns = [
        TerminalColumn("pages", align="right"), TerminalColumn(LINKED, cut="middle"),
        TerminalColumn("", cut="middle", drop=1), TerminalColumn("community", cut="end"),
    ]  # fmt: skip
    rows = ((one.pages, *(*one.examples, "")[:2], f"{one.number} · {one.name}") for one in shape.communities)
    write_url_table(columns, rows, wide=wide, url_columns=("", LINKED))


def _print_site(site: Site, limit: int | None, *, wide: bool) -> None:
    print_heading(
        escape_hidden(f"{site.host}: {pluralize(site.pages, 'page')} visited, {pluralize(site.links, 'link')} within")
    )
    columns = [
        TerminalColumn("links out", align="right"), TerminalColumn("times", align="right"),
        TerminalColumn("links in", align="right"), TerminalColumn("times", align="right"),
        TerminalColumn("host", cut="middle"),
    ]  # fmt: skip
    rows = ((n.links_out, n.weight_out, n.links_in, n.weight_in, n.host) for n in site.neighbours[:limit])
    write_url_table(columns, rows, wide=wide)
    if limit is not None and len(site.neighbours) > limit:
        print_message(f"{limit:,} of {len(site.neighbours):,} neighbours shown; --limit 0 shows all.")


# -- related -----------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@click.argument("url")
@wide_option
@limit_option
@store_option
@json_option
def related(url: str, wide: bool, limit: int | None, store: str, as_json: bool) -> None:
    """List pages that are linked from the same pages as URL.

    \b
    JSON: {"url", "related": [{"url", "together", "similarity"}]}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.snapshot import open_graph
    from gossamer.graph.structure import related_pages

    with open_web(store) as web, graph_directory(store) as directory:
        row = find_resource(web, url)
        with _show_progress() as on_progress:
            graph = open_graph(web, directory, on_progress=on_progress)
        pages = graph.pages_of([row.id])
        if not len(pages):
            raise UsageError(f"{row.url} is not in the graph because it was not visited; first crawl it.")
        related_nodes = related_pages(
            graph.pages, int(pages[0]), DEFAULT_ROWS if limit is None else limit or sys.maxsize
        )
        rows = [
            {"url": graph.url(one.page), "together": one.together, "similarity": round(one.similarity, 4)}
            for one in related_nodes
        ]
    if as_json:
        print_line(json_text({"url": row.url, "related": rows}, indent=2))
        return
    columns = [
        TerminalColumn("similarity", align="right"),
        TerminalColumn("together", align="right"),
        TerminalColumn("url", cut="middle"),
    ]
    cells = ((f"{each['similarity']:.3f}", each["together"], each["url"]) for each in rows)
    write_url_table(columns, cells, wide=wide)
