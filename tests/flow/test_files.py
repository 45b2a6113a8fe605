"""Export of pages to files and import of files, with the real parsers and the real store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.model import State
from gossamer.store.sqlite import open_sqlite_store
from gossamer.urls.canonical import url_digest
from helpers.cli.commands import FAST, crawl
from helpers.store.crawl_steps import requeue
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from pathlib import Path

BASE = "https://example.org/docs/"
CYRILLIC = "\u041c\u043e\u0441\u043a\u0432\u0430"
PAGES = {
    "index.html": b"<title>Start</title><a href='a'>to a</a> <a href='a/b.html?x=1'>to b</a> <a href=a>to a</a>",
    "a/b.html": f"<meta charset=iso-8859-5><title>{CYRILLIC}</title><a href=../index.html>up</a>".encode("iso-8859-5"),
    "notes.txt": b"plain words",
    "no-ending": b"<!doctype html><title>Sniffed</title>",
    "data.bin": b"\x00\x01\x02",
    "logo.png": b"\x89PNG\r\n",
}
LINKED = "<title>{0}</title><p>The page called {0}.<p><a href=/>home</a> <a href=/hidden>hidden</a>"
HEADERS = {
    "/hidden": {"X-Robots-Tag": "noindex"},
    "/unfollowed": {"X-Robots-Tag": "nofollow"},
    "/neither": {"X-Robots-Tag": "none"},
    "/german": {"Content-Language": "de"},
    "/copy": {"Link": '</>; rel="canonical"'},
    "/copy-by-itself": {},
    "/copy-by-both": {"Link": '</>; rel="canonical"'},
    "/dated": {"Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "ETag": '"1"'},
}


def gossamer(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gossamer", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def run_json(*arguments: str) -> Any:
    return json.loads(gossamer(*arguments, "--json").stdout)


@pytest.fixture(autouse=True)
def without_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the index off: most tests do not need it, and it takes longest."""
    monkeypatch.setenv("GOSSAMER_CRAWL_INDEX", "false")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in PAGES.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        os.utime(path, (784111777, 784111777))
    return tmp_path / "folder"


def contents(web: Path) -> dict[str, object]:
    """Return all that files can carry of each page: facts, header values, bytes, text and links."""
    store = open_sqlite_store(web, create=False, read_only=True)
    pages: dict[str, object] = {}
    for row in store.resources(State.VISITED):
        links = [(link.url, link.kind, link.anchor, link.weight, link.follow) for link in store.outlinks(row.id)]
        facts = (row.title, row.media_type, row.charset, row.status, row.last_modified, row.bytes, row.content_digest)
        header_values = (
            row.noindex,
            row.nofollow,
            row.language,
            row.canonical,
            row.etag,
            round(row.visited_at or 0, 1),
        )
        pages[row.url] = (facts, header_values, store.source(row.id), store.text(row.id), links)
    store.close()
    return pages


def test_any_folder_becomes_a_web(folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    done = run_json("import", str(folder), "--base", BASE, "--store", str(web))
    assert (done["pages"], done["failed"]) == (4, 0)
    assert sum(done["skipped"].values()) == 2
    pages = contents(web)
    assert set(pages) == {f"{BASE}{name}" for name in ("index.html", "a/b.html", "notes.txt", "no-ending")}
    page = run_json("page", f"{BASE}a/b.html", "--store", str(web))
    assert (page["title"], page["charset"], page["last_modified"]) == (
        CYRILLIC, "iso-8859-5", "Sun, 06 Nov 1994 08:49:37 GMT",
    )  # fmt: skip
    start = run_json("page", f"{BASE}index.html", "--store", str(web))
    assert [(link["url"], link["anchor"], link["weight"]) for link in start["outlinks"]] == [
        (f"{BASE}a", "to a", 2),
        (f"{BASE}a/b.html?x=1", "to b", 1),
    ]


def test_exported_files_are_imported_unchanged(folder: Path, tmp_path: Path) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    gossamer("import", str(folder), "--base", BASE, "--store", str(one))
    exported = run_json("export", "files", "--out", str(tmp_path / "files"), "--store", str(one))
    assert exported["pages"] == 4
    gossamer("import", str(tmp_path / "files"), "--store", str(two))
    assert contents(two) == contents(one)
    (tmp_path / "files" / "manifest.jsonl").unlink()
    gossamer("import", str(tmp_path / "files"), "--store", str(three))
    assert set(contents(three)) == set(contents(one))


@pytest.fixture
def crawled_web(tmp_path: Path) -> Path:
    """Crawl a site whose headers add to what its pages say, or repeat it."""
    site: dict[str, str | SiteResponse] = {}
    for path, headers in HEADERS.items():
        canonical = "<link rel=canonical href=/>" if "-by-" in path else ""
        site[path] = SiteResponse(canonical + LINKED.format(path[1:]), headers={"Content-Type": "text/html", **headers})
    site["/"] = "<title>Start</title>" + "".join(f"<a href={path}>{path}</a>" for path in HEADERS)
    with SiteServer(site) as server:
        crawl(server.url, tmp_path / "crawled", *FAST, "--no-index")
    return tmp_path / "crawled"


@pytest.mark.parametrize(("kind", "name"), [("files", "pages"), ("warc", "web.warc.gz")])
def test_headers_of_a_crawl_survive_export_and_import(kind: str, name: str, crawled_web: Path, tmp_path: Path) -> None:
    exported = run_json("export", kind, "--out", str(tmp_path / name), "--store", str(crawled_web))
    assert (exported["pages"], exported["skipped"]) == (len(HEADERS) + 1, {})
    gossamer("import", str(tmp_path / name), "--store", str(tmp_path / "again"))
    assert contents(tmp_path / "again") == contents(crawled_web)


def test_a_noindex_header_survives_export_and_import(
    crawled_web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOSSAMER_CRAWL_INDEX")
    gossamer("export", "files", "--out", str(tmp_path / "pages"), "--store", str(crawled_web))
    again = str(tmp_path / "again")
    gossamer("import", str(tmp_path / "pages"), "--store", again)
    gossamer("index", "--store", again)
    assert run_json("search", '"page called german"', "--store", again)["total"] == 1
    assert run_json("search", '"page called hidden"', "--store", again)["total"] == 0


def test_a_second_import_replaces_the_pages(folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    gossamer("import", str(folder), "--base", BASE, "--store", str(web))
    (folder / "notes.txt").write_bytes(b"other words")
    gossamer("import", str(folder), "--base", BASE, "--store", str(web))
    page = run_json("page", f"{BASE}notes.txt", "--store", str(web), "--text")
    assert page["text"] == [{"field": "text", "text": "other words"}]
    assert run_json("status", "--store", str(web))["resources"]["visited"] == 4


def test_an_import_leaves_no_url_queued(folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    gossamer("import", str(folder), "--base", BASE, "--store", str(web))
    resources = run_json("status", "--store", str(web))["resources"]
    assert (resources["queued"], resources["leased"], resources["known"]) == (0, 0, 2)


def test_an_import_skips_a_host_that_a_crawler_holds(folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    gossamer("import", str(folder), "--base", BASE, "--store", str(web))
    store = open_sqlite_store(web, create=False)
    crawler = store.join("elsewhere", 1)
    requeue(store)
    assert store.lease(crawler.id, hosts=1, urls=1, held=[], now=time.time())
    done = run_json("import", str(folder), "--base", BASE, "--store", str(web))
    assert done["pages"] == 0
    assert done["skipped"]["another crawler is visiting example.org"] == 4
    store.close()


def test_many_pages_are_imported_in_batches(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(600):
        (folder / f"{number}.html").write_text(f"<title>{number}</title><a href={(number * 7) % 600}.html>next</a>")
    done = run_json("import", str(folder), "--base", BASE, "--store", str(tmp_path / "web"))
    assert (done["pages"], done["failed"], done["skipped"]) == (600, 0, {})
    store = open_sqlite_store(tmp_path / "web", create=False, read_only=True)
    row = store.resource(url_digest(f"{BASE}7.html"))
    assert row is not None
    assert (row.title, row.backlinks) == ("7", 1)
    assert store.counts().links == 600
    store.close()


def test_an_export_needs_an_empty_directory(folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    gossamer("import", str(folder), "--base", BASE, "--store", str(web))
    done = gossamer("export", "files", "--out", str(folder), "--store", str(web), code=2)
    assert "is not an empty directory" in done.stderr


def test_pages_without_a_source_are_counted(folder: Path, tmp_path: Path) -> None:
    web, toml = tmp_path / "web", tmp_path / "settings.toml"
    toml.write_text("[crawl]\nsource = false\n")
    gossamer("import", str(folder), "--base", BASE, "--store", str(web), "--config", str(toml))
    done = run_json("export", "files", "--out", str(tmp_path / "files"), "--store", str(web))
    assert (done["pages"], done["skipped"]) == (0, {"no source stored": 4})
