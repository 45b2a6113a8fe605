"""Run the real command and read its store with plain SQL."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psutil

from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NO_RANKING = {"GOSSAMER_CRAWL_RANK": "false"}
RANKING = {"GOSSAMER_CRAWL_RANK": "true"}
FAST = ("--delay", "0", "--connections", "16")


def gossamer(
    *arguments: object, env: Mapping[str, str] | None = None, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Run a command and wait for its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, timeout=timeout, env=environment(env),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def command(*arguments: object) -> list[str]:
    """Return the command line of `gossamer`."""
    return [sys.executable, "-m", "gossamer", *map(str, arguments)]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment without variables that change Gossamer's behaviour.

    Browsers render pages in the tests that ask for it, whatever the machine has.
    Crawls do not rank (`extra` may change that): a ranking takes longer than most crawls of a test.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**clean, **NO_RANKING, "GOSSAMER_CRAWL_RENDER": "never", **(extra or {})}


def crawl(url: str, store: Path, *arguments: object, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Crawl to the end and return the summary."""
    result = gossamer("crawl", url, "--store", store, "--json", *arguments, env=env)
    assert result.returncode == 0, result.stderr
    summary: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return summary


def query(store: Path, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Return rows of the store."""
    with closing(sqlite3.connect(f"file:{store / 'web.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql, parameters).fetchall()


def outcomes(store: Path) -> dict[str, str]:
    """Return the outcome of every visited URL."""
    return dict(query(store, "SELECT url, outcome FROM resources WHERE outcome <> ''"))


def reasons(store: Path) -> dict[str, tuple[str, str]]:
    """Return outcome and reason of every URL that the crawl tried or refused."""
    rows = query(store, "SELECT url, outcome, reason FROM resources WHERE outcome <> ''")
    return {url: (outcome, reason) for url, outcome, reason in rows}


def hyperlinks(store: Path) -> dict[str, Counter[tuple[str, str]]]:
    """Return, per page, the weight of each (target, anchor text) of `a` and `area`."""
    weights: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for source, target, anchor, weight in query(
        store,
        "SELECT s.url, t.url, anchor, weight FROM links JOIN resources s ON s.id = source"
        " JOIN resources t ON t.id = target WHERE links.kind = 1",
    ):
        weights[source][target, anchor] += weight
    return weights


def resources_and_links(store: Path) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Return resources with their digests, and links: interruptions of a crawl must not change them."""
    resources = query(
        store,
        "SELECT r.url, r.digest, r.state, r.outcome, r.status, r.content_digest, r.text_digest, r.title,"
        " coalesce(b.number, 0), t.body IS NOT NULL, s.body IS NOT NULL FROM resources r"
        " LEFT JOIN backlinks b ON b.resource = r.id LEFT JOIN texts t ON t.resource = r.id"
        " LEFT JOIN sources s ON s.resource = r.id",
    )
    links = query(
        store,
        "SELECT s.url, seq, t.url, l.kind, l.follow, weight, position, rel, anchor FROM links l"
        " JOIN resources s ON s.id = source JOIN resources t ON t.id = target",
    )
    assert len(set(resources)) == len(resources)
    assert len(set(links)) == len(links)
    return set(resources), set(links)


class PeakMemory:
    """Records the peak memory (PSS) of a process and its children until it ends."""

    def __init__(self, pid: int) -> None:
        self._peak = 0
        self._process = psutil.Process(pid)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        while True:
            try:
                family = [self._process, *self._process.children(recursive=True)]
                self._peak = max(self._peak, sum(each.memory_full_info().pss for each in family))
                time.sleep(0.2)
            except psutil.NoSuchProcess:
                if not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE:
                    return

    def peak(self) -> int:
        """Return the peak in bytes."""
        self._watcher.join(5)
        return self._peak
