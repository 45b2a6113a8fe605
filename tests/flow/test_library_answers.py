"""The library's answers as a whole: data frames and graphs that equal the exports, notebooks, actions of commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import networkx as nx
import pandas as pd
import polars as pl
import pytest

from gossamer import Crawler, Web, open_web
from gossamer.errors import UsageError
from helpers.cli.commands import gossamer
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = {
    "/": '<html lang="en"><title>Home &amp; <b>start</b></title><p>Silk <a href="/a">to a</a> <a href="/gone">lost</a>',
    "/a": '<title>A</title><p>Silk and spiders. <a href="/b">b</a> <a href="/">home</a>',
    "/b": '<title>B</title><p>Spiders. <a href="/">home</a> <a href="https://elsewhere.example/">out</a>',
}


@pytest.fixture(scope="module")
def site() -> Iterator[SiteServer]:
    with SiteServer(PAGES) as served:
        yield served


@pytest.fixture(scope="module")
def store(site: SiteServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl and rank the site."""
    directory = tmp_path_factory.mktemp("library") / "web"
    assert len(list(Crawler(site.url, store=directory))) == 3
    with open_web(directory) as web:
        web.rank()
    return directory


@pytest.fixture
def web(store: Path) -> Iterator[Web]:
    with open_web(store) as opened:
        yield opened


# -- data frames and graphs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["links", "resources", "hosts", "visits", "ranks"])
def test_a_table_as_data_frame_equals_its_export(table: str, web: Web, store: Path, tmp_path: Path) -> None:
    exported = tmp_path / f"{table}.parquet"
    assert gossamer("export", table, "--out", exported, "--store", store).returncode == 0
    expected = pd.read_parquet(exported)
    pd.testing.assert_frame_equal(web.table(table).to_pandas(), expected)
    assert web.table(table).to_polars().equals(pl.from_pandas(expected)) or web.table(table).to_polars().equals(
        pl.read_parquet(exported)
    )
    assert web.table(table).to_arrow().num_rows == len(expected)
    assert web.export(table, tmp_path / "again.parquet") == len(expected)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "again.parquet"), expected)


def test_pages_as_data_frame_are_the_visited_resources_of_the_export(web: Web, store: Path, tmp_path: Path) -> None:
    exported = tmp_path / "resources.csv"
    assert gossamer("export", "resources", "--out", exported, "--store", store).returncode == 0
    everything = pd.read_csv(exported, keep_default_na=False)
    visited = everything[(everything.state == "visited") & (everything.role == "page")]
    frame = web.pages().to_pandas()
    assert frame.url.tolist() == visited.url.tolist()
    assert frame.title.tolist() == visited.title.tolist()
    assert frame.depth.tolist() == visited.depth.tolist()
    assert str(frame.visited_at.dtype.tz) == "UTC"


@pytest.mark.parametrize("level", ["pages", "hosts"])
def test_the_graph_of_networkx_equals_the_export(level: str, web: Web, store: Path, tmp_path: Path) -> None:
    exported = tmp_path / "graph.graphml"
    assert gossamer("export", "graph", "--level", level, "--out", exported, "--store", store).returncode == 0
    expected, network = nx.read_graphml(exported), web.graph().to_networkx(level)  # type: ignore[arg-type]
    names = nx.get_node_attributes(expected, "label")
    renamed = nx.relabel_nodes(expected, names)
    assert set(network.nodes) == set(renamed.nodes)
    assert {(a, b, data["weight"]) for a, b, data in network.edges(data=True)} == {
        (a, b, data["weight"]) for a, b, data in renamed.edges(data=True)
    }
    for node, facts in network.nodes(data=True):
        exported_facts = {name: value for name, value in renamed.nodes[node].items() if name != "label"}
        assert facts == pytest.approx(exported_facts, nan_ok=True) or facts == exported_facts


def test_the_matrix_of_scipy_has_a_row_a_page(web: Web, site: SiteServer) -> None:
    graph = web.graph()
    matrix, urls = graph.to_scipy(weighted=True), list(graph.urls())
    home, a = urls.index(site.url), urls.index(f"{site.url}a")
    assert (matrix.shape, matrix.nnz) == ((3, 3), 4)
    assert (matrix[home, a], matrix[a, home]) == (1, 1)
    assert repr(graph) == "<WebGraph: 3 pages, 4 links, 1 host>"


# -- iterating and looking ---------------------------------------------------------------------------------------------


def test_rows_can_be_read_again_and_continued(web: Web) -> None:
    pages = web.pages()
    assert [page.title for page in pages] == [page.title for page in pages]
    first = next(pages)
    assert [first.title, *(page.title for page in pages)] == [page.title for page in web.pages()]
    assert [page.title for page in pages] == [page.title for page in web.pages()]
    assert next(pages) == first


def test_a_search_can_be_iterated_over(web: Web, site: SiteServer) -> None:
    found = web.search("silk")
    assert {hit.url for hit in found} == {site.url, f"{site.url}a"}
    assert repr(found) == "<FoundPages 'silk': 2 pages, 2 here>"
    assert "<mark>Silk</mark>" in found._repr_html_()


def test_notebook_tables_escape_what_pages_say(web: Web) -> None:
    shown = web.pages()._repr_html_()
    assert "Home &amp; &lt;b&gt;start&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert "<th>url</th>" in shown
    assert "3 pages on 1 host, 1 host linked to" in web._repr_html_()


def test_reprs_say_what_a_value_is(web: Web, store: Path) -> None:
    assert repr(web) == f"<Web {store}: 3 pages on 1 host, 1 host linked to>"
    assert repr(web.errors()).startswith("<Rows of errors: url, state, outcome, ")
    assert repr(Crawler("https://example.org/", store="x")) == "<Crawler https://example.org/ in x: not running>"


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from gossamer.files.tables import Table\nfrom gossamer.library.frames import to_pandas\n"
        "to_pandas(Table(columns=[], rows=[]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'gossamer[pandas]'" in done.stderr


# -- crawling ----------------------------------------------------------------------------------------------------------


def test_a_crawl_can_be_awaited(site: SiteServer, tmp_path: Path) -> None:
    async def titles() -> list[str]:
        return sorted([page.title async for page in Crawler(site.url, store=tmp_path, index=False)])

    assert asyncio.run(titles()) == ["A", "B", "Home & <b>start</b>"]


def test_leaving_an_awaited_crawl_stops_it(site: SiteServer, tmp_path: Path) -> None:
    async def first() -> Crawler:
        crawler = Crawler(site.url, store=tmp_path, index=False, delay=0.2)
        pages = aiter(crawler)
        await anext(pages)
        await pages.aclose()  # type: ignore[attr-defined]
        return crawler

    assert asyncio.run(first()).progress is None
    assert len(list(Crawler(store=tmp_path, index=False))) < 3


def test_a_with_block_stops_the_crawl_at_its_end(site: SiteServer, tmp_path: Path) -> None:
    with Crawler(site.url, store=tmp_path, index=False, delay=0.2) as crawler:
        pages = iter(crawler)
        next(pages)
        assert crawler.progress is not None
    assert crawler.progress is None


# -- what commands can do ----------------------------------------------------------------------------------------------


def test_a_copy_can_be_changed_apart(web: Web, site: SiteServer, tmp_path: Path) -> None:
    assert web.copy(tmp_path / "copy").rows > 0
    with open_web(tmp_path / "copy") as copied:
        assert copied.forget(f"{site.url}b") == 1
        assert copied.page(f"{site.url}b") is None or not copied.fields(f"{site.url}b")
        assert copied.forget(site.authority) > 1
        with pytest.raises(UsageError, match="is not a host of this web"):
            copied.forget("nowhere.example")
    assert len(list(web.pages())) == 3


def test_shape_site_related_and_exports(web: Web, site: SiteServer, store: Path, tmp_path: Path) -> None:
    printed = json.loads(gossamer("shape", "--json", "--store", store).stdout)
    shape = web.shape()
    assert (shape.pages, shape.components) == (printed["pages"], printed["components"])
    assert [each.host for each in web.site(site.authority).neighbours] == ["elsewhere.example"]
    listed = json.loads(gossamer("related", f"{site.url}a", "--json", "--store", store).stdout)["related"]
    assert web.related(f"{site.url}a") == listed
    assert web.export("graph", tmp_path / "graph.gexf") == 3
    assert web.report("broken").to_pandas().columns.tolist() == sorted(
        next(web.report("broken")), key=list(next(web.report("broken"))).index
    )
    with pytest.raises(UsageError, match="names no format"):
        web.export("links", tmp_path / "links.xyz")


# -- what commands can do ----------------------------------------------------------------------------------------------


def test_the_audit_is_that_of_the_command(web: Web, store: Path) -> None:
    audit = web.audit()
    told = json.loads(gossamer("report", "--json", "--store", store).stdout)
    assert (audit.score, audit.is_complete) == (told["score"], True)
    counted = {each.report.name: each.findings for each in audit.reports}
    assert counted == {each["report"]: each["findings"] for each in told["reports"]}


@pytest.mark.parametrize(
    ("what", "name", "begins"),
    [
        ("picture", "web.svg", b"<?xml"), ("picture", "web.png", b"\x89PNG"), ("warc", "web.warc.gz", b"\x1f\x8b"),
        ("words", "words.csv", b"word"),
    ],
)  # fmt: skip
def test_the_library_exports_what_commands_export(
    what: str, name: str, begins: bytes, web: Web, tmp_path: Path
) -> None:
    assert web.export(what, tmp_path / name) >= 3
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_the_library_exports_pages_as_files(web: Web, tmp_path: Path) -> None:
    assert web.export("files", tmp_path / "pages") == 3
    assert (tmp_path / "pages" / "manifest.jsonl").is_file()


def test_a_list_of_rows_has_a_short_text(web: Web) -> None:
    assert repr(web.hosts()) == f"<RowList of {len(web.hosts())} HostRow: id, name, known, queued, pages, failed, ...>"
