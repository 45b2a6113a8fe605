"""A real web that exists everywhere: Python's own standard-library documentation, rendered by `pydoc` when asked for.

`DemoWeb` starts this module as a process of its own (`python -m gossamer.demo PORT`), so that importing a few hundred
modules does not touch the crawler. The server renders a page on its first request: the crawl drives it, and the first
page is there before the last one is rendered (357 pages took 3.4 s of one core in all, Python 3.11). It listens on
loopback only and ends with the process that started it.

The pages are the same in every run and say nothing about the machine: no file names, no environment, no addresses.
"""

from __future__ import annotations

import hashlib
import html
import importlib
import inspect
import os
import pkgutil
import pydoc
import re
import subprocess
import sys
import sysconfig
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from itertools import groupby
from socketserver import ThreadingTCPServer
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

PORT: Final = 8642  # the same in every run where it is free, so that the same command goes on with the same web

# Not rendered: what acts when imported (antigravity opens a browser, this prints), what needs a display, what is about
# Python's own making, and the hundred tables of `encodings`.
EXCLUDED_MODULES: Final = frozenset(
    {
        "__hello__",
        "__main__",
        "__phello__",
        "antigravity",
        "distutils",
        "encodings",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "pydoc_data",
        "test",
        "this",
        "tkinter",
        "turtle",
        "turtledemo",
    }
)

MAX_VALUE_LENGTH: Final = 100  # characters of a constant's value worth showing

# Default values in signatures can hold the address of an object, the whole environment (`cgi` does so) or a path.
MACHINE_DETAILS: Final = re.compile(
    r" at 0x[0-9a-fA-F]+|environ\(\{.*?\}\)|"
    + "|".join(re.escape(html.escape(path, quote=False)) for path in (sys.executable, sysconfig.get_path("stdlib")))
)

# What of the environment Python itself may need to start; the rest is nobody's business.
KEPT_VARIABLES: Final = frozenset({"LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "SYSTEMROOT"})

STYLE: Final = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1d2430 }
nav { font-size: .9rem } nav a { margin-right: 1rem }
h1 { margin: .5rem 0 1rem } h2 { margin-top: 2rem; border-bottom: 1px solid #d5dae3 } h3 { margin: 1.5rem 0 .5rem }
.code { font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap } .grey { color: #6b7484 }
dl { margin: .5rem 0 } ul.names { columns: 12rem; list-style: none; padding: 0 } a { color: #1a56b0 }
"""


class DemoResponse(NamedTuple):
    """What the server sends for a path."""

    body: bytes
    media_type: str = "text/html; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


class PydocRenderer(pydoc.HTMLDoc):
    """pydoc's HTML, with headings a search engine can see and without what belongs to this machine only."""

    def heading(self, title: str, extras: str = "") -> str:
        """A page's top: the ways out, then its name."""
        return "<nav>{}</nav>\n<h1>{}</h1>\n".format(re.sub("(<br>)+", " ", extras), title)

    def section(self, title: str, cls: str, contents: str, width: int = 6, prelude: str = "", *_: object) -> str:  # noqa: ARG002
        """A class."""
        return f'<section class="{cls}">\n<h3>{title}</h3>\n{prelude}\n{contents}\n</section>\n'

    def bigsection(self, title: str, cls: str, contents: str) -> str:
        """All classes, all functions, all data."""
        return f'<section class="{cls}">\n<h2>{title}</h2>\n{contents}\n</section>\n'

    def preformat(self, text: str) -> str:
        """Plain text, as it is: pydoc writes spaces as &nbsp; and line ends as <br>, the style sheet does it better."""
        return self.escape(text.expandtabs())

    def multicolumn(self, list: list[object], format: Callable[[object], str]) -> str:  # type: ignore[override]  # noqa: A002
        """A list of modules."""
        return '<ul class="names">{}</ul>'.format("".join(f"<li>{format(item)}</li>\n" for item in list))

    def filelink(self, url: str, path: str) -> str:  # noqa: ARG002
        """Nothing: where the source lies is a matter of this machine."""
        return ""

    def docother(self, object: object, name: str | None = None, mod: str | None = None, *_: object) -> str:  # noqa: A002, ARG002
        """Show plain constants only: other values hold paths, the environment or what else this process knows."""
        if isinstance(object, int | float | complex | None) or (
            isinstance(object, str) and not set(object) & {"/", "\\"}
        ):
            value = repr(object)
            if len(value) <= MAX_VALUE_LENGTH:
                return f"<strong>{name}</strong> = {self.escape(value)}"
        return f"<strong>{name}</strong>: {self.escape(type(object).__name__)}"


class DemoPages:
    """The pages, by path."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._modules = dict(importable_modules())
        self._renderer = PydocRenderer()
        self._lock = threading.Lock()  # pydoc and the import system are not worth trusting with threads
        self._responses: dict[str, DemoResponse] = {}

    def response(self, path: str) -> DemoResponse:
        """The answer for a path; rendered once."""
        with self._lock:
            if path not in self._responses:
                response = self._render(path)
                if response.status is not HTTPStatus.OK:
                    return response  # not kept: there is no end to wrong paths
                self._responses[path] = response
            return self._responses[path]

    def _render(self, path: str) -> DemoResponse:
        if path == "/":
            return self._index_page()
        if path == "/robots.txt":
            text = f"User-agent: *\nAllow: /\n\nSitemap: {self._origin}/sitemap.xml\n"
            return DemoResponse(text.encode(), "text/plain; charset=utf-8")
        if path == "/sitemap.xml":
            return self._sitemap_file()
        name = path.removeprefix("/").removesuffix(".html")
        if path == f"/{name}.html" and name in self._modules:
            return self._module_page(name)
        body = build_html("Not found", "", '<h1>Not found</h1>\n<p><a href="/">All modules</a></p>')
        return DemoResponse(body, status=HTTPStatus.NOT_FOUND)

    def _index_page(self) -> DemoResponse:
        parts = [
            "<h1>The Python standard library</h1>\n<p>Its modules, as their own documentation describes them.</p>\n"
        ]
        for letter, names in groupby(sorted(self._modules, key=str.lower), key=lambda name: name[0].upper()):
            rows = (f'<dt><a href="{name}.html">{name}</a></dt><dd>{self._synopsis(name)}</dd>\n' for name in names)
            parts.append(f"<section>\n<h2>{letter}</h2>\n<dl>\n{''.join(rows)}</dl>\n</section>\n")
        return DemoResponse(
            build_html("The Python standard library", "All modules of the standard library.", "".join(parts))
        )

    def _sitemap_file(self) -> DemoResponse:
        locations = "".join(f"<url><loc>{self._origin}/{name}.html</loc></url>\n" for name in self._modules)
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
            f"<url><loc>{self._origin}/</loc></url>\n{locations}</urlset>\n"
        )
        return DemoResponse(text.encode(), "application/xml")

    def _module_page(self, name: str) -> DemoResponse:
        contents = MACHINE_DETAILS.sub("…", self._renderer.document(self._modules[name], name))
        contents = re.sub(r'<a href="([\w.]+)\.html(?:#[^"]*)?"[^>]*>(.*?)</a>', self._link_or_text, contents)
        return DemoResponse(build_html(f"{name}: Python standard library", self._synopsis(name), contents))

    def _link_or_text(self, link: re.Match[str]) -> str:
        """pydoc links every module it meets; those that are not part of this web stay text."""
        return link[0] if link[1] in self._modules else link[2]

    def _synopsis(self, name: str) -> str:
        return html.escape(pydoc.splitdoc(inspect.getdoc(self._modules[name]) or "")[0])


def build_html(title: str, description: str, contents: str) -> bytes:
    """One HTML page."""
    meta = f'<meta name="description" content="{description}">\n' if description else ""
    text = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n{meta}'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{contents}</main>\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "backslashreplace")


def importable_modules() -> Iterator[tuple[str, ModuleType]]:
    """The public modules of the standard library that this machine can import, packages' submodules after them."""
    for name in sorted(sys.stdlib_module_names - EXCLUDED_MODULES):
        if not name.startswith("_") or name == "__future__":
            yield from _walk_module(name)


def _walk_module(name: str) -> Iterator[tuple[str, ModuleType]]:
    try:
        module = importlib.import_module(name)
    except ImportError:
        return  # made for another system, or built without its library
    yield name, module
    for submodule in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not submodule.name.startswith("_") and submodule.name not in {"test", "tests"}:
            yield from _walk_module(f"{name}.{submodule.name}")


class DemoHandler(BaseHTTPRequestHandler):
    """GET and HEAD, with an ETag, so that a second crawl can ask whether anything changed."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes: with Nagle each page waits 40 ms for an ACK
    server_version = "gossamer-demo"
    sys_version = ""
    server: DemoServer

    def do_GET(self) -> None:
        """Send the answer for the path."""
        response = self.server.pages.response(self.path)
        etag = f'"{hashlib.blake2b(response.body, digest_size=16).hexdigest()}"'
        is_unchanged = response.status is HTTPStatus.OK and self.headers.get("If-None-Match") == etag
        self.send_response(HTTPStatus.NOT_MODIFIED if is_unchanged else response.status)
        self.send_header("ETag", etag)
        if not is_unchanged:
            self.send_header("Content-Type", response.media_type)
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if not is_unchanged and self.command != "HEAD":
            self.wfile.write(response.body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the crawl's display has the terminal."""


class DemoServer(ThreadingTCPServer):  # not HTTPServer, which asks the DNS for the machine's name
    """The demo web on a loopback port: the wished one, or any free one."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64
    pages: DemoPages

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), DemoHandler)
        except OSError:
            super().__init__(("127.0.0.1", 0), DemoHandler)
        self.origin = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no fault of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class DemoWeb:
    """The demo web, served by a process of its own as long as the context lasts."""

    def __init__(self, port: int = PORT) -> None:
        self._port = port
        self.url = ""  # known once entered

    def __enter__(self) -> Self:
        # A fixed hash seed gives sets one order in all runs; -P keeps modules of the working directory out.
        environment = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES}
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-W", "ignore", "-m", "gossamer.demo", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, "PYTHONHASHSEED": "0"},
            start_new_session=True,  # Ctrl-C is for the crawler, which still wants what is in flight
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            self.__exit__()
            raise GossamerError("The demo web did not start; the reason stands above. Give a URL to crawl instead.")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def serve(port: int) -> None:
    """Serve until the parent goes away: whatever ends it, even SIGKILL, closes our standard input."""
    # Without a docstring pydoc looks for comments, and reads the source again for each: 7.7 s instead of 3.4 s.
    inspect.getcomments = lambda object: None  # noqa: A006, ARG005
    with DemoServer(port) as server:
        sys.stdout.write(f"{server.origin}/\n")  # the port is open: who asks now waits for the modules to be imported
        sys.stdout.flush()
        server.pages = DemoPages(server.origin)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
