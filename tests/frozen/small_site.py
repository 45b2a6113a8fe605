"""The pages of the kept web, and a proxy on this machine that answers for their hosts.

Gossamer reaches the hosts through the proxy (`--proxy URL --trust-proxy`). So the kept web has the same URLs on every
machine, and no request leaves the machine.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

GARDEN = "http://garden.example/"
MUSEUM = "http://museum.example/"
HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
XML = {"Content-Type": "application/xml"}
SLOW_SECONDS = 20.0  # longer than a crawl of all other pages takes


class Reply(NamedTuple):
    """The answer to a request."""

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = HTML
    seconds: float = 0.0  # before the answer starts
    missing_bytes: int = 0  # that Content-Length promises and the server does not send


Pages = dict[str, str | Reply]


class Proxy:
    """An HTTP proxy that knows the pages by their URLs. `pages` may change while it runs."""

    def __init__(self, pages: Pages) -> None:
        self.pages = dict(pages)
        self.requests: list[str] = []  # URLs
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.flags = ("--proxy", f"http://127.0.0.1:{self._server.server_address[1]}", "--trust-proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.proxy.requests.append(self.path)
        page = self.proxy.pages.get(self.path, Reply("<title>Not here</title>", 404))
        reply = Reply(page) if isinstance(page, str) else page
        time.sleep(reply.seconds)
        etag = reply.headers.get("ETag")
        if etag and self.headers.get("If-None-Match") == etag:
            reply = Reply("", 304, {"ETag": etag})
        body = reply.body.encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(body) + reply.missing_bytes))
        if reply.missing_bytes:
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            with suppress(ConnectionError):  # a crawler that was killed does not read the answer
                self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - a name of http.server

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def page(title: str, body: str, *, head: str = "", language: str = "en") -> str:
    """An HTML page."""
    return (
        f'<!doctype html><html lang="{language}"><head><title>{title}</title>{head}</head>'
        f"<body><h1>{title}</h1>{body}</body></html>"
    )


def first_pages() -> Pages:
    """The pages as the first crawl finds them."""
    roses = page(
        "Roses",
        "<p>Roses need sun. A rose blooms in June, and roses bloom again in autumn.</p><h2>Pruning</h2>"
        '<p>Prune roses in spring.</p><p><a href="/">The garden</a> <a href="/orchids">orchids</a></p>',
        head='<meta name="description" content="How to grow roses."><link rel="canonical" href="/roses">'
        '<link rel="alternate" hreflang="de" href="/rosen">',
    )
    rosen = page(
        "Rosen",
        '<p>Rosen brauchen Sonne und guten Boden. Im Juni blühen sie. <a href="/roses">English</a></p>',
        language="de",
    )
    pages: Pages = {
        f"{GARDEN}robots.txt": Reply(f"User-agent: *\nDisallow: /private/\nSitemap: {GARDEN}sitemap.xml\n", 200, TEXT),
        f"{GARDEN}sitemap.xml": Reply(
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>{GARDEN}</loc><lastmod>2024-12-02</lastmod></url>"
            f"<url><loc>{GARDEN}hidden</loc><changefreq>weekly</changefreq></url></urlset>",
            200,
            XML,
        ),
        GARDEN: page(
            "Garden",
            "<p>A garden with roses, orchids and ferns, and all that grows between them.</p>"
            '<nav><a href="/roses">roses</a> <a href="/roses">roses</a> <a href="/orchids">orchids</a></nav>'
            '<p><a href="/ferns">ferns</a>, <a href="/rosen">Rosen</a>, <a href="/copy">a copy</a>,'
            ' <a href="/twin">twin</a>,'
            ' <a href="/old-roses">old roses</a>, <a href="/missing">a page that is missing</a>,'
            ' <a href="/private/notes">private notes</a>, <a href="/broken">a broken page</a>,'
            ' <a href="/cut">a page that is cut short</a>, <a href="/round-1">round and round</a>,'
            ' <a href="/notes.txt">notes</a>, <a href="/seeds.bin">a program</a>, <a href="/feed">news</a>,'
            f' <a href="/members" rel="nofollow">members</a>, <a href="{MUSEUM}">the museum</a>,'
            ' <a href="http://elsewhere.example/">elsewhere</a></p><p><img src="/rose.png" alt="A rose"></p>',
            head='<script src="/garden.js"></script><link rel="stylesheet" href="/garden.css">',
        ),
        f"{GARDEN}roses": Reply(roses, 200, {**HTML, "ETag": '"roses-1"'}),
        f"{GARDEN}copy": roses,
        f"{GARDEN}rosen": rosen,
        f"{GARDEN}twin": rosen,
        f"{GARDEN}orchids": page(
            "Orchids",
            '<p>Orchids need shade and patience. <a href="/roses">roses</a> <a href="/ferns">ferns</a></p>',
        ),
        f"{GARDEN}ferns": page("Ferns", '<p>Ferns need water. <a href="/">home</a></p>'),
        f"{GARDEN}hidden": page("Hidden", '<p>No page links to this one. <a href="/">home</a></p>'),
        f"{GARDEN}old-roses": Reply("", 301, {"Location": "/roses"}),
        f"{GARDEN}broken": Reply("<title>Broken</title>", 500),
        f"{GARDEN}cut": Reply("<title>Cut</title>", missing_bytes=500),
        f"{GARDEN}round-1": Reply("", 302, {"Location": "/round-2"}),
        f"{GARDEN}round-2": Reply("", 302, {"Location": "/round-1"}),
        f"{GARDEN}notes.txt": Reply("Water the orchids on Monday.", 200, TEXT),
        f"{GARDEN}seeds.bin": Reply("\0\1\2", 200, {"Content-Type": "application/octet-stream"}),
        f"{GARDEN}feed": Reply(
            '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>'
            f'<entry><title>Orchids</title><link href="{GARDEN}orchids"/><updated>2024-12-03T00:00:00Z</updated>'
            "</entry></feed>",
            200,
            {"Content-Type": "application/atom+xml"},
        ),
        MUSEUM: page(
            "Museum",
            "<p>A museum of gardens.</p>"
            + "".join(f'<a href="/hall/{number}">hall {number}</a> ' for number in range(1, 7))
            + f'<a href="{GARDEN}roses">roses of the garden</a>',
        ),
    }
    for number in range(1, 7):
        pages[f"{MUSEUM}hall/{number}"] = page(
            f"Hall {number}", f'<p>Hall {number} shows garden tools. <a href="/">Museum</a></p>'
        )
    return pages


def later_pages() -> Pages:
    """The same site some time later: one page changed, one is gone, one is new."""
    pages = first_pages()
    pages[f"{GARDEN}orchids"] = page(
        "Orchids and lilies",
        '<p>Orchids need shade. Lilies need sun. <a href="/roses">roses</a> <a href="/lilies">lilies</a></p>',
    )
    pages[f"{GARDEN}lilies"] = page("Lilies", '<p>Lilies bloom in July. <a href="/orchids">orchids</a></p>')
    del pages[f"{GARDEN}ferns"]
    return pages


def slow_museum() -> Pages:
    """The same site, but most of the museum answers after a long time: a crawl can be killed meanwhile."""
    pages = later_pages()
    for number in range(3, 7):
        url = f"{MUSEUM}hall/{number}"
        hall = pages[url]
        assert isinstance(hall, str)
        pages[url] = Reply(hall, seconds=SLOW_SECONDS)
    return pages
