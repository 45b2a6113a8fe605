"""Serve folders as sites with a real nginx: own configuration, own log, loopback only, as root or not."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES = """
    text/html html htm; text/plain txt; text/css css; text/xml xml; application/javascript js; application/json json;
    application/pdf pdf; application/xhtml+xml xhtml; application/rss+xml rss; application/atom+xml atom;
    application/gzip gz; image/png png; image/jpeg jpg jpeg; image/gif gif; image/svg+xml svg; image/x-icon ico;
"""

PROBE = "bell"  # a site that only responds


class Site(NamedTuple):
    """A folder to serve."""

    root: Path
    directives: str = ""  # extra nginx directives for its server block


class LoggedRequest(NamedTuple):
    """One line of the access log."""

    time: float  # of the response (Unix time)
    site: str
    method: str
    path: str  # as requested, with the query
    status: int
    agent: str


class Nginx:
    """nginx with one port per site, as a context manager."""

    def __init__(
        self, binary: Path, sites: Mapping[str, Site], *, gzip: bool = False, log: bool = True, more: str = ""
    ) -> None:
        self._binary = binary
        self._more = more  # directives for all sites
        self._sites = {**sites, PROBE: Site(Path("/nowhere"), "access_log off; return 204;")}
        self._gzip = gzip
        self._log = log
        self._ports: dict[str, int] = {}

    def url(self, site: str, path: str = "/") -> str:
        """Return the URL of a path of a site."""
        return f"http://127.0.0.1:{self._ports[site]}{path}"

    def requests(self) -> list[LoggedRequest]:
        """Return every answered request so far, in order."""
        # nginx sends a response before it logs it. Its one worker has logged all earlier ones when it responds to this.
        with closing(HTTPConnection("127.0.0.1", self._ports[PROBE])) as connection:
            connection.request("GET", "/")
            connection.getresponse()
        by_port = {port: name for name, port in self._ports.items()}
        with (self._folder / "access.log").open() as lines:
            rows = (json.loads(line) for line in lines)
            return [LoggedRequest(row["t"], by_port[row["p"]], row["m"], row["u"], row["s"], row["a"]) for row in rows]

    def __enter__(self) -> Self:
        self._temporary = tempfile.TemporaryDirectory(prefix="gossamer-nginx-")
        self._folder = Path(self._temporary.name)
        # nginx inherits listening sockets named in NGINX (its upgrade mechanism). So no other process can take a port,
        # and clients can connect at once.
        sockets = [_listening_socket() for _ in self._sites]
        self._ports = {name: opened.getsockname()[1] for name, opened in zip(self._sites, sockets, strict=True)}
        configuration = self._folder / "nginx.conf"
        configuration.write_text(self._configuration())
        self._process = subprocess.Popen(
            [self._binary, "-e", self._folder / "error.log", "-p", self._folder, "-c", configuration],
            pass_fds=[opened.fileno() for opened in sockets],
            env={"NGINX": "".join(f"{opened.fileno()};" for opened in sockets)},
            stdin=subprocess.DEVNULL,
        )
        for opened in sockets:
            opened.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._temporary.cleanup()

    def _configuration(self) -> str:
        folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        servers = "\n".join(
            f"server {{ listen 127.0.0.1:{self._ports[name]}; root '{site.root}'; {site.directives} }}"
            for name, site in self._sites.items()
        )
        return f"""
            daemon off;
            {"user root;" if os.geteuid() == 0 else ""}
            worker_processes 1;
            pid nginx.pid;
            events {{ worker_connections 2048; }}
            http {{
                types {{ {TYPES} }}
                default_type application/octet-stream;
                index index.html;
                autoindex off;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 1000000;
                gzip {"on" if self._gzip else "off"};
                gzip_types text/plain text/xml application/xhtml+xml application/rss+xml application/atom+xml;
                log_format asked escape=json
                    '{{"t":$msec,"p":$server_port,"m":"$request_method","u":"$request_uri","s":$status,"a":"$http_user_agent"}}';
                access_log {"access.log asked" if self._log else "off"};
                {self._more}
                {" ".join(f"{name}_temp_path {name};" for name in folders)}
                {servers}
            }}
        """


def _listening_socket() -> socket.socket:
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(511)
    opened.setblocking(False)  # nginx expects that of an inherited socket
    return opened
