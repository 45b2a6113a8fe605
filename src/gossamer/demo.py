"""The demo web: the documentation of Python's standard library, rendered by `pydoc` on request.

`DemoWeb` starts this module as a process (`python -m gossamer.demo PORT`), so that the crawler does not import a few
hundred modules. The server renders a page at its first request, so a crawl need not wait for the last one. All 357
pages take 3.4 s of one core (Python 3.11). The server listens on loopback only, and exits with the process that started
it.

The pages are the same in every run and reveal nothing about the machine: no file names, no environment, no addresses.
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
from gossamer.processes.start import start_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

PORT: Final = 8642  # fixed, so that the same command continues the same web; another one if it is taken

# Modules that act when imported (antigravity opens a browser, this prints), need a display, or belong to the making of
# Python; and the hundred tables of `encodings`.
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

MAX_VALUE_LENGTH: Final = 100  # characters; the pages show only the type of a longer constant

# Default values in signatures can hold the address of an object, the whole environment (in `cgi`) or a path.
MACHINE_DETAILS: Final = re.compile(
    r" at 0x[0-9a-fA-F]+|environ\(\{.*?\}\)|"
    + "|".join(re.escape(html.escape(path, quote=False)) for path in (sys.executable, sysconfig.get_path("stdlib")))
)

# Environment variables that Python may need to start. The others may hold secrets and are not passed on.
KEPT_VARIABLES: Final = frozenset({"LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "SYSTEMROOT"})

STYLE: Final = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1d2430 }
nav { font-size: .9rem } nav a { margin-right: 1rem }
h1 { margin: .5rem 0 1rem } h2 { margin-top: 2rem; border-bottom: 1px solid #d5dae3 } h3 { margin: 1.5rem 0 .5rem }
.code { font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap } .grey { color: #6b7484 }
dl { margin: .5rem 0 } ul.names { columns: 12rem; list-style: none; padding: 0 } a { color: #1a56b0 }
"""


class DemoResponse(NamedTuple):
    """The server's response for a path."""

    body: bytes
    media_type: str = "text/html; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


class PydocRenderer(pydoc.HTMLDoc):
    """pydoc's HTML with real headings, and without details of this machine."""

    def heading(self, title: str, extras: str = "") -> str:
        """Return the top of a page: navigation, then the title."""
        return "<nav>{}</nav>\n<h1>{}</h1>\n".format(re.sub("(<br>)+", " ", extras), title)

    def section(self, title: str, cls: str, contents: str, width: int = 6, prelude: str = "", *_: object) -> str:  # noqa: ARG002
        """Return the section of a class."""
        return f'<section class="{cls}">\n<h3>{title}</h3>\n{prelude}\n{contents}\n</section>\n'

    def bigsection(self, title: str, cls: str, contents: str) -> str:
        """Return the section of all classes, all functions or all data."""
        return f'<section class="{cls}">\n<h2>{title}</h2>\n{contents}\n</section>\n'

    def preformat(self, text: str) -> str:
        """Return escaped text. The style sheet keeps spaces and line ends, so no &nbsp; and <br> are needed."""
        return self.escape(text.expandtabs())

    def multicolumn(self, list: list[object], format: Callable[[object], str]) -> str:  # type: ignore[override]  # noqa: A002
        """Return a list of modules."""
        return '<ul class="names">{}</ul>'.format("".join(f"<li>{format(item)}</li>\n" for item in list))

    def filelink(self, url: str, path: str) -> str:  # noqa: ARG002
        """Return nothing, because the path of the source is a detail of this machine."""
        return ""

    def docother(self, object: object, name: str | None = None, mod: str | None = None, *_: object) -> str:  # noqa: A002, ARG002
        """Return the value of a plain constant, and only the type of others, which may hold paths or variables."""
        if isinstance(object, int | float | complex | None) or (
            isinstance(object, str) and not set(object) & {"/", "\\"}
        ):
            value = repr(object)
            if len(value) <= MAX_VALUE_LENGTH:
                return f"<strong>{name}</strong> = {self.escape(value)}"
        return f"<strong>{name}</strong>: {self.escape(type(object).__name__)}"


class DemoPages:
    """The pages by path, rendered at their first request."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._modules = dict(importable_modules())
        self._renderer = PydocRenderer()
        self._lock = threading.Lock()  # pydoc is not thread-safe
        self._responses: dict[str, DemoResponse] = {}

    def response(self, path: str) -> DemoResponse:
        """Return the response for a path. Each page is rendered once."""
        with self._lock:
            if path not in self._responses:
                response = self._render(path)
                if response.status is not HTTPStatus.OK:
                    return response  # not cached, because wrong paths are unlimited
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
        """Return a link to a module of this web, and plain text for other modules, which pydoc links too."""
        return link[0] if link[1] in self._modules else link[2]

    def _synopsis(self, name: str) -> str:
        return html.escape(pydoc.splitdoc(inspect.getdoc(self._modules[name]) or "")[0])


def build_html(title: str, description: str, contents: str) -> bytes:
    """Return one HTML page."""
    meta = f'<meta name="description" content="{description}">\n' if description else ""
    text = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n{meta}'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{contents}</main>\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "backslashreplace")


def importable_modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield the public modules of the standard library that this machine can import, packages before submodules."""
    for name in sorted(sys.stdlib_module_names - EXCLUDED_MODULES):
        if not name.startswith("_") or name == "__future__":
            yield from _walk_module(name)


def _walk_module(name: str) -> Iterator[tuple[str, ModuleType]]:
    try:
        module = importlib.import_module(name)
    except ImportError:
        return  # for another system, or built without its library
    yield name, module
    for submodule in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not submodule.name.startswith("_") and submodule.name not in {"test", "tests"}:
            yield from _walk_module(f"{name}.{submodule.name}")


class DemoHandler(BaseHTTPRequestHandler):
    """Handles GET and HEAD, with an ETag, so that a second crawl gets 304 for unchanged pages."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes, and Nagle would delay the second one by 40 ms
    server_version = "gossamer-demo"
    sys_version = ""
    server: DemoServer

    def do_GET(self) -> None:
        """Send the response for the path."""
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
        """Log nothing, because the crawl's display uses the terminal."""


class DemoServer(ThreadingTCPServer):  # not HTTPServer, which looks up the machine's name in the DNS
    """The server on a loopback port: the given one, or any free one if it is taken."""

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
        """Ignore clients that disconnect, and report other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class DemoWeb:
    """A context manager that serves the demo web from a child process."""

    def __init__(self, port: int = PORT) -> None:
        self._port = port
        self.url = ""  # set on entry

    def __enter__(self) -> Self:
        # A fixed hash seed gives sets the same order in all runs.
        environment = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES}
        self._process = start_python(
            "-W", "ignore", "-m", "gossamer.demo", str(self._port),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, environment={**environment, "PYTHONHASHSEED": "0"},
            own_session=True,  # Ctrl-C must reach only the crawler, which finishes its transfers
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            self.__exit__()
            raise GossamerError("The demo web did not start; see the error above. Give a URL to crawl instead.")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def serve(port: int) -> None:
    """Serve until the parent exits. Any exit, even by SIGKILL, closes this process's standard input."""
    # For objects without a docstring pydoc searches the source for comments, which takes more than half of the time.
    inspect.getcomments = lambda object: None  # noqa: A006, ARG005
    with DemoServer(port) as server:
        sys.stdout.write(f"{server.origin}/\n")  # the port is open; early requests wait until the modules are imported
        sys.stdout.flush()
        server.pages = DemoPages(server.origin)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
