"""Commands about the link graph: `rank`, `shape`, `related`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gossamer.cli.open_web import opened
from gossamer.cli.options import json_option, limit_option, store_option
from gossamer.cli.output import (
    DIM,
    Column,
    heading,
    json_text,
    many,
    printable,
    rows_wanted,
    say,
    show,
    styled,
    write_table,
)
from gossamer.errors import UsageError
from gossamer.lookup import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.graph.ranking.rank_web import Nearness, RankOptions
    from gossamer.graph.shape import Shape, Site
    from gossamer.store.follow.graph import RankedHost, RankedPage, Ranking
    from gossamer.store.protocol import Store

SHOWN = 20  # pages, when --limit is not given
MEASURES = ("hits", "harmonic", "depth", "components", "communities", "cores")
NEEDED = {"authority": "hits", "hub": "hits", "core": "cores"}  # what is ordered by -> what computes it
ORDERS = ("pagerank", "authority", "hub", "harmonic", "indegree", "outdegree", "in_weight", "core")


@contextmanager
def _ticking() -> Iterator[Callable[[str], None]]:
    from gossamer.cli.progress import Ticker

    ticker = Ticker()
    try:
        yield ticker.tell
    finally:
        ticker.close()


# -- rank --------------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--only", multiple=True, type=click.Choice([*MEASURES, "pagerank"]), metavar="MEASURE",
              help=f"Compute beside PageRank and degrees only this: {', '.join(MEASURES)}.")  # fmt: skip
@click.option("--by", type=click.Choice(ORDERS), default="pagerank", show_default=True, metavar="MEASURE",
              help=f"Show the first pages by this: {', '.join(ORDERS)}.")  # fmt: skip
@click.option("--hosts", "by_host", is_flag=True, help="Show hosts instead of pages.")
@click.option("--near", multiple=True, metavar="URL",
              help="Show what is important as seen from this page; changes nothing. Can be given again.")  # fmt: skip
@click.option("--weighted", is_flag=True, help="A link that stands on a page three times counts three times.")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.85, show_default=True,
              help="How often the random reader follows a link rather than starting anew.")  # fmt: skip
@click.option("--include-unvisited", is_flag=True, help="Rank what is linked to and was not visited as well.")
@limit_option
@store_option
@json_option
def rank(
    only: tuple[str, ...], by: str, by_host: bool, near: tuple[str, ...], weighted: bool, alpha: float,
    include_unvisited: bool, limit: int | None, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Compute how important pages and hosts are by their links, and what hangs together.

    PageRank, hubs and authorities, degrees, harmonic centrality, click depth, components, communities and cores go to
    the store, where search, exports and `gossamer page` find them. Only what changed since the last time is read. With
    a web that is not visited to its end, ranks are estimates; the share that was visited is told.

    \b
    JSON: {"ranking": {"pages", "links", "hosts", "visited", "known", "visited_share", ...},
           "pages": [{"url", "title", "ranks": {"pagerank", "score", ...}}],
           "hosts": [{"name", "ranks": {...}}]}
    JSON with --near: {"near": [url], "pages": [{"url", "pagerank", "score"}]}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.ranking.rank_web import RankOptions, rank_web

    options = RankOptions(
        measures=tuple(name for name in MEASURES if not only or name in only), weighted=weighted, alpha=alpha,
        include_unvisited=include_unvisited,
    )  # fmt: skip
    if NEEDED.get(by, by) in {*MEASURES} - {*options.measures}:
        raise UsageError(f"--by {by} needs --only {NEEDED.get(by, by)} as well.")
    most = SHOWN if limit is None else limit or sys.maxsize
    if near:
        _near(store, near, options, most, as_json=as_json)
        return
    with opened(store, write=True) as web, graph_directory(store) as directory:
        with _ticking() as tell:
            ranking = rank_web(web, directory, options, tell)
        pages = [] if by_host else web.ranked(by, most)
        hosts = web.ranked_hosts(most) if by_host or as_json else []
    if as_json:
        show(json_text(_told(ranking, pages, hosts), indent=2))
        return
    _show_hosts(hosts) if by_host else _show_pages(pages, by)
    _say_ranking(ranking)


def _told(ranking: Ranking, pages: Sequence[RankedPage], hosts: Sequence[RankedHost]) -> dict[str, object]:
    import msgspec

    facts = msgspec.to_builtins(ranking) | {"visited_share": round(ranking.visited_share, 4)}
    return {"ranking": facts, "pages": pages, "hosts": hosts}


def _near(place: str, urls: Sequence[str], options: RankOptions, limit: int, *, as_json: bool) -> None:
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.ranking.rank_web import pages_near
    from gossamer.graph.snapshot import open_graph

    with opened(place) as web, graph_directory(place) as directory:
        chosen = [find(web, url) for url in urls]
        with _ticking() as tell:
            graph = open_graph(web, directory, include_unvisited=options.include_unvisited, on_progress=tell)
            found = pages_near(graph, [row.id for row in chosen], options, limit)
    if as_json:
        show(json_text({"near": [row.url for row in chosen], "pages": found}, indent=2))
        return
    _show_nearness(found)


def _show_nearness(pages: Sequence[Nearness]) -> None:
    columns = [Column("score", align="right"), Column("pagerank", align="right"), Column("url", cut="middle")]
    write_table(columns, ((f"{page.score:.1f}", f"{page.pagerank:.6f}", page.url) for page in pages))


def _show_pages(pages: Sequence[RankedPage], by: str) -> None:
    columns = [
        Column("score", align="right"), Column("pagerank", align="right"), Column("in", align="right"),
        Column("out", align="right"), Column("depth", align="right"), *_extra(by), Column("url", cut="middle"),
        Column("title", cut="end"),
    ]  # fmt: skip
    rows = []
    for page in pages:
        ranks = page.ranks
        depth = "" if ranks.depth is None else ranks.depth
        extra = [_number(getattr(ranks, by))] if _extra(by) else []
        rows.append(
            (f"{ranks.score:.1f}", f"{ranks.pagerank:.6f}", ranks.indegree, ranks.outdegree, depth, *extra, page.url,
             page.title)
        )  # fmt: skip
    write_table(columns, rows)


def _extra(by: str) -> list[Column]:
    """A column for what the rows are ordered by, if it is not shown in any case."""
    return [] if by in {"pagerank", "indegree", "outdegree"} else [Column(by, align="right")]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}" if value < 1 else f"{value:,.1f}"


def _show_hosts(hosts: Sequence[RankedHost]) -> None:
    columns = [
        Column("score", align="right"), Column("pagerank", align="right"), Column("pages", align="right"),
        Column("in", align="right"), Column("out", align="right"), Column("links in", align="right"),
        Column("links out", align="right"), Column("host", cut="middle"),
    ]  # fmt: skip
    rows = (
        (f"{r.score:.1f}", f"{r.pagerank:.6f}", f"{r.pages:,}", r.indegree, r.outdegree, r.in_weight, r.out_weight, h)
        for h, r in ((host.name, host.ranks) for host in hosts)
    )
    write_table(columns, rows)


def _say_ranking(ranking: Ranking) -> None:
    what = f"{many(ranking.pages, 'page')} on {many(ranking.hosts, 'host')}, {many(ranking.links, 'link')}"
    say(f"Ranked {what}; PageRank took {many(ranking.iterations, 'round')}.")
    if ranking.harmonic not in {"", "exact"}:
        say(f"Harmonic centrality is {ranking.harmonic}.")
    if ranking.visited < ranking.known:
        share = 100 * ranking.visited_share
        say(f"{share:.0f} % of the {many(ranking.known, 'known page')} were visited: ranks are estimates.")


# -- shape -------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("host", required=False)
@limit_option
@store_option
@json_option
def shape(host: str | None, limit: int | None, store: str, as_json: bool) -> None:
    """What hangs together in a web, how deep it is; with a HOST, that site and its neighbours.

    The links between visited pages: strong components, the bow-tie around the biggest one, clicks from the seeds,
    communities, cores. With a HOST: the hosts it links to and those that link to it, visited or not.

    \b
    JSON: {"pages", "links", "hosts", "components", "biggest_component",
           "bowtie": {"core", "in", "out", "tube", "tendril", "apart"}, "depths": {clicks: pages},
           "unreached", "modularity", "communities": [{"pages", "examples"}], "deepest_core", ...}
    JSON with a HOST: {"host", "pages", "links", "weight", "neighbours":
           [{"host", "links_out", "weight_out", "links_in", "weight_in"}]}
    """
    from gossamer.graph.arrays import graph_directory

    with opened(store) as web, graph_directory(store) as directory, _ticking() as tell:
        if host is not None:
            from gossamer.graph.bonds import open_bonds
            from gossamer.graph.shape import measure_site

            number = _host_number(web, host)
            site = measure_site(web, open_bonds(web, directory, tell), number)
        else:
            from gossamer.graph.shape import measure_shape
            from gossamer.graph.snapshot import open_graph

            graph = open_graph(web, directory, on_progress=tell)
            found = measure_shape(graph, web.seeds(), 10 if limit is None else limit or sys.maxsize, tell)
    if as_json:
        show(json_text(site if host is not None else found, indent=2))
    elif host is not None:
        _show_site(site, rows_wanted(limit, SHOWN))
    else:
        _show_shape(found)


def _host_number(web: Store, text: str) -> int:
    name = text.split("/")[2] if "://" in text else text
    number = web.host_number(name.lower())
    if number is None:
        raise UsageError(f"{name} is not known in this web; `gossamer hosts` lists its hosts.")
    return number


def _show_shape(shape: Shape) -> None:
    heading(f"{many(shape.pages, 'page')} on {many(shape.hosts, 'host')}, {many(shape.links, 'link')}")
    parts = ", ".join(f"{name} {count:,}" for name, count in shape.bowtie.items() if count)
    facts = [
        ("components", f"{shape.components:,}, the biggest of {many(shape.biggest_component, 'page')}"),
        ("bow-tie", parts),
        ("clicks", ", ".join(f"{clicks}: {pages:,}" for clicks, pages in shape.depths.items())),
        ("unreached", f"{many(shape.unreached, 'page')} without a way from the seeds" if shape.unreached else ""),
        ("deepest core", f"{shape.deepest_core}, of {many(shape.deepest_core_pages, 'page')}"),
        ("communities", f"modularity {shape.modularity:.3f}"),
    ]
    for name, value in facts:
        if value:
            show(f"  {styled(f'{name:<12}', DIM, sys.stdout)}  {value}")
    columns = [
        Column("pages", align="right"),
        Column("the most linked of them", cut="middle"),
        Column("", cut="middle"),
    ]
    rows = ((community.pages, *(*community.examples, "")[:2]) for community in shape.communities)
    write_table(columns, rows)


def _show_site(site: Site, limit: int | None) -> None:
    heading(printable(f"{site.host}: {many(site.pages, 'page')} visited, {many(site.links, 'link')} within"))
    columns = [
        Column("links out", align="right"), Column("times", align="right"), Column("links in", align="right"),
        Column("times", align="right"), Column("host", cut="middle"),
    ]  # fmt: skip
    rows = ((n.links_out, n.weight_out, n.links_in, n.weight_in, n.host) for n in site.neighbours[:limit])
    write_table(columns, rows)
    if limit is not None and len(site.neighbours) > limit:
        say(f"{limit:,} of {len(site.neighbours):,} neighbours shown; --limit 0 shows all.")


# -- related -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("url")
@limit_option
@store_option
@json_option
def related(url: str, limit: int | None, store: str, as_json: bool) -> None:
    """Pages that are linked from the same pages as this one.

    \b
    JSON: {"url", "related": [{"url", "together", "similarity"}]}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.snapshot import open_graph
    from gossamer.graph.structure import related_pages

    with opened(store) as web, graph_directory(store) as directory:
        row = find(web, url)
        with _ticking() as tell:
            graph = open_graph(web, directory, on_progress=tell)
        pages = graph.pages_of([row.id])
        if not len(pages):
            raise UsageError(f"{row.url} was not visited, so it is not in the graph.")
        found = related_pages(graph.pages, int(pages[0]), SHOWN if limit is None else limit or sys.maxsize)
        rows = [
            {"url": graph.url(one.page), "together": one.together, "similarity": round(one.similarity, 4)}
            for one in found
        ]
    if as_json:
        show(json_text({"url": row.url, "related": rows}, indent=2))
        return
    columns = [
        Column("similarity", align="right"),
        Column("together", align="right"),
        Column("url", cut="middle"),
    ]
    write_table(columns, ((f"{each['similarity']:.3f}", each["together"], each["url"]) for each in rows))
