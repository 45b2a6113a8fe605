from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from gossamer.demo import DemoWeb

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "not for the web 4711"


def get(url: str, **headers: str) -> tuple[HTTPResponse, str]:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=30)) as connection:
        connection.request("GET", parts.path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read().decode()


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoWeb]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOSSAMER_TEST_SECRET", SECRET)
        with DemoWeb(port=0) as web:
            yield web


@pytest.fixture(scope="module")
def pages(demo: DemoWeb) -> dict[str, str]:
    """Everything reachable from the index by links within the site; a path that does not answer 200 is a failure."""
    found: dict[str, str] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            answer, found[path] = get(demo.url + path[1:])
            assert answer.status == 200, path
            waiting += [f"/{name}" for name in re.findall(r'href="([\w.]+\.html)', found[path])]
    return found


def test_has_a_few_hundred_pages_and_no_broken_link(pages: dict[str, str]) -> None:
    assert len(pages) >= 250


def test_pages_lead_to_one_another(pages: dict[str, str]) -> None:
    assert 'href="collections.abc.html#' in pages["/typing.html"] or 'href="collections.html' in pages["/typing.html"]
    assert 'href="json.decoder.html"' in pages["/json.html"]


def test_every_page_says_what_it_is(pages: dict[str, str]) -> None:
    for path, page in pages.items():
        assert '<html lang="en">' in page, path
        assert re.search(r"<title>\w[^<]+</title>", page), path
        assert page.count("<h1>") == 1, path


def test_text_is_plain_text(pages: dict[str, str]) -> None:
    assert "is a subset of\nJavaScript syntax" in pages["/json.html"]


def test_no_page_tells_about_this_machine(pages: dict[str, str]) -> None:
    private = (SECRET, sys.executable, sysconfig.get_path("stdlib"), 'href="file:', "0x7f")
    told = [(path, word) for path, page in pages.items() for word in private if word in page]
    assert not told


def test_modules_that_act_when_imported_are_left_out(demo: DemoWeb, pages: dict[str, str]) -> None:
    assert not {"/antigravity.html", "/this.html", "/idlelib.html"} & pages.keys()
    assert get(demo.url + "antigravity.html")[0].status == 404


@pytest.mark.parametrize("path", ["../../etc/passwd", "os", "os.py", "gossamer.html", "%00", ".html"])
def test_serves_nothing_else(demo: DemoWeb, path: str) -> None:
    assert get(demo.url + path)[0].status == 404


def test_sitemap_lists_every_page_and_robots_names_it(demo: DemoWeb, pages: dict[str, str]) -> None:
    assert f"Sitemap: {demo.url}sitemap.xml" in get(f"{demo.url}robots.txt")[1]
    listed = re.findall(r"<loc>(.*?)</loc>", get(f"{demo.url}sitemap.xml")[1])
    assert sorted(listed) == sorted(f"{demo.url.rstrip('/')}{path}" for path in pages)


def test_is_the_same_in_every_run(pages: dict[str, str]) -> None:
    sample = sorted(pages)[::9]
    with DemoWeb(port=0) as again:
        assert [path for path in sample if get(again.url + path[1:])[1] != pages[path]] == []


def test_says_when_nothing_changed(demo: DemoWeb) -> None:
    etag = get(f"{demo.url}abc.html")[0].headers["ETag"]
    answer, body = get(f"{demo.url}abc.html", **{"If-None-Match": etag})
    assert (answer.status, body) == (304, "")


def test_takes_the_wished_port_or_another_when_it_is_taken() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with DemoWeb(port=port) as web:
            assert urlsplit(web.url).port != port
    with DemoWeb(port=port) as web:
        assert urlsplit(web.url).port == port


def test_ends_when_its_parent_is_killed() -> None:
    program = "from gossamer.demo import DemoWeb\nwith DemoWeb(0) as web: print(web.url, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().decode().strip()
        assert get(f"{url}robots.txt")[0].status == 200
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while answers(url):
        assert time.monotonic() < deadline, "the demo web outlived its parent"
        time.sleep(0.02)


def answers(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=5).close()
    except (ConnectionRefusedError, ConnectionResetError):  # it is gone, or going
        return False
    return True
