"""`gossamer go` crawls and serves at once: results are seen as they arrive, and Ctrl-C ends it all."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import psutil

from helpers.cli.commands import command, environment
from webs.served import Answer, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def slow_site(pages: int) -> dict[str, str | Answer]:
    """A chain of pages that takes some seconds to visit."""
    html = '<html lang="en"><title>Page {}</title><p>gossamer number {}</p><a href="/{}">on</a>'
    chain = {f"/{n}": Answer(html.format(n, n, n + 1), seconds=0.1) for n in range(1, pages)}
    return {"/": Answer(html.format(0, 0, 1)), **chain}


@contextmanager
def going(url: str, store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and where its web app is."""
    process = subprocess.Popen(
        command("go", url, "--store", store, "--port", 0, "--quiet"), stderr=subprocess.PIPE, text=True,
        env=environment({"GOSSAMER_TOKEN": "t"}), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        told = next(line for line in process.stderr if line.startswith("See what is found: "))
        yield process, told.split()[-1]
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def found(app: str) -> int:
    """Pages that a search finds now; 0 as long as there is no index."""
    answer = httpx.get(f"{app}api/search?q=gossamer", timeout=60)
    return int(answer.json()["total"]) if answer.status_code == 200 else 0


def until(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "It did not happen in time."
        time.sleep(0.2)


def test_results_are_seen_while_the_crawl_runs_and_ctrl_c_ends_crawl_and_web_app(tmp_path: Path) -> None:
    with Served(slow_site(3_000)) as site, going(site.url, tmp_path / "web") as (process, app):
        until(lambda: found(app) > 3)
        assert httpx.get(f"{app}api/status", timeout=60).json()["crawlers"][0]["state"] == "running"
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        _, alive = psutil.wait_procs(children, 20)
        assert alive == []


def test_it_ranks_at_the_end_and_goes_on_serving_until_ctrl_c(tmp_path: Path) -> None:
    with Served(slow_site(8)) as site, going(site.url, tmp_path / "web") as (process, app):
        assert process.stderr is not None
        said = next(line for line in process.stderr if line.startswith("Ranked "))
        assert said == "Ranked 8 pages by 7 links.\n"
        assert next(process.stderr).startswith("Ctrl-C ends the web app")
        assert found(app) == 8
        assert httpx.get(f"{app}api/graph?level=pages", timeout=60).json()["known"]["nodes"] == 8
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
