"""What goes wrong is told in one sentence on stderr, with exit code 2 and no traceback."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from crawling import crawl, gossamer
from webs.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

PAGES = {"/": '<title>Start</title><a href="/a">a</a>', "/a": "<title>A</title>"}


@pytest.fixture
def web() -> Iterator[str]:
    with Served(PAGES) as small:
        yield small.url


def sentence(done: CompletedProcess[str]) -> str:
    """The one line that explains, which is the last on stderr."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("gossamer: ")
    assert done.stdout == ""
    return last


@pytest.mark.parametrize(
    "url", ["http://", "ftp://example.org/", "http://exa mple.org/", "https://[::1/", "http://:80/"]
)
def test_a_wrong_url(url: str, tmp_path: Path) -> None:
    told = sentence(gossamer("crawl", url, "--store", tmp_path / "web"))
    assert "URL" in told
    assert not (tmp_path / "web").exists(), "a slip of the pen must leave nothing behind"


def test_no_url_and_no_web(tmp_path: Path) -> None:
    assert "give a URL" in sentence(gossamer("crawl", "--store", tmp_path / "web"))


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    told = sentence(gossamer("crawl", "http://no-such-host.invalid/", "--store", tmp_path / "web"))
    assert "no-such-host.invalid" in told


def test_a_host_that_refuses_connections(tmp_path: Path) -> None:
    with closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = closed.getsockname()[1]
        told = sentence(gossamer("crawl", f"http://127.0.0.1:{port}/", "--store", tmp_path / "web"))
    assert "refused" in told.lower()


def test_a_store_of_a_newer_version(web: str, tmp_path: Path) -> None:
    crawl(web, tmp_path / "web")
    with closing(sqlite3.connect(tmp_path / "web" / "web.db")) as database:
        database.execute("PRAGMA user_version = 9999")
    for command in (("crawl", web), ("status",)):
        assert "newer" in sentence(gossamer(*command, "--store", tmp_path / "web"))


@pytest.mark.parametrize("damage", ["garbage", "holes"])
def test_a_corrupt_store(web: str, tmp_path: Path, damage: str) -> None:
    crawl(web, tmp_path / "web")
    file = tmp_path / "web" / "web.db"
    content = file.read_bytes()
    file.write_bytes(
        b"not a database, but long enough " * 999
        if damage == "garbage"
        else content[:1000] + os.urandom(len(content) - 1000)
    )
    (tmp_path / "web" / "web.db-wal").unlink(missing_ok=True)
    for command in (("crawl", web), ("errors",)):
        sentence(gossamer(*command, "--store", tmp_path / "web"))


def test_a_directory_without_write_permission(web: str, tmp_path: Path) -> None:
    """As root everything may be written, so the place is one where nobody can make a directory."""
    place = "/proc/gossamer-web" if os.geteuid() == 0 else str(tmp_path / "locked" / "web")
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
    assert place in sentence(gossamer("crawl", web, "--store", place))


def test_a_file_in_the_place_of_the_directory(web: str, tmp_path: Path) -> None:
    (tmp_path / "web").write_text("a file")
    sentence(gossamer("crawl", web, "--store", tmp_path / "web"))


@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_a_bad_pattern(web: str, tmp_path: Path, flag: str) -> None:
    assert "(unclosed" in sentence(gossamer("crawl", web, flag, "(unclosed", "--store", tmp_path / "web"))


@pytest.mark.parametrize(
    "arguments",
    [("--max-pages", "many"), ("--order", "sideways"), ("--no-such-flag",), ("--allow-private", "10.0.0.0/99")],
)
def test_a_wrong_flag(web: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert arguments[0] in sentence(gossamer("crawl", web, *arguments, "--store", tmp_path / "web"))


def test_a_web_that_is_not_there(tmp_path: Path) -> None:
    for command in ("status", "hosts", "errors", "crawlers"):
        assert "crawl" in sentence(gossamer(command, "--store", tmp_path / "nowhere"))


def test_a_seed_that_is_not_there(web: str, tmp_path: Path) -> None:
    assert "404" in sentence(gossamer("crawl", f"{web}nothing", "--store", tmp_path / "web"))
