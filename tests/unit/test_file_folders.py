"""Reading a folder of files as pages: URLs, media types, and nothing outside the folder."""

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

MAX_BYTES = 1 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import_folder = tmp_path / "folder"
    import_folder.mkdir()
    (tmp_path / "secret.html").write_text("secret")
    return import_folder


def write_file(folder: Path, path: str, body: bytes = b"<p>text") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(body)


def write_manifest(folder: Path, *entries: dict[str, object]) -> None:
    (folder / "manifest.jsonl").write_bytes(b"\n".join(msgspec.json.encode(entry) for entry in entries))


def read_pages(
    folder: Path, base: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[list[FilePage], dict[str, str]]:
    items = list(read_folder(folder, base, max_bytes))
    pages = [page for page in items if isinstance(page, FilePage)]
    return pages, {page.path: page.reason for page in items if isinstance(page, SkippedItem)}


def test_a_manifest_entry_sets_url_headers_status_and_time(folder: Path) -> None:
    write_file(folder, "some/where", b"\xe4")
    entry = ManifestEntry(
        url="https://example.org/a", path="some/where", media_type="text/plain", charset="windows-1252", status=203,
        last_modified="Sun, 06 Nov 1994 08:49:37 GMT", etag='"1"', language="de", canonical="https://example.org/b",
        noindex=True, nofollow=True, visited_at=784111777.5,
    )  # fmt: skip
    write_manifest(folder, msgspec.to_builtins(entry))
    ((page,), skipped) = read_pages(folder)
    headers = {
        "content-type": "text/plain; charset=windows-1252", "content-language": "de", "etag": '"1"',
        "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "link": "<https://example.org/b>; rel=canonical",
        "x-robots-tag": "noindex, nofollow",
    }  # fmt: skip
    assert page == make_file_page("https://example.org/a", b"\xe4", 203, headers, fetched_at=784111777.5)
    assert skipped == {}


def test_a_manifest_of_an_older_version_is_read(folder: Path) -> None:
    write_file(folder, "a.html")
    line = {"url": "https://example.org/a", "path": "a.html", "media_type": "text/html", "charset": "", "status": 200}
    write_manifest(folder, {**line, "last_modified": "yesterday"})
    ((page,), _) = read_pages(folder)
    assert page == make_file_page(
        "https://example.org/a", b"<p>text", 200, {"content-type": "text/html", "last-modified": "yesterday"}
    )


def test_an_empty_last_modified_sets_no_header(folder: Path) -> None:
    write_file(folder, "a.html")
    write_manifest(folder, {"url": "https://example.org/a", "path": "a.html", "last_modified": ""})
    ((page,), _) = read_pages(folder)
    assert page.fetched.headers == {"content-type": "text/html"}


def test_file_names_encode_urls_without_a_manifest(folder: Path) -> None:
    write_file(folder, "https/example.org/docs/^index.html")
    write_file(folder, "https/example.org/docs^", b"%PDF-1.7")
    write_file(folder, "notes.txt")
    pages, skipped = read_pages(folder)
    assert [(page.url, page.fetched.headers.get("content-type", "")) for page in pages] == [
        ("https://example.org/docs", ""),
        ("https://example.org/docs/", "text/html"),
    ]
    assert skipped == {"notes.txt": "its name does not encode a URL; give --base"}


@pytest.mark.parametrize("base", ["https://example.org/docs", "https://example.org/docs/"])
def test_a_base_url_prefixes_every_file(folder: Path, base: str) -> None:
    write_file(folder, "a b/ü#?.html")
    write_file(folder, "index.html")
    pages, _ = read_pages(folder, base)
    assert {page.url for page in pages} == {
        "https://example.org/docs/a%20b/%C3%BC%23%3F.html",
        "https://example.org/docs/index.html",
    }


def test_a_file_name_in_another_encoding_becomes_a_url(folder: Path) -> None:
    write_file(folder, os.fsdecode(b"caf\xe9.html"))
    ((page,), _) = read_pages(folder, "https://example.org/")
    assert page.url == "https://example.org/caf%E9.html"


def test_the_file_time_becomes_last_modified(folder: Path) -> None:
    write_file(folder, "a.html")
    os.utime(folder / "a.html", (784111777, 784111777))
    ((page,), _) = read_pages(folder, "https://example.org/")
    assert page.fetched.headers["last-modified"] == "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    "path", ["../secret.html", "/etc/hostname", "a/../../secret.html", "link.html", "dir/secret.html", "nul\0"]
)
def test_nothing_outside_the_folder_is_read(folder: Path, path: str) -> None:
    (folder / "link.html").symlink_to(folder.parent / "secret.html")
    (folder / "dir").symlink_to(folder.parent)
    write_manifest(folder, {"url": "https://example.org/", "path": path})
    pages, skipped = read_pages(folder)
    assert pages == []
    assert list(skipped) == [path]


def test_symbolic_links_are_reported_and_not_followed(folder: Path) -> None:
    (folder / "link.html").symlink_to(folder.parent / "secret.html")
    (folder / "dir").symlink_to(folder.parent)
    pages, skipped = read_pages(folder, "https://example.org/")
    assert pages == []
    assert set(skipped) == {"link.html", "dir"}


def test_a_named_pipe_does_not_block_the_import(folder: Path) -> None:
    os.mkfifo(folder / "pipe.html")
    assert read_pages(folder, "https://example.org/") == ([], {"pipe.html": "it is not a regular file"})


def test_an_oversized_file_is_reported(folder: Path) -> None:
    write_file(folder, "big.html", b"x" * 101)
    assert read_pages(folder, "https://example.org/", max_bytes=100)[1] == {"big.html": "it is larger than 100 bytes"}


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://Example.org/", "https://u:p@example.org/"]
)
def test_a_manifest_may_name_canonical_urls_only(folder: Path, url: str) -> None:
    write_file(folder, "a.html")
    write_manifest(folder, {"url": url, "path": "a.html"})
    pages, skipped = read_pages(folder)
    assert pages == []
    assert "not a canonical HTTP URL" in skipped["a.html"]


def test_a_broken_manifest_is_reported_with_its_line(folder: Path) -> None:
    (folder / "manifest.jsonl").write_text('\n{"url": 3}\n')
    with pytest.raises(UsageError, match=r"manifest\.jsonl, line 2"):
        read_pages(folder)


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        read_pages(tmp_path / "nothing")


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
def test_the_media_type_follows_from_the_file_extension(path: str, kind: str) -> None:
    assert guess_media_type(path) == kind
