"""Reading a folder of files as pages: URLs, types, and nothing from outside the folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.errors import UsageError
from gossamer.files.file_page import FilePage, SkippedItem, make_file_page
from gossamer.files.folder import guess_media_type, read_folder
from gossamer.files.manifest import ManifestEntry

if TYPE_CHECKING:
    from pathlib import Path

MANY = 1 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "folder"
    inside.mkdir()
    (tmp_path / "secret.html").write_text("secret")
    return inside


def put(folder: Path, path: str, body: bytes = b"<p>text") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(body)


def listed(folder: Path, *entries: dict[str, object]) -> None:
    (folder / "manifest.jsonl").write_bytes(b"\n".join(msgspec.json.encode(entry) for entry in entries))


def split(folder: Path, base: str | None = None, max_bytes: int = MANY) -> tuple[list[FilePage], dict[str, str]]:
    found = list(read_folder(folder, base, max_bytes))
    pages = [page for page in found if isinstance(page, FilePage)]
    return pages, {page.path: page.reason for page in found if isinstance(page, SkippedItem)}


def test_a_manifest_tells_what_a_file_alone_cannot(folder: Path) -> None:
    put(folder, "some/where", b"\xe4")
    entry = ManifestEntry(
        url="https://example.org/a", path="some/where", media_type="text/plain", charset="windows-1252", status=203,
        last_modified="Sun, 06 Nov 1994 08:49:37 GMT", etag='"1"', language="de", canonical="https://example.org/b",
        noindex=True, nofollow=True, visited_at=784111777.5,
    )  # fmt: skip
    listed(folder, msgspec.to_builtins(entry))
    ((page,), skipped) = split(folder)
    headers = {
        "content-type": "text/plain; charset=windows-1252", "content-language": "de", "etag": '"1"',
        "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "link": "<https://example.org/b>; rel=canonical",
        "x-robots-tag": "noindex, nofollow",
    }  # fmt: skip
    assert page == make_file_page("https://example.org/a", b"\xe4", 203, headers, fetched_at=784111777.5)
    assert skipped == {}


def test_a_manifest_of_before_is_read_as_it_was(folder: Path) -> None:
    put(folder, "a.html")
    line = {"url": "https://example.org/a", "path": "a.html", "media_type": "text/html", "charset": "", "status": 200}
    listed(folder, {**line, "last_modified": "yesterday"})
    ((page,), _) = split(folder)
    assert page == make_file_page(
        "https://example.org/a", b"<p>text", 200, {"content-type": "text/html", "last-modified": "yesterday"}
    )


def test_a_page_that_came_without_a_time_of_change_gets_none(folder: Path) -> None:
    put(folder, "a.html")
    listed(folder, {"url": "https://example.org/a", "path": "a.html", "last_modified": ""})
    ((page,), _) = split(folder)
    assert page.fetched.headers == {"content-type": "text/html"}


def test_names_lead_to_urls_without_a_manifest(folder: Path) -> None:
    put(folder, "https/example.org/docs/^index.html")
    put(folder, "https/example.org/docs^", b"%PDF-1.7")
    put(folder, "notes.txt")
    pages, skipped = split(folder)
    assert [(page.url, page.fetched.headers.get("content-type", "")) for page in pages] == [
        ("https://example.org/docs", ""),
        ("https://example.org/docs/", "text/html"),
    ]
    assert skipped == {"notes.txt": "its name is no URL's; give --base"}


@pytest.mark.parametrize("base", ["https://example.org/docs", "https://example.org/docs/"])
def test_any_folder_hangs_below_a_base(folder: Path, base: str) -> None:
    put(folder, "a b/ü#?.html")
    put(folder, "index.html")
    pages, _ = split(folder, base)
    assert {page.url for page in pages} == {
        "https://example.org/docs/a%20b/%C3%BC%23%3F.html",
        "https://example.org/docs/index.html",
    }


def test_a_name_that_is_no_text_is_a_url_all_the_same(folder: Path) -> None:
    put(folder, os.fsdecode(b"caf\xe9.html"))
    ((page,), _) = split(folder, "https://example.org/")
    assert page.url == "https://example.org/caf%E9.html"


def test_the_time_of_a_file_is_when_its_page_was_modified(folder: Path) -> None:
    put(folder, "a.html")
    os.utime(folder / "a.html", (784111777, 784111777))
    ((page,), _) = split(folder, "https://example.org/")
    assert page.fetched.headers["last-modified"] == "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    "path", ["../secret.html", "/etc/hostname", "a/../../secret.html", "link.html", "dir/secret.html", "nul\0"]
)
def test_nothing_outside_the_folder_is_read(folder: Path, path: str) -> None:
    (folder / "link.html").symlink_to(folder.parent / "secret.html")
    (folder / "dir").symlink_to(folder.parent)
    listed(folder, {"url": "https://example.org/", "path": path})
    pages, skipped = split(folder)
    assert pages == []
    assert list(skipped) == [path]


def test_symbolic_links_are_told_and_not_followed(folder: Path) -> None:
    (folder / "link.html").symlink_to(folder.parent / "secret.html")
    (folder / "dir").symlink_to(folder.parent)
    pages, skipped = split(folder, "https://example.org/")
    assert pages == []
    assert set(skipped) == {"link.html", "dir"}


def test_a_pipe_in_the_folder_does_not_hold_up_the_import(folder: Path) -> None:
    os.mkfifo(folder / "pipe.html")
    assert split(folder, "https://example.org/") == ([], {"pipe.html": "it is not a regular file"})


def test_a_file_that_is_too_large_is_told(folder: Path) -> None:
    put(folder, "big.html", b"x" * 101)
    assert split(folder, "https://example.org/", max_bytes=100)[1] == {"big.html": "it is larger than 100 bytes"}


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://Example.org/", "https://u:p@example.org/"]
)
def test_a_manifest_may_name_canonical_urls_only(folder: Path, url: str) -> None:
    put(folder, "a.html")
    listed(folder, {"url": url, "path": "a.html"})
    pages, skipped = split(folder)
    assert pages == []
    assert "not a URL to visit" in skipped["a.html"]


def test_a_broken_manifest_is_told_with_its_line(folder: Path) -> None:
    (folder / "manifest.jsonl").write_text('\n{"url": 3}\n')
    with pytest.raises(UsageError, match=r"manifest\.jsonl, line 2"):
        split(folder)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        split(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.html", "text/html"),
        ("a.PDF", "application/pdf"),
        ("a.png", "image/png"),
        ("v1.txt^", "text/plain"),
        ("a", ""),
        ("a.html.gz", ""),
    ],
)
def test_a_type_is_told_by_the_names_ending(path: str, kind: str) -> None:
    assert guess_media_type(path) == kind
