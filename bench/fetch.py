"""The cost of a fetched page: pages per second and CPU per page of the fetcher alone, from nginx on loopback.

python bench/fetch.py [--root DIRECTORY] [--pages N] [--transfers N]

Only the CPU of this process counts: libcurl and all Python code that handles a page. nginx does not count. Target: at
most 0.09 ms per page of 26 kB at 32 transfers.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import selectors
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.config import DEFAULT_ACCEPT, FetchSettings
from gossamer.fetch.fetcher import Fetcher
from gossamer.model import Outcome, Request, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTATION = Path("/usr/share/doc/openjdk-17-jre-headless/api")  # Debian's openjdk-17-doc: 10,000 pages of 26 kB
CONFIGURATION = """
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; keepalive_requests 1000000; types {{ text/html html; }}
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  server {{ listen 127.0.0.1:{port}; root "{root}"; }}
}}
"""


@contextlib.contextmanager
def nginx(root: Path) -> Iterator[str]:
    """Serve a directory and yield its URL."""
    with tempfile.TemporaryDirectory() as home, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        configuration = Path(home, "nginx.conf")
        configuration.write_text(CONFIGURATION.format(home=home, port=port, root=root))
        command = ["nginx", "-p", home, "-e", f"{home}/error.log", "-c", str(configuration)]
        with subprocess.Popen(command) as server:
            try:
                wait_for(port)
                yield f"http://127.0.0.1:{port}/"
            finally:
                server.terminate()


def wait_for(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise SystemExit("nginx did not start")


def fetch_all(urls: list[str], transfers: int) -> tuple[int, int]:
    """Fetch all URLs, `transfers` at a time; return the number of pages and their bytes."""
    selector = selectors.DefaultSelector()
    fetcher = Fetcher(
        FetchSettings(), {}, accept=DEFAULT_ACCEPT, selector=selector, transfers=transfers, idle_connections=transfers
    )
    fetcher.allow_private(urls[0])
    waiting = iter([Request(id=number, url=url, role=Role.PAGE) for number, url in enumerate(urls)])
    pages = size = 0
    while True:
        for request in itertools.islice(waiting, transfers - fetcher.active_count):
            fetcher.start(request)
        if not fetcher.active_count:
            break
        for key, mask in selector.select(fetcher.next_timeout(time.monotonic())):
            key.data(mask)
        fetcher.tick(time.monotonic())
        for result in fetcher.take_results():
            pages += result.outcome is Outcome.FETCHED
            size += len(result.body)
    fetcher.close()
    selector.close()
    return pages, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=DOCUMENTATION)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--transfers", type=int, default=32)
    options = parser.parse_args()
    files = sorted(path.relative_to(options.root).as_posix() for path in options.root.rglob("*.html"))[: options.pages]
    with nginx(options.root) as site:
        urls = [site + file for file in files]
        fetch_all(urls, options.transfers)  # warms the caches of disk and server
        started, worked = time.perf_counter(), time.process_time()
        pages, size = fetch_all(urls, options.transfers)
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    assert pages == len(urls), f"only {pages} of {len(urls)} pages came"
    print(
        f"{pages} pages of {size / pages / 1000:.1f} kB, {options.transfers} transfers at a time: "
        f"{pages / seconds:,.0f} pages/s, {cpu / pages * 1000:.4f} ms CPU a page"
    )


if __name__ == "__main__":
    main()
