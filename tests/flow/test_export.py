"""`gossamer export` and `gossamer import` of archives, as people use them: real commands, real files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import time
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from conftest import package
from gossamer.cli.main import run
from gossamer.errors import StoreError
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.terminal import gossamer_on_terminal
from helpers.files.archives import page, record, response, write_archive
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "https://example.org/"
CYRILLIC = "\u041c\u043e\u0441\u043a\u0432\u0430"
PAGES = {
    "index.html": "<html lang=en><title>=cmd|' /C calc'!A0</title><nav><a href=a.html>to a</a></nav>"
    "<a href=a.html>to a</a> <a href=b.html rel=nofollow>@b</a><img src=logo.png alt=Logo>"
    "<a href=https://elsewhere.example/>elsewhere</a>",
    "a.html": "<title>A</title><meta name=robots content=noindex>"
    "<a href=index.html>\u202eback</a> <a href=b.html>b</a>",
    "b.html": f"<meta charset=utf-8><title>{CYRILLIC}</title><a href=index.html>home</a>",
}
SCREAMING_FROG = [
    "Type", "Source", "Destination", "Size (Bytes)", "Alt Text", "Anchor", "Status Code", "Status", "Follow", "Target",
    "Rel", "Path Type", "Link Path", "Link Position", "Link Origin",
]  # fmt: skip


class CommandOutput(NamedTuple):
    """The output of a command."""

    stdout: bytes
    stderr: bytes


def gossamer(*arguments: str, code: int = 0) -> CommandOutput:
    """Run a command in this process, because starting Python for each would take long."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        run(arguments)
    for stream in (out, err):
        stream.flush()
    done = CommandOutput(out.buffer.getvalue(), err.buffer.getvalue())
    assert end.value.code == code, done.stderr.decode()
    return done


def run_json(*arguments: str) -> Any:
    return json.loads(gossamer(*arguments, "--json").stdout)


@pytest.fixture(scope="module", autouse=True)
def without_an_index() -> Iterator[None]:
    """Switch the index off: no test here needs it, and it takes longest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOSSAMER_CRAWL_INDEX", "false")
        yield


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("exports")
    folder = directory / "folder"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    gossamer("import", str(folder), "--base", BASE, "--store", str(directory / "web"))
    gossamer("rank", "--store", str(directory / "web"))
    return str(directory / "web")


def rows(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.decode(), newline="")))


# -- tables ------------------------------------------------------------------------------------------------------------


def test_links_have_the_columns_of_screaming_frog(web: str) -> None:
    out = gossamer("export", "links", "--store", web).stdout
    assert out.decode().splitlines()[0].split(",") == SCREAMING_FROG
    outgoing = [row for row in rows(out) if row["Source"] == f"{BASE}index.html"]
    first = {name: value for name, value in outgoing[0].items() if value}
    assert first == {
        "Type": "Hyperlink", "Source": f"{BASE}index.html", "Destination": f"{BASE}a.html",
        "Size (Bytes)": str(len(PAGES["a.html"].encode())), "Anchor": "to a", "Status Code": "200", "Status": "OK",
        "Follow": "true", "Link Position": "Navigation", "Link Origin": "HTML",
    }  # fmt: skip
    nofollow, image, elsewhere = outgoing[1:4]
    assert (nofollow["Anchor"], nofollow["Follow"], nofollow["Rel"]) == ("'@b", "false", "nofollow")
    assert (image["Type"], image["Alt Text"], image["Anchor"], image["Status Code"]) == ("Image", "Logo", "", "0")
    assert (elsewhere["Destination"], elsewhere["Status"]) == ("https://elsewhere.example/", "known")


@pytest.mark.parametrize("what", ["links", "resources", "hosts", "visits", "ranks"])
def test_every_format_has_the_same_rows(web: str, tmp_path: Path, what: str) -> None:
    for form in ("csv", "jsonl", "parquet"):
        done = run_json("export", what, "--out", str(tmp_path / f"x.{form}"), "--store", web)
        assert (done["format"], done["bytes"]) == (form, (tmp_path / f"x.{form}").stat().st_size)
    table = pq.read_table(tmp_path / "x.parquet")
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    cells = rows((tmp_path / "x.csv").read_bytes())
    assert len(cells) == len(lines) == table.num_rows == done["rows"]
    assert list(cells[0]) == list(lines[0]) == table.column_names
    for name in table.column_names:
        if table.schema.field(name).type in {"string", "int64"}:
            assert [line[name] for line in lines] == table.column(name).to_pylist()


def test_a_flag_sets_the_format(web: str, tmp_path: Path) -> None:
    gossamer("export", "hosts", "--format", "jsonl", "--out", str(tmp_path / "hosts.txt"), "--store", web)
    names = [json.loads(line)["name"] for line in (tmp_path / "hosts.txt").read_text().splitlines()]
    assert sorted(names) == ["elsewhere.example", "example.org"]


def test_no_title_becomes_a_formula(web: str) -> None:
    (row,) = [
        row for row in rows(gossamer("export", "resources", "--store", web).stdout) if row["title"].startswith("'")
    ]
    assert row["title"] == "'=cmd|' /C calc'!A0"


def test_stdout_carries_nothing_but_the_export(web: str) -> None:
    done = gossamer("export", "visits", "--format", "jsonl", "--out", "-", "--store", web)
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == ["fetched"] * 3
    assert b"Wrote 3 visits in" in done.stderr


def test_hostile_text_is_escaped_on_the_terminal(web: str) -> None:
    session = gossamer_on_terminal("export", "links", "--format", "jsonl", "--store", web)
    assert session.code == 0
    assert "\u202e" not in session.output
    assert "«U+202E»back" in session.output
    session = gossamer_on_terminal("export", "resources", "--format", "csv", "--store", web)
    assert CYRILLIC in session.output
    assert "\\r" not in session.output
    assert (
        "cannot show this format"
        in gossamer_on_terminal("export", "hosts", "--format", "parquet", "--store", web).output
    )


def test_a_failed_export_keeps_the_existing_file(web: str, tmp_path: Path) -> None:
    out = tmp_path / "links.csv"
    out.write_text("old")
    done = gossamer("export", "links", "--out", str(out), "--store", str(tmp_path / "nowhere"), code=2)
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["links.csv"]
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["links", "--json"], b"give --out FILE"),
        (["links", "--format", "xls"], b"xls"),
        (["graph", "--format", "commoncrawl"], b"directory"),
        (["picture", "--out", "web.gif"], b"neither .svg nor .png"),
        (["links", "--out", "no/such/place.csv"], b"No such file"),
    ],
)
def test_an_invalid_export_prints_one_sentence(web: str, arguments: list[str], words: bytes) -> None:
    done = gossamer("export", *arguments, "--store", web, code=2)
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == b""


# -- the link graph ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "read"), [("gexf", nx.read_gexf), ("graphml", nx.read_graphml)])
def test_networkx_reads_the_graph_and_computes_the_same_pagerank(
    web: str, tmp_path: Path, form: str, read: Any
) -> None:
    done = run_json("export", "graph", "--out", str(tmp_path / f"web.{form}"), "--store", web)
    assert (done["nodes"], done["edges"], done["ranked"]) == (3, 4, True)
    graph = read(tmp_path / f"web.{form}")
    assert (len(graph), graph.number_of_edges()) == (3, 4)
    expected = nx.pagerank(graph, weight=None, tol=1e-12)
    assert {node: data["pagerank"] for node, data in graph.nodes(data=True)} == pytest.approx(expected, abs=1e-6)


def test_networkx_computes_the_same_numbers_for_real_documentation(tmp_path: Path) -> None:
    web, folder = str(tmp_path / "web"), package("postgresql-doc-15")
    gossamer("import", str(folder), "--base", "https://docs.example/", "--store", web)
    gossamer("rank", "--store", web)
    graphs = []
    for form, read in (("gexf", nx.read_gexf), ("graphml", nx.read_graphml)):
        gossamer("export", "graph", "--out", str(tmp_path / f"web.{form}"), "--store", web)
        graphs.append(read(tmp_path / f"web.{form}"))
    gexf, graphml = graphs
    assert len(gexf) > 1_000
    assert set(gexf.edges) == set(graphml.edges)
    for name in ("label", "title", "pagerank", "hub", "authority", "harmonic", "component", "community", "core"):
        assert nx.get_node_attributes(gexf, name) == nx.get_node_attributes(graphml, name)
    expected = nx.pagerank(gexf, weight=None, tol=1e-10 / len(gexf))
    scores = nx.get_node_attributes(gexf, "pagerank")
    assert max(abs(scores[node] - expected[node]) for node in gexf) < 1e-6
    parts = {frozenset(part) for part in nx.strongly_connected_components(gexf)}
    numbers = nx.get_node_attributes(gexf, "component")
    assert {frozenset(node for node in gexf if numbers[node] == number) for number in set(numbers.values())} == parts


def test_the_graph_is_exported_as_a_list_of_edges(web: str) -> None:
    edges = rows(gossamer("export", "graph", "--format", "csv", "--store", web).stdout)
    assert {"source": f"{BASE}index.html", "target": f"{BASE}a.html", "weight": "2"} in edges


def test_the_common_crawl_format_is_a_directory(web: str, tmp_path: Path) -> None:
    gossamer("export", "graph", "--format", "commoncrawl", "--out", str(tmp_path / "cc"), "--store", web)
    names = sorted(path.name for path in (tmp_path / "cc").iterdir())
    assert names == ["edges.txt.gz", "ranks.txt.gz", "vertices.txt.gz"]
    done = gossamer("export", "graph", "--format", "commoncrawl", "--out", str(tmp_path / "cc"), "--store", web, code=2)
    assert b"new or empty directory" in done.stderr


@pytest.mark.parametrize("name", ["web.svg", "web.png"])
def test_a_picture_is_drawn(web: str, tmp_path: Path, name: str) -> None:
    done = run_json("export", "picture", "--out", str(tmp_path / name), "--store", web)
    assert done["bytes"] == (tmp_path / name).stat().st_size > 5_000
    assert (tmp_path / name).read_bytes()[:5] == {"web.svg": b"<?xml", "web.png": b"\x89PNG\r"}[name]


# -- archives ----------------------------------------------------------------------------------------------------------


def contents(web: str) -> dict[str, object]:
    store = open_sqlite_store(Path(web), create=False, read_only=True)
    pages: dict[str, object] = {}
    for row in store.every_page():
        links = [
            (link.url, link.kind, link.anchor, link.weight, link.follow, link.rel) for link in store.outlinks(row.id)
        ]
        facts = (
            row.title, row.media_type, row.charset, row.language, row.status, row.last_modified, row.bytes,
            row.content_digest, row.noindex,
        )  # fmt: skip
        pages[row.url] = (facts, store.source(row.id), store.text(row.id), links)
    store.close()
    return pages


def test_an_exported_archive_is_imported_unchanged(web: str, tmp_path: Path) -> None:
    done = run_json("export", "warc", "--out", str(tmp_path / "web.warc.gz"), "--store", web)
    assert (done["pages"], done["skipped"]) == (3, {})
    back = run_json("import", str(tmp_path / "web.warc.gz"), "--store", str(tmp_path / "again"))
    assert (back["pages"], back["failed"], back["skipped"]) == (3, 0, {})
    assert contents(str(tmp_path / "again")) == contents(web)
    times = [
        {row["url"]: row["visited_at"] for row in rows(gossamer("export", "resources", "--store", each).stdout)}
        for each in (web, str(tmp_path / "again"))
    ]
    assert times[0] == times[1]


def test_an_archive_passes_the_checks_of_fastwarc_and_warcio(web: str, tmp_path: Path) -> None:
    path = tmp_path / "web.warc.gz"
    gossamer("export", "warc", "--out", str(path), "--store", web)
    report = tmp_path / "report"
    check = [sys.executable, "-m", "fastwarc.cli", "check", "--verify-payloads", "--output", str(report), str(path)]
    done = subprocess.run(check, check=True, capture_output=True, text=True)
    assert "4 records were verified successfully" in done.stdout + report.read_text()
    subprocess.run([sys.executable, "-m", "warcio.cli", "check", str(path)], check=True, capture_output=True)
    with path.open("rb") as file:
        records = [(each.rec_type, each.rec_headers.protocol) for each in ArchiveIterator(file, check_digests="raise")]
    assert records == [("warcinfo", "WARC/1.1"), *[("response", "WARC/1.1")] * 3]


def test_fastwarc_detects_a_wrong_digest(web: str, tmp_path: Path) -> None:
    path = tmp_path / "web.warc.gz"
    gossamer("export", "warc", "--out", str(path), "--store", web)
    path.write_bytes(gzip.decompress(path.read_bytes()).replace(b"home</a>", b"lost</a>"))
    done = subprocess.run([sys.executable, "-m", "fastwarc.cli", "check", str(path)], check=False, capture_output=True)
    assert done.returncode != 0


def test_a_foreign_archive_is_imported_with_redirects_and_errors(tmp_path: Path) -> None:
    path = write_archive(
        tmp_path / "theirs.warc.gz",
        page(1),
        record(response(b"", status="301 Moved", Location="/1"), uri=f"{BASE}old"),
        record(response(status="404 Not Found"), uri=f"{BASE}lost"),
        record(response(content_type="image/png"), uri=f"{BASE}logo.png"),
        record(b"", kind="revisit"),
        page(2),
        gzipped=True,
    )
    web = str(tmp_path / "web")
    done = run_json("import", str(path), "--store", web)
    assert {name: done[name] for name in ("pages", "redirects", "errors", "failed")} == {
        "pages": 2, "redirects": 1, "errors": 1, "failed": 0,
    }  # fmt: skip
    assert done["skipped"] == {
        "its media type is not accepted: image/png": 1, "a revisit record: its content is in another one": 1,
    }  # fmt: skip
    old = run_json("page", f"{BASE}old", "--store", web)
    assert (old["outcome"], old["outlinks"][0]["url"]) == ("redirected", f"{BASE}1")
    assert run_json("page", f"{BASE}1", "--store", web)["visited_at"] == 1582977600.0
    assert run_json("status", "--store", web)["resources"]["queued"] == 0


def test_a_broken_record_is_reported_and_the_rest_is_imported(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "broken.warc", page(1), record(response(), length=7), page(2))
    done = gossamer("import", str(path), "--store", str(tmp_path / "web"))
    assert b"broken.warc, record 2 (https://example.org/): broken record: it does not end where" in done.stderr
    assert set(contents(str(tmp_path / "web"))) == {f"{BASE}1", f"{BASE}2"}


def test_the_last_record_of_a_url_is_imported(tmp_path: Path) -> None:
    old, new = (record(response(f"<title>{title}</title>".encode())) for title in ("Old", "New"))
    path = write_archive(tmp_path / "twice.warc", old, record(response(status="500 Oops")), new)
    done = run_json("import", str(path), "--store", str(tmp_path / "web"))
    assert (done["pages"], done["errors"]) == (1, 0)
    assert done["skipped"] == {"there is a later one for the same URL": 2}
    assert run_json("page", BASE, "--store", str(tmp_path / "web"))["title"] == "New"


def test_several_archives_are_imported_at_once(tmp_path: Path) -> None:
    paths = [str(write_archive(tmp_path / f"{n}.warc", page(n))) for n in range(3)]
    assert run_json("import", *paths, "--store", str(tmp_path / "web"))["pages"] == 3


def test_an_invalid_archive_creates_no_web(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"nothing of the kind")
    for arguments in ([str(tmp_path / "a.warc")], [str(tmp_path / "nowhere.warc")]):
        done = gossamer("import", *arguments, "--store", str(tmp_path / "web"), code=2)
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "web").exists()


@pytest.mark.full
def test_the_next_import_completes_a_killed_one(tmp_path: Path) -> None:
    path, web = write_archive(tmp_path / "many.warc.gz", *map(page, range(3_000)), gzipped=True), tmp_path / "web"
    importing = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "import", str(path), "--store", str(web)], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + PATIENCE
    while visited_count(web) < 256:
        assert time.monotonic() < deadline
        assert importing.poll() is None
    importing.kill()
    importing.wait()
    assert 256 <= visited_count(web) < 3_000
    assert run_json("import", str(path), "--store", str(web))["pages"] == 3_000
    resources = run_json("status", "--store", str(web))["resources"]
    assert (resources["visited"], resources["queued"], resources["leased"]) == (3_000, 0, 0)


def visited_count(web: Path) -> int:
    try:
        store = open_sqlite_store(web, create=False, read_only=True)
    except StoreError:
        return 0  # not created yet
    with closing(store):
        return store.counts().resources["visited"]
