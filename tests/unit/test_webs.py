"""The test webs, and the walk that other tests compare a crawl with."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from helpers.patience import PATIENCE
from webs import museum
from webs.generated import GeneratedWeb, Pages, Shape
from webs.nginx import Nginx, Site
from webs.walk import Page, resolve, walk

if TYPE_CHECKING:
    from pathlib import Path

BASE = "http://127.0.0.1:8000/dir/page.html"


def request(url: str, method: str = "GET") -> tuple[HTTPResponse, str]:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=PATIENCE)) as connection:
        connection.request(method, parts.path)
        response = connection.getresponse()
        return response, response.read().decode()


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_nginx_serves_each_site_on_its_own_port_and_logs_requests(nginx_binary: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"index.html": "first", "sub/index.html": "deep"})
    two = write(tmp_path / "two", {"a.txt": "second"})
    with Nginx(nginx_binary, {"one": Site(one), "two": Site(two)}) as nginx:
        assert request(nginx.url("one"))[1] == "first"
        response, body = request(nginx.url("two", "/a.txt"))
        assert (response.headers["Content-Type"], body) == ("text/plain", "second")
        assert request(nginx.url("one", "/sub"))[0].headers["Location"] == nginx.url("one", "/sub/")
        assert request(nginx.url("two"))[0].status == 403  # no listing
        log = [(entry.site, entry.method, entry.path, entry.status) for entry in nginx.requests()]
    assert log == [
        ("one", "GET", "/", 200),
        ("two", "GET", "/a.txt", 200),
        ("one", "GET", "/sub", 301),
        ("two", "GET", "/", 403),
    ]


def test_walk_follows_links_frames_and_redirects_and_nothing_else(nginx_binary: Path, tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "index.html": """<link rel=next href=next.html><link rel=stylesheet href=style.css>
                <a href=sub>folder</a> <a href=hidden.html rel=nofollow>no</a> <a href=wall.html>wall</a>
                <a href=gone.html>gone</a> <a href=http://other.example/>other</a> <a href=mailto:me>mail</a>
                <map><area href=area.html alt=area></map><iframe src=frame.html></iframe>""",
            "sub/index.html": "<base href=/deep/><a href=x.html>x</a>",
            "wall.html": "<meta name=ROBOTS content='index, NOFOLLOW'><a href=behind.html>behind</a>",
            "next.html": "<meta http-equiv=refresh content='5; URL=refreshed.html'>",
            **dict.fromkeys(("hidden.html", "behind.html", "style.css", "area.html", "frame.html"), ""),
            **dict.fromkeys(("refreshed.html", "deep/x.html"), ""),
        },
    )
    with Nginx(nginx_binary, {"site": Site(root)}) as nginx:
        statuses = {urlsplit(url).path: entry.status for url, entry in walk(nginx.url("site")).items()}
    followed = {
        "/",
        "/sub/",
        "/deep/x.html",
        "/wall.html",
        "/next.html",
        "/refreshed.html",
        "/area.html",
        "/frame.html",
    }
    assert statuses == {**dict.fromkeys(followed, 200), "/sub": 301, "/gone.html": 404}


def test_the_plain_twin_of_the_museum_links_every_route() -> None:
    with museum.MuseumServer(museum.server_rendered()) as site:
        walked = {urlsplit(url).path: entry.status for url, entry in walk(site.url).items()}
    assert walked == dict.fromkeys((*museum.routes(), museum.FRAME), 200)
    assert len(walked) > 200


def test_the_client_rendered_museum_has_no_words_or_links_without_its_scripts(museum_scripts: Path) -> None:
    files = museum.client_rendered(museum_scripts)
    assert all(files[path].body == museum.SHELL for path in museum.routes())
    page = Page(BASE, museum.SHELL.encode(), "")
    assert not page.hyperlinks()


def test_walk_counts_links_by_target_and_anchor() -> None:
    page = """<a href=a.html> two
        words</a><a href=a.html#part>two words</a><a href=a.html>other</a><a href=b.html><img alt=picture></a>"""
    here = "http://127.0.0.1:8000/dir/"
    assert Page(BASE, page.encode(), "").hyperlinks() == {
        (f"{here}a.html", "two words"): 2,
        (f"{here}a.html", "other"): 1,
        (f"{here}b.html", "picture"): 1,
    }


def test_walk_ends_a_link_where_another_begins() -> None:
    page = b"<a href=outer.html>before <em><a href=inner.html>within</a></em></a>"
    anchors = [anchor for _, anchor in Page(BASE, page, "").hyperlinks()]
    assert anchors == ["before", "within"]


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("x.html#part", "http://127.0.0.1:8000/dir/x.html"),
        ("../x y.html?q=a b", "http://127.0.0.1:8000/x%20y.html?q=a%20b"),
        ("\n /ä/%41 ", "http://127.0.0.1:8000/%C3%A4/%41"),
        ("HTTP://Host:80", "http://host/"),
        ("https://host:443/a/./b/../c", "https://host/a/c"),
        ("javascript:void(0)", None),
        ("http://[bad", None),
    ],
)
def test_walk_resolves_references(reference: str, url: str | None) -> None:
    assert resolve(BASE, reference) == url


def test_generated_web_links_a_million_urls_from_a_hundred_thousand_pages() -> None:
    pages = Pages(Shape())
    known = {0}
    for number in range(100_000):
        known.update(pages.targets(number))
    assert len(known) == 1_000_001


def test_generated_web_fails_the_given_share_and_always_the_same_pages() -> None:
    shape = Shape(errors=0.05)
    failing, again = ([number for number in range(20_000) if web.fails(number)] for web in (Pages(shape), Pages(shape)))
    assert failing == again
    assert 800 < len(failing) < 1_200


def test_generated_web_has_the_given_depth_and_is_connected() -> None:
    pages = Pages(Shape(pages=1_000, links=10, depth=40))
    depths, queue = {0: 0}, [0]
    for number in queue:
        for target in pages.targets(number):
            if target not in depths:
                depths[target] = depths[number] + 1
                queue.append(target)
    assert len(depths) == 1_000
    assert max(depths.values()) == 40


def test_generated_web_responses_depend_on_the_page_number_only() -> None:
    shape = Shape(pages=50, links=3, size=200)
    with GeneratedWeb(shape) as web, GeneratedWeb(shape) as again:
        page = request(web.url)[1]
        assert page == request(again.url)[1]
        assert '<a href="/3">page 3</a>' in page
        base = web.url.removesuffix("/0")
        assert request(f"{base}/49")[0].status == 200
        assert request(f"{base}/50")[0].status == 404
        assert request(f"{base}/robots.txt")[0].status == 404
        assert request(web.url, "HEAD")[1] == ""
