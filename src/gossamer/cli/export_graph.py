"""The commands `export graph` and `export picture`: the link graph for other programs, and for people."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from gossamer.basics.display import pluralize
from gossamer.cli.export_output import STDOUT, ExportSummary, choose_format, open_output, out_option
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.options import json_option, open_web, store_option
from gossamer.cli.output import ProgressLine, print_message
from gossamer.cli.ranking import print_rank_note
from gossamer.errors import UsageError
from gossamer.files.tables import WRITERS, Column, Table
from gossamer.store.read.rank_state import read_rank_state

if TYPE_CHECKING:
    from gossamer.graph.export.xml_formats import ExportGraph
    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import Store
    from gossamer.store.read.rank_state import RankState

GRAPH_FORMATS = ("gexf", "graphml", "commoncrawl", "csv", "jsonl", "parquet")
level_option = click.option(
    "--level", type=click.Choice(("pages", "hosts")), default="pages", show_default=True, help="Kind of the nodes."
)
unvisited_option = click.option(
    "--include-unvisited", is_flag=True, help="Include URLs that are linked but not visited."
)


@click.command(cls=HelpCommand)
@click.option(
    "--format", "form", type=click.Choice(GRAPH_FORMATS), help="Format; default: by the suffix of FILE, else gexf."
)
@level_option
@unvisited_option
@out_option
@store_option
@json_option
def graph(form: str | None, level: str, include_unvisited: bool, out: Path, store: str, as_json: bool) -> None:
    """Export the link graph, with ranks and communities as attributes.

    Nodes are the visited pages, edges the followed hyperlinks between them, weights the number of links. GEXF is for
    Gephi, GraphML for yEd, igraph, networkx and others; csv, jsonl and parquet are lists of edges. With commoncrawl,
    FILE is a new directory for the files of Common Crawl's web graphs (vertices, edges, ranks). The ranks are those of
    the last `gossamer rank`.

    \b
    JSON: {"out", "format", "level", "nodes", "edges", "ranked", "bytes", "seconds"}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.export.xml_formats import host_export_graph, page_export_graph
    from gossamer.graph.snapshot import open_graph

    form = form or choose_format(out, GRAPH_FORMATS)
    summary, progress_line = ExportSummary(out, as_json=as_json), ProgressLine()
    with open_web(store) as web, graph_directory(store) as directory:
        link_graph = open_graph(web, directory, include_unvisited=include_unvisited, on_progress=progress_line.update)
        rank_state = read_rank_state(web)
        ranked = rank_state is not None
        if form == "commoncrawl":
            ranked = _write_common_crawl(web, link_graph, out, hosts=level == "hosts")
        else:
            with open_output(out, binary=form == "parquet") as stream:
                _write_graph(
                    (host_export_graph if level == "hosts" else page_export_graph)(web, link_graph), form, stream
                )
    progress_line.close()
    links = link_graph.hosts if level == "hosts" else link_graph.pages
    sentence = f"{pluralize(links.nodes, level.removesuffix('s'))} and {pluralize(links.edges, 'edge')}"
    summary.report(sentence, format=form, level=level, nodes=links.nodes, edges=links.edges, ranked=ranked)
    if form in {"gexf", "graphml", "commoncrawl"}:
        _print_rank_hints(rank_state, ranked=ranked)


def _print_rank_hints(state: RankState | None, *, ranked: bool) -> None:
    if not ranked:
        print_message(f"The export has no ranks. Compute them: {hint('rank')}")
    else:
        print_rank_note(state)


def _write_graph(level: ExportGraph, form: str, stream: IO[bytes]) -> None:
    from importlib.metadata import version

    from gossamer.graph.export.xml_formats import labelled_edges, write_gexf, write_graphml

    creator = f"Gossamer {version('gossamer')}"
    if form == "gexf":
        write_gexf(level, stream, creator)
    elif form == "graphml":
        write_graphml(level, stream, creator)
    else:
        columns = (Column("source"), Column("target"), Column("weight", "integer"))
        WRITERS[form](Table(columns=columns, rows=labelled_edges(level)), stream)


def _write_common_crawl(web: Store, link_graph: Graph, out: Path, *, hosts: bool) -> bool:
    from gossamer.graph.export.common_crawl import write_common_crawl

    if out == STDOUT or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise UsageError("Common Crawl's layout needs a new or empty directory; give --out DIR.")
    out.mkdir(parents=True, exist_ok=True)
    return write_common_crawl(web, link_graph, out, hosts=hosts)


# -- pictures ----------------------------------------------------------------------------------------------------------

PICTURE_FORMATS = ("svg", "png")


@click.command(cls=HelpCommand)
@click.option("--show", "what", type=click.Choice(("graph", "degrees", "depths")), default="graph", show_default=True,
              help="Draw the graph, the distribution of links, or the clicks from the seeds.")  # fmt: skip
@click.option(
    "--level", type=click.Choice(("pages", "hosts")), help="Kind of the nodes; default: hosts if the web has many."
)
@click.option(
    "--nodes",
    type=click.IntRange(2, 2000),
    default=300,
    show_default=True,
    metavar="N",
    help="Number of nodes, the best first.",
)
@unvisited_option
@click.option("--title", metavar="TEXT", help="Title of the picture; default: the hosts, or their number.")
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, .svg or .png.",
)
@store_option
@json_option
def picture(
    what: str, level: str | None, nodes: int, include_unvisited: bool, title: str | None, out: Path, store: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Draw the link graph: coloured by community, sized by PageRank, labelled.

    The picture shows the best pages or hosts and the most significant links between them; the caption says of how many.
    The same web gives the same picture. SVG stays sharp at every size.

    \b
    JSON: {"out", "show", "bytes", "seconds"}
    """
    from gossamer.graph.arrays import graph_directory
    from gossamer.graph.pictures.selection import picture_title
    from gossamer.graph.snapshot import open_graph

    form = choose_format(out, PICTURE_FORMATS)
    if out.suffix.lower() not in {".svg", ".png"}:
        raise UsageError(f"{out} is neither .svg nor .png; give --out FILE with one of these.")
    summary, progress_line = ExportSummary(out, as_json=as_json), ProgressLine()
    with open_web(store) as web, graph_directory(store) as directory:
        link_graph = open_graph(web, directory, include_unvisited=include_unvisited, on_progress=progress_line.update)
        with open_output(out) as stream:
            _draw(web, link_graph, what, level, nodes, title or picture_title(link_graph), stream, form)
        rank_state = read_rank_state(web) if what == "graph" else None
    progress_line.close()
    summary.report("a picture", show=what)
    print_rank_note(rank_state)


def _draw(
    web: Store, link_graph: Graph, what: str, level: str | None, nodes: int, title: str, stream: IO[bytes], form: str
) -> None:
    from numpy import diff

    from gossamer.graph.pictures import draw, plots
    from gossamer.graph.pictures.selection import click_depth_counts, default_level, select_picture

    if what == "graph":
        draw.draw_graph(select_picture(web, link_graph, level or default_level(link_graph), nodes), title, stream, form)
    elif what == "degrees":
        plots.draw_degrees(
            diff(link_graph.pages.in_starts), diff(link_graph.pages.starts), f"{title}: links", stream, form
        )
    else:
        clicks = click_depth_counts(web, link_graph)
        plots.draw_depths(clicks, link_graph.pages.nodes - int(clicks.sum()), f"{title}: click depth", stream, form)
