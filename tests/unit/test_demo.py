"""The demo web: its pages, its server and its process."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import sysconfig
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from gossamer.demo import DemoWeb
from helpers.patience import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "not for the web 4711"


def get(url: str, **headers: str) -> tuple[HTTPResponse, str]:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=PATIENCE)) as connection:
        connection.request("GET", parts.path, headers=headers)
        response = connection.getresponse()
        return response, response.read().decode()


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoWeb]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOSSAMER_TEST_SECRET", SECRET)
        with DemoWeb(port=0) as web:
            yield web


@pytest.fixture(scope="module")
def pages(demo: DemoWeb) -> dict[str, str]:
    """Return every page reachable from the index by path; each path must answer 200."""
    bodies: dict[str, str] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        if path not in bodies:
            response, bodies[path] = get(demo.url + path[1:])
            assert response.status == 200, path
            waiting += [f"/{name}" for name in re.findall(r'href="([\w.]+\.html)', bodies[path])]
    return bodies


def test_the_demo_has_hundreds_of_pages_and_no_broken_link(pages: dict[str, str]) -> None:
    assert len(pages) >= 250


def test_pages_link_to_each_other(pages: dict[str, str]) -> None:
    assert 'href="collections.abc.html#' in pages["/typing.html"] or 'href="collections.html' in pages["/typing.html"]
    assert 'href="json.decoder.html"' in pages["/json.html"]


def test_every_page_has_language_title_and_heading(pages: dict[str, str]) -> None:
    for path, page in pages.items():
        assert '<html lang="en">' in page, path
        assert re.search(r"<title>\w[^<]+</title>", page), path
        assert page.count("<h1>") == 1, path


def test_docstrings_are_shown_as_plain_text(pages: dict[str, str]) -> None:
    assert "is a subset of\nJavaScript syntax" in pages["/json.html"]


def test_no_page_reveals_details_of_this_machine(pages: dict[str, str]) -> None:
    private = (SECRET, sys.executable, sysconfig.get_path("stdlib"), 'href="file:', "0x7f")
    leaks = [(path, word) for path, page in pages.items() for word in private if word in page]
    assert not leaks


def test_modules_with_import_side_effects_are_left_out(demo: DemoWeb, pages: dict[str, str]) -> None:
    assert not {"/antigravity.html", "/this.html", "/idlelib.html"} & pages.keys()
    assert get(demo.url + "antigravity.html")[0].status == 404


@pytest.mark.parametrize("path", ["../../etc/passwd", "os", "os.py", "gossamer.html", "%00", ".html"])
def test_other_paths_answer_404(demo: DemoWeb, path: str) -> None:
    assert get(demo.url + path)[0].status == 404


def test_the_sitemap_lists_every_page_and_robots_txt_names_it(demo: DemoWeb, pages: dict[str, str]) -> None:
    assert f"Sitemap: {demo.url}sitemap.xml" in get(f"{demo.url}robots.txt")[1]
    listed = re.findall(r"<loc>(.*?)</loc>", get(f"{demo.url}sitemap.xml")[1])
    assert sorted(listed) == sorted(f"{demo.url.rstrip('/')}{path}" for path in pages)


def test_pages_are_the_same_in_every_run(pages: dict[str, str]) -> None:
    sample = sorted(pages)[::9]
    with DemoWeb(port=0) as second:
        assert [path for path in sample if get(second.url + path[1:])[1] != pages[path]] == []


def test_an_unchanged_page_answers_304(demo: DemoWeb) -> None:
    etag = get(f"{demo.url}abc.html")[0].headers["ETag"]
    response, body = get(f"{demo.url}abc.html", **{"If-None-Match": etag})
    assert (response.status, body) == (304, "")


def test_a_busy_port_is_replaced_by_a_free_one() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as occupied:
        port = occupied.getsockname()[1]
        with DemoWeb(port=port) as web:
            assert urlsplit(web.url).port != port
    with DemoWeb(port=port) as web:
        assert urlsplit(web.url).port == port


def test_the_server_exits_when_its_parent_is_killed() -> None:
    program = "from gossamer.demo import DemoWeb\nwith DemoWeb(0) as web: print(web.url, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().decode().strip()
        assert get(f"{url}robots.txt")[0].status == 200
        parent.send_signal(signal.SIGKILL)
    until(lambda: not is_listening(url), "the end of the demo web")


def is_listening(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=5).close()
    except (ConnectionRefusedError, ConnectionResetError):  # it has exited or is exiting
        return False
    return True
