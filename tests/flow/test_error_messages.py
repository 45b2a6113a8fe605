"""Every error is one sentence on stderr, with exit code 2 and no traceback."""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from helpers.cli.commands import crawl, gossamer
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

PAGES = {"/": '<title>Start</title><a href="/a">a</a>', "/a": "<title>A</title>"}


@pytest.fixture
def web() -> Iterator[str]:
    with SiteServer(PAGES) as small:
        yield small.url


def sentence(done: CompletedProcess[str]) -> str:
    """Check that a command failed; return the sentence that explains it, the last line on stderr."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("gossamer: ")
    assert done.stdout == ""
    return last


@pytest.mark.parametrize(
    "url", ["http://", "ftp://example.org/", "http://exa mple.org/", "https://[::1/", "http://:80/"]
)
def test_an_invalid_url_is_reported(url: str, tmp_path: Path) -> None:
    message = sentence(gossamer("crawl", url, "--store", tmp_path / "web"))
    assert "URL" in message
    assert not (tmp_path / "web").exists(), "a mistyped URL must create nothing"


def test_a_crawl_without_url_and_web_asks_for_a_url(tmp_path: Path) -> None:
    assert "give a URL" in sentence(gossamer("crawl", "--store", tmp_path / "web"))


def test_an_unknown_host_is_reported(tmp_path: Path) -> None:
    message = sentence(gossamer("crawl", "http://no-such-host.invalid/", "--store", tmp_path / "web"))
    assert "no-such-host.invalid" in message


def test_a_refused_connection_is_reported(tmp_path: Path) -> None:
    with closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        port = closed.getsockname()[1]
        message = sentence(gossamer("crawl", f"http://127.0.0.1:{port}/", "--store", tmp_path / "web"))
    assert "refused" in message.lower()


def test_a_store_of_a_newer_version_is_refused(web: str, tmp_path: Path) -> None:
    crawl(web, tmp_path / "web")
    with closing(sqlite3.connect(tmp_path / "web" / "web.db")) as database:
        database.execute("PRAGMA user_version = 9999")
    for command in (("crawl", web), ("status",)):
        assert "newer" in sentence(gossamer(*command, "--store", tmp_path / "web"))


@pytest.mark.parametrize("damage", ["garbage", "holes"])
def test_a_corrupt_store_is_reported(web: str, tmp_path: Path, damage: str) -> None:
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


def test_a_directory_without_write_permission_is_reported(web: str, tmp_path: Path) -> None:
    """Root may write everywhere, so its location is one where nobody can create a directory."""
    location = "/proc/gossamer-web" if os.geteuid() == 0 else str(tmp_path / "locked" / "web")
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
    assert location in sentence(gossamer("crawl", web, "--store", location))


def test_a_file_instead_of_the_directory_is_reported(web: str, tmp_path: Path) -> None:
    (tmp_path / "web").write_text("a file")
    sentence(gossamer("crawl", web, "--store", tmp_path / "web"))


@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_an_invalid_pattern_is_reported(web: str, tmp_path: Path, flag: str) -> None:
    assert "(unclosed" in sentence(gossamer("crawl", web, flag, "(unclosed", "--store", tmp_path / "web"))


@pytest.mark.parametrize(
    "arguments",
    [("--max-pages", "many"), ("--order", "sideways"), ("--no-such-flag",), ("--allow-private", "10.0.0.0/99")],
)
def test_an_invalid_flag_is_reported(web: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert arguments[0] in sentence(gossamer("crawl", web, *arguments, "--store", tmp_path / "web"))


def test_a_topic_with_an_order_that_ignores_it_is_refused(web: str, tmp_path: Path) -> None:
    message = sentence(gossamer("crawl", web, "--topic", "silk", "--order", "depth", "--store", tmp_path / "web"))
    assert "--topic" in message
    assert "--order" in message
    assert not (tmp_path / "web").exists()


def test_a_missing_web_is_reported(tmp_path: Path) -> None:
    for command in ("status", "hosts", "errors", "crawlers"):
        assert "crawl" in sentence(gossamer(command, "--store", tmp_path / "nowhere"))


def test_a_missing_seed_is_reported(web: str, tmp_path: Path) -> None:
    assert "404" in sentence(gossamer("crawl", f"{web}nothing", "--store", tmp_path / "web"))


# -- seeds of a web that has pages already -----------------------------------------------------------------------------


@pytest.fixture
def known_web(web: str, tmp_path: Path) -> Path:
    """Crawl a web to its end."""
    crawl(web, tmp_path / "known")
    return tmp_path / "known"


@pytest.fixture
def closed_url() -> Iterator[str]:
    """Yield a URL that refuses connections: its port is bound, but nobody listens."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"


def extend_web(store: Path, *arguments: object) -> CompletedProcess[str]:
    return gossamer("crawl", *arguments, "--store", store)


def unvisited_seeds(done: CompletedProcess[str]) -> list[str]:
    """Check that a crawl succeeded; return its sentences about unvisited seeds."""
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "could not be visited" in line]


def test_a_seed_that_refuses_connections_is_reported_for_an_existing_web(known_web: Path, closed_url: str) -> None:
    for _ in range(2):  # the first crawl gives the host up; in the second the host must still rest
        message = sentence(extend_web(known_web, closed_url, "--patience", 1))
        assert message.startswith(f"gossamer: {closed_url} could not be visited: ")
        assert "refused" in message.lower()


def test_a_missing_seed_is_reported_for_an_existing_web(web: str, known_web: Path) -> None:
    assert sentence(extend_web(known_web, f"{web}nothing")).endswith(
        f"{web}nothing could not be visited: not found: 404 Not Found."
    )


def test_a_seed_without_a_scheme_is_reported_in_its_last_form(known_web: Path, closed_url: str) -> None:
    assert f"{closed_url} could not be visited: connection failure" in sentence(
        extend_web(known_web, closed_url.removeprefix("http://"))
    )


def test_each_unvisited_seed_among_several_is_reported(web: str, known_web: Path, closed_url: str) -> None:
    with SiteServer({"/": "<title>New</title>"}) as other:
        sentences = unvisited_seeds(extend_web(known_web, other.url, closed_url, f"{web}nothing"))
    assert [line.split()[0] for line in sentences] == [closed_url, f"{web}nothing"]
    assert "connection failure" in sentences[0]
    assert "404" in sentences[1]


def test_one_sentence_lists_all_seeds_if_none_could_be_visited(web: str, known_web: Path, tmp_path: Path) -> None:
    for store in (known_web, tmp_path / "fresh"):
        message = sentence(extend_web(store, f"{web}nothing", f"{web}nowhere"))
        assert "None of 2 seeds could be visited" in message
        assert f"{web}nothing" in message
        assert f"{web}nowhere" in message


def test_the_summary_is_printed_although_the_seed_could_not_be_visited(web: str, tmp_path: Path) -> None:
    crawl(web, tmp_path / "web", "--max-pages", 1)
    done = extend_web(tmp_path / "web", f"{web}nothing", "--max-pages", "none")
    assert "404" in sentence(done)
    assert "complete. 1 page," in done.stderr


def test_a_seed_visited_before_is_not_reported(web: str, known_web: Path, closed_url: str) -> None:
    done = extend_web(known_web, web)
    assert unvisited_seeds(done) == []
    assert "This web is complete" in done.stderr
    assert len(unvisited_seeds(extend_web(known_web, web, closed_url))) == 1


def test_a_known_seed_that_fails_once_is_not_an_error(tmp_path: Path) -> None:
    with SiteServer(PAGES) as small:
        crawl(small.url, tmp_path / "web")
        small.pages["/"] = SiteResponse("", 500)
        done = extend_web(tmp_path / "web", small.url, "--revisit", "--all", "--delay", 0)
    assert unvisited_seeds(done) == []
    assert "1 failed" in done.stderr


def test_a_seed_that_redirects_counts_as_visited(known_web: Path, closed_url: str) -> None:
    with SiteServer({"/": SiteResponse("", 301, {"Location": closed_url})}) as moved:
        assert unvisited_seeds(extend_web(known_web, moved.url)) == []


def test_a_seed_refused_by_robots_txt_is_not_an_error(known_web: Path) -> None:
    robots = SiteResponse("User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    with SiteServer({"/robots.txt": robots, "/": ""}) as private:
        done = extend_web(known_web, private.url)
    assert unvisited_seeds(done) == []
    assert "1 refused" in done.stderr


def test_a_seed_left_queued_by_a_page_limit_is_not_an_error(web: str, known_web: Path) -> None:
    with SiteServer(PAGES) as one, SiteServer(PAGES) as two:
        done = extend_web(known_web, one.url, two.url, "--max-pages", 1)
    assert unvisited_seeds(done) == []
    assert "page limit reached" in done.stderr


def test_a_seed_with_an_unreachable_robots_txt_is_reported(known_web: Path) -> None:
    with SiteServer({"/robots.txt": SiteResponse("", 503), "/": ""}) as broken:
        message = sentence(extend_web(known_web, broken.url, "--patience", 1))
    assert f"{broken.url} could not be visited: robots.txt unreachable" in message
