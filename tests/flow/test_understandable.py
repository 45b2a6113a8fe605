"""What goes wrong is told in one sentence on stderr, with exit code 2 and no traceback."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from helpers.cli.commands import crawl, gossamer
from webs.served import Answer, Served

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


def test_a_topic_with_an_order_that_does_not_heed_it(web: str, tmp_path: Path) -> None:
    told = sentence(gossamer("crawl", web, "--topic", "silk", "--order", "depth", "--store", tmp_path / "web"))
    assert "--topic" in told
    assert "--order" in told
    assert not (tmp_path / "web").exists()


def test_a_web_that_is_not_there(tmp_path: Path) -> None:
    for command in ("status", "hosts", "errors", "crawlers"):
        assert "crawl" in sentence(gossamer(command, "--store", tmp_path / "nowhere"))


def test_a_seed_that_is_not_there(web: str, tmp_path: Path) -> None:
    assert "404" in sentence(gossamer("crawl", f"{web}nothing", "--store", tmp_path / "web"))


# -- seeds of a web that has pages already -----------------------------------------------------------------------------


@pytest.fixture
def known(web: str, tmp_path: Path) -> Path:
    """A web that is complete."""
    crawl(web, tmp_path / "known")
    return tmp_path / "known"


@pytest.fixture
def closed() -> Iterator[str]:
    """A URL at which connections are refused: its port is bound, and nobody listens."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"


def extended(store: Path, *arguments: object) -> CompletedProcess[str]:
    return gossamer("crawl", *arguments, "--store", store)


def unvisited(done: CompletedProcess[str]) -> list[str]:
    """The sentences about seeds of a crawl that succeeded."""
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "could not be visited" in line]


def test_a_seed_that_refuses_connections_on_a_web_with_pages(known: Path, closed: str) -> None:
    for _ in range(2):  # given up the first time, the host must rest the second time
        told = sentence(extended(known, closed, "--patience", 1))
        assert told.startswith(f"gossamer: {closed} could not be visited: ")
        assert "refused" in told.lower()


def test_a_seed_that_is_not_there_on_a_web_with_pages(web: str, known: Path) -> None:
    assert sentence(extended(known, f"{web}nothing")).endswith(
        f"{web}nothing could not be visited: not found: 404 Not Found."
    )


def test_a_seed_without_a_scheme_is_told_by_its_last_form(known: Path, closed: str) -> None:
    assert f"{closed} could not be visited: connection failure" in sentence(
        extended(known, closed.removeprefix("http://"))
    )


def test_of_several_seeds_those_that_could_not_be_visited_are_told(web: str, known: Path, closed: str) -> None:
    with Served({"/": "<title>New</title>"}) as other:
        told = unvisited(extended(known, other.url, closed, f"{web}nothing"))
    assert [line.split()[0] for line in told] == [closed, f"{web}nothing"]
    assert "connection failure" in told[0]
    assert "404" in told[1]


def test_when_no_seed_could_be_visited_one_sentence_has_them_all(web: str, known: Path, tmp_path: Path) -> None:
    for store in (known, tmp_path / "fresh"):
        told = sentence(extended(store, f"{web}nothing", f"{web}nowhere"))
        assert "None of 2 seeds could be visited" in told
        assert f"{web}nothing" in told
        assert f"{web}nowhere" in told


def test_what_else_a_crawl_brought_is_told_though_its_seed_could_not_be_visited(web: str, tmp_path: Path) -> None:
    crawl(web, tmp_path / "web", "--max-pages", 1)
    done = extended(tmp_path / "web", f"{web}nothing", "--max-pages", "none")
    assert "404" in sentence(done)
    assert "complete. 1 page," in done.stderr


def test_a_seed_visited_before_is_not_judged(web: str, known: Path, closed: str) -> None:
    done = extended(known, web)
    assert unvisited(done) == []
    assert "This web is complete" in done.stderr
    assert len(unvisited(extended(known, web, closed))) == 1


def test_a_seed_visited_before_that_is_away_for_once_is_no_fault_of_the_crawl(tmp_path: Path) -> None:
    with Served(PAGES) as small:
        crawl(small.url, tmp_path / "web")
        small.pages["/"] = Answer("", 500)
        done = extended(tmp_path / "web", small.url, "--revisit", "--all", "--delay", 0)
    assert unvisited(done) == []
    assert "1 failed" in done.stderr


def test_a_seed_that_redirects_is_visited(known: Path, closed: str) -> None:
    with Served({"/": Answer("", 301, {"Location": closed})}) as moved:
        assert unvisited(extended(known, moved.url)) == []


def test_a_seed_refused_by_robots_txt_is_refused_and_no_fault(known: Path) -> None:
    robots = Answer("User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    with Served({"/robots.txt": robots, "/": ""}) as private:
        done = extended(known, private.url)
    assert unvisited(done) == []
    assert "1 refused" in done.stderr


def test_a_seed_that_a_page_limit_leaves_queued_is_no_fault(web: str, known: Path) -> None:
    with Served(PAGES) as one, Served(PAGES) as two:
        done = extended(known, one.url, two.url, "--max-pages", 1)
    assert unvisited(done) == []
    assert "page limit reached" in done.stderr


def test_a_seed_whose_robots_txt_cannot_be_had_is_told(known: Path) -> None:
    with Served({"/robots.txt": Answer("", 503), "/": ""}) as broken:
        told = sentence(extended(known, broken.url, "--patience", 1))
    assert f"{broken.url} could not be visited: robots.txt unreachable" in told
