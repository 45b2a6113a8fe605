"""`gossamer go` crawls and serves at once: results appear as they arrive, and Ctrl-C ends both."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import psutil

from helpers.cli.commands import RANKING, command, environment
from helpers.patience import PATIENCE, until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def slow_site(pages: int) -> dict[str, str | SiteResponse]:
    """Return a chain of pages that takes some seconds to visit."""
    html = '<html lang="en"><title>Page {}</title><p>gossamer number {}</p><a href="/{}">on</a>'
    chain = {f"/{n}": SiteResponse(html.format(n, n, n + 1), seconds=0.1) for n in range(1, pages)}
    return {"/": SiteResponse(html.format(0, 0, 1)), **chain}


@contextmanager
def run_go(url: str, store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; yield its process and the URL of its web app."""
    process = subprocess.Popen(
        command("go", url, "--store", store, "--port", 0, "--quiet"), stderr=subprocess.PIPE, text=True,
        env=environment({"GOSSAMER_TOKEN": "t", **RANKING}), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("See the results: "))
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def hit_count(app: str) -> int:
    """Return the number of pages that a search finds now; 0 while there is no index."""
    response = httpx.get(f"{app}api/search?q=gossamer", timeout=PATIENCE)
    return int(response.json()["total"]) if response.status_code == 200 else 0


def test_results_appear_during_the_crawl_and_ctrl_c_ends_crawl_and_web_app(tmp_path: Path) -> None:
    with SiteServer(slow_site(3_000)) as site, run_go(site.url, tmp_path / "web") as (process, app):
        until(lambda: hit_count(app) > 3)
        assert httpx.get(f"{app}api/status", timeout=PATIENCE).json()["crawlers"][0]["state"] == "running"
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        _, alive = psutil.wait_procs(children, PATIENCE)
        assert alive == []


def test_go_ranks_after_the_crawl_and_serves_until_ctrl_c(tmp_path: Path) -> None:
    with SiteServer(slow_site(8)) as site, run_go(site.url, tmp_path / "web") as (process, app):
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("Ranked "))
        assert line == "Ranked 8 pages by 7 links.\n"
        assert next(process.stderr).startswith("Ctrl-C ends the web app")
        assert hit_count(app) == 8
        assert httpx.get(f"{app}api/graph?level=pages", timeout=PATIENCE).json()["known"]["nodes"] == 8
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
