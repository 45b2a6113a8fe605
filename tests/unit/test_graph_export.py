"""Graph files for other programs: networkx reads the same graph and computes the same ranks."""

from __future__ import annotations

import gzip
import io
import re
import tracemalloc
import xml.etree.ElementTree as ET
from contextlib import closing
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.graph.export.common_crawl import write_common_crawl
from gossamer.graph.export.xml_formats import (
    PAGE_ATTRIBUTES,
    ExportGraph,
    ExportNode,
    host_export_graph,
    labelled_edges,
    page_export_graph,
    write_gexf,
    write_graphml,
    xml_text,
)
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import LinkMatrix, open_graph
from gossamer.model import Admission, State, VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import Bond, Site, fetched_visit, lease_all, leases, start, visit_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gossamer.graph.snapshot import Graph
    from gossamer.model import Candidate
    from gossamer.store.protocol import Store

WRITERS = {"gexf": (write_gexf, nx.read_gexf), "graphml": (write_graphml, nx.read_graphml)}
A, B, C, D, E = (
    f"https://{address}" for address in ("a.example/", "a.example/b", "a.example/c?x=1&y=2", "d.example/", "e.example/")
)
SITE: Site = {
    A: [Bond(B, weight=2), C, Bond(D, anchor="d"), Bond(A), Bond(C, follow=False, anchor="again")],
    B: [A, C],
    C: [A, E],
    D: [A],
}
HOSTILE = "\x00\x1b[31m<b>&\"'\ud7ff\ufffe\uffff\u202e]]> \n\t\r\U0001f600"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Store]:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        crawler = start(store, A)
        visit_all(store, crawler, SITE, admit=admit)
        store.leave(crawler)
        yield store


def admit(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.KNOWN if candidate.url == E else State.QUEUED) for candidate in candidates]


def ranked_graph(web: Store, tmp_path: Path, *, include_unvisited: bool = False) -> Graph:
    rank_web(web, tmp_path / "graph", RankOptions(include_unvisited=include_unvisited))
    return open_graph(web, tmp_path / "graph", include_unvisited=include_unvisited)


def export_and_read(file_format: str, level: ExportGraph) -> nx.DiGraph:
    write, read_back = WRITERS[file_format]
    out = io.BytesIO()
    write(level, out, "Gossamer <test>")
    exported = read_back(io.BytesIO(out.getvalue()))
    return nx.relabel_nodes(exported, {node: data["label"] for node, data in exported.nodes(data=True)})


@pytest.mark.parametrize("file_format", WRITERS)
def test_the_exported_graph_equals_the_ranked_graph(web: Store, tmp_path: Path, file_format: str) -> None:
    exported = export_and_read(file_format, page_export_graph(web, ranked_graph(web, tmp_path)))
    assert set(exported.nodes) == {A, B, C, D}
    assert {(source, target, data["weight"]) for source, target, data in exported.edges(data=True)} == {
        (A, B, 2), (A, C, 1), (A, D, 1), (B, A, 1), (B, C, 1), (C, A, 1), (D, A, 1),
    }  # fmt: skip


@pytest.mark.parametrize("file_format", WRITERS)
def test_networkx_computes_the_same_ranks(web: Store, tmp_path: Path, file_format: str) -> None:
    graph = ranked_graph(web, tmp_path)
    exported = export_and_read(file_format, page_export_graph(web, graph))
    hubs, authorities = nx.hits(nx.DiGraph(exported.edges()), max_iter=1000, tol=1e-12)
    expected = nx.pagerank(exported, weight=None, tol=1e-12)
    components = {frozenset(part) for part in nx.strongly_connected_components(exported)}
    for node, data in exported.nodes(data=True):
        assert data["pagerank"] == pytest.approx(expected[node], abs=1e-6)
        assert data["hub"] == pytest.approx(hubs[node], abs=1e-6)
        assert data["authority"] == pytest.approx(authorities[node], abs=1e-6)
        assert (data["indegree"], data["outdegree"]) == (exported.in_degree(node), exported.out_degree(node))
        assert data["in_weight"] == exported.in_degree(node, weight="weight")
        assert data["depth"] == nx.shortest_path_length(exported, A, node)
        assert isinstance(data["community"], int)
    numbers = nx.get_node_attributes(exported, "component")
    assert {frozenset(node for node in numbers if numbers[node] == number) for number in numbers.values()} == components


@pytest.mark.parametrize("file_format", WRITERS)
def test_exported_ranks_equal_the_stored_ranks_exactly(web: Store, tmp_path: Path, file_format: str) -> None:
    exported = export_and_read(file_format, page_export_graph(web, ranked_graph(web, tmp_path)))
    for row in web.every_page():
        ranks = web.ranks(row.id)
        assert ranks is not None
        data = exported.nodes[row.url]
        assert {name: data.get(name) for name in ranks.__struct_fields__} == {
            name: getattr(ranks, name) for name in ranks.__struct_fields__
        }


@pytest.mark.parametrize("file_format", WRITERS)
def test_include_unvisited_exports_unvisited_pages(web: Store, tmp_path: Path, file_format: str) -> None:
    graph = ranked_graph(web, tmp_path, include_unvisited=True)
    exported = export_and_read(file_format, page_export_graph(web, graph))
    assert set(exported.nodes) == {A, B, C, D, E}
    assert exported.has_edge(C, E)


@pytest.mark.parametrize("file_format", WRITERS)
def test_hosts_are_exported_as_their_own_graph(web: Store, tmp_path: Path, file_format: str) -> None:
    exported = export_and_read(file_format, host_export_graph(web, ranked_graph(web, tmp_path)))
    assert {(source, target, data["weight"]) for source, target, data in exported.edges(data=True)} == {
        ("a.example", "d.example", 1), ("d.example", "a.example", 1),
    }  # fmt: skip
    assert exported.nodes["a.example"]["pages"] == 3
    assert exported.nodes["d.example"]["pagerank"] == pytest.approx(0.5)


@pytest.mark.parametrize("file_format", WRITERS)
def test_an_unranked_graph_is_exported_without_ranks(web: Store, tmp_path: Path, file_format: str) -> None:
    exported = export_and_read(file_format, page_export_graph(web, open_graph(web, tmp_path / "graph")))
    assert set(exported.nodes) == {A, B, C, D}
    assert all("pagerank" not in data and data["title"] == "A title" for _, data in exported.nodes(data=True))


@pytest.mark.parametrize("file_format", WRITERS)
def test_an_empty_web_exports_an_empty_graph(tmp_path: Path, file_format: str) -> None:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        graph = open_graph(store, tmp_path / "graph")
        assert (
            len(export_and_read(file_format, page_export_graph(store, graph)))
            == len(export_and_read(file_format, host_export_graph(store, graph)))
            == 0
        )


@pytest.mark.parametrize("file_format", WRITERS)
def test_a_hostile_title_cannot_break_the_file(tmp_path: Path, file_format: str) -> None:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        crawler = start(store, A)
        (lease,) = leases(lease_all(store, crawler)).values()
        store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, title=HOSTILE)]), admit, 1.0)
        exported = export_and_read(file_format, page_export_graph(store, open_graph(store, tmp_path / "graph")))
    illegal = "[\x00\x1b\ufffe\uffff]"
    assert exported.nodes[A]["title"] == re.sub(illegal, "", HOSTILE)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_well_formed_xml_without_forbidden_characters(text: str) -> None:
    element = ET.fromstring(f'<a b="{xml_text(text)}">{xml_text(text)}</a>')
    expected = "".join(
        character
        for character in text
        if character in "\t\n\r"
        or " " <= character <= "\ud7ff"
        or "\ue000" <= character <= "\ufffd"
        or character > "\uffff"
    )
    assert element.get("b") == expected
    assert (element.text or "") == expected


def test_gexf_1_3_has_declared_attributes_colours_and_sizes(web: Store, tmp_path: Path) -> None:
    out = io.BytesIO()
    write_gexf(page_export_graph(web, ranked_graph(web, tmp_path)), out, "Gossamer")
    root = ET.fromstring(out.getvalue())
    ns = {"g": "http://gexf.net/1.3", "viz": "http://gexf.net/1.3/viz"}
    assert (root.tag, root.get("version")) == ("{http://gexf.net/1.3}gexf", "1.3")
    declared = {each.get("id") for each in root.iterfind(".//g:attribute", ns)}
    assert {each.get("for") for each in root.iterfind(".//g:attvalue", ns)} <= declared
    assert {each.get("type") for each in root.iterfind(".//g:attribute", ns)} <= {"string", "long", "double"}
    assert len(root.findall(".//viz:color", ns)) == len(root.findall(".//viz:size", ns)) == 4


@pytest.mark.parametrize("file_format", WRITERS)
def test_the_same_web_exports_the_same_bytes(web: Store, tmp_path: Path, file_format: str) -> None:
    graph = ranked_graph(web, tmp_path)
    outs = [io.BytesIO(), io.BytesIO()]
    for out in outs:
        WRITERS[file_format][0](page_export_graph(web, graph), out, "Gossamer")
    assert outs[0].getvalue() == outs[1].getvalue()


def test_edges_are_exported_as_rows(web: Store, tmp_path: Path) -> None:
    rows = list(labelled_edges(page_export_graph(web, ranked_graph(web, tmp_path))))
    assert (A, B, 2) in rows
    assert len(rows) == 7


@pytest.mark.parametrize("write", [write_gexf, write_graphml])
def test_memory_does_not_grow_with_the_edges(write: Callable[[ExportGraph, io.BufferedIOBase, str], None]) -> None:
    class NullWriter(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            return len(memoryview(data))  # type: ignore[arg-type]

    def peak(edges: int) -> int:
        source, target = np.divmod(np.arange(edges), 1000)
        links = LinkMatrix.from_edges(1000, source, (target + source + 1) % 1000)
        nodes = (ExportNode(f"https://example.org/{n}", [None] * len(PAGE_ATTRIBUTES), None, None) for n in range(1000))
        level = ExportGraph(links=links, attributes=PAGE_ATTRIBUTES, nodes=nodes, description="")
        tracemalloc.start()
        write(level, io.BufferedWriter(NullWriter()), "")
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    assert peak(300_000) < 1.2 * peak(150_000)


# -- Common Crawl's layout ---------------------------------------------------------------------------------------------


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def test_pages_are_written_in_the_layout_of_common_crawl(web: Store, tmp_path: Path) -> None:
    graph = ranked_graph(web, tmp_path)
    assert write_common_crawl(web, graph, tmp_path, hosts=False)
    vertices = lines(tmp_path / "vertices.txt.gz")
    assert [number for number, _ in vertices] == ["0", "1", "2", "3"]
    names = dict(vertices)
    assert {(names[source], names[target]) for source, target in lines(tmp_path / "edges.txt.gz")} == {
        (A, B), (A, C), (A, D), (B, A), (B, C), (C, A), (D, A),
    }  # fmt: skip
    header, *rows = lines(tmp_path / "ranks.txt.gz")
    assert header == ["#harmonicc_pos", "#harmonicc_val", "#pr_pos", "#pr_val", "#url"]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0][4] == A
    assert [float(row[1]) for row in rows] == sorted((float(row[1]) for row in rows), reverse=True)
    by_pagerank = sorted(rows, key=lambda row: int(row[2]))
    assert [float(row[3]) for row in by_pagerank] == sorted((float(row[3]) for row in rows), reverse=True)


def test_common_crawl_hosts_have_reversed_names(web: Store, tmp_path: Path) -> None:
    assert write_common_crawl(web, ranked_graph(web, tmp_path), tmp_path, hosts=True)
    assert lines(tmp_path / "vertices.txt.gz") == [["0", "example.a"], ["1", "example.d"]]
    assert lines(tmp_path / "edges.txt.gz") == [["0", "1"], ["1", "0"]]
    assert lines(tmp_path / "ranks.txt.gz")[0][4] == "#host_rev"


def test_an_unranked_graph_has_no_ranks_file(web: Store, tmp_path: Path) -> None:
    assert not write_common_crawl(web, open_graph(web, tmp_path / "graph"), tmp_path, hosts=False)
    assert not (tmp_path / "ranks.txt.gz").exists()
