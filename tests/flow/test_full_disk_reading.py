"""A web on a full or read-only disk can be read, also after a crawler was killed with commits in the log."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from helpers.cli.commands import FAST, crawl, gossamer
from helpers.patience import PATIENCE
from helpers.store.small_disk import run_on_a_small_disk
from webs.generated import GeneratedWeb, Shape

PAGES = 12
SIZE = "24m"
COMMANDS = (
    ("status", "--json"), ("search", "page", "--json"), ("report", "--json"), ("hosts", "--json"), ("errors", "--json"),
    ("word", "page", "--json"), ("crawlers", "--json"),
)  # fmt: skip
COMPARED = ("search", "hosts", "errors", "word")  # the others print times, or the state of the killed crawler
PATHS = ("/", "/api/search?q=page", "/api/status", "/reports", "/healthz")
VOLATILE = re.compile(r'"(took_ms|seconds|age|now|free)": ?[\d.e+-]+')
# Commits a batch that stays in the log, because the process is killed before it closes the file.
KILLED_WRITER = """
import os, sys
from gossamer.wiring import open_store
store = open_store(sys.argv[1])
store.join("here", os.getpid())
store.word_ids([f"word{number}" for number in range(2000)])
os.kill(os.getpid(), 9)
"""

WORD_COUNTER = """
import sys
from gossamer.wiring import open_store
print(sum(1 for _ in open_store(sys.argv[1], read_only=True).every_word()))
"""


def fill(disk: Path) -> None:
    """Write zeros until not one byte is free."""
    descriptor = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    for size in (1 << 16, 1):
        try:
            while os.write(descriptor, bytes(size)):
                pass
        except OSError:
            continue
    os.close(descriptor)
    assert shutil.disk_usage(disk).free == 0


def answers(store: Path) -> dict[str, str]:
    """Return what the reading commands print."""
    printed = {}
    for arguments in COMMANDS:
        done = gossamer(*arguments, "--store", store)
        assert done.returncode == 0, (arguments, done.stderr)
        printed[arguments[0]] = VOLATILE.sub("", done.stdout)
    return printed


def served_statuses(store: Path) -> dict[str, int]:
    """Return the status codes of a server."""
    from helpers.web.browser import AppServer

    with AppServer(store) as server:
        return {path: httpx.get(server.url.rstrip("/") + path, timeout=PATIENCE).status_code for path in PATHS}


def known_words(store: Path) -> int:
    done = subprocess.run([sys.executable, "-c", WORD_COUNTER, str(store)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def leave_commits_in_the_log(store: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(store)], check=False)
    assert killed.returncode == -9
    assert (store / "web.db-wal").stat().st_size > 0


def a_web_closed_cleanly(store: Path) -> None:
    assert not (store / "web.db-wal").exists()


def a_web_of_a_killed_crawler(store: Path) -> None:
    leave_commits_in_the_log(store)


def a_web_of_a_killed_crawler_without_the_index_of_its_log(store: Path) -> None:
    leave_commits_in_the_log(store)
    (store / "web.db-shm").unlink()


def full(disk: Path) -> None:
    fill(disk)


def read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


CASES = {case.__name__: case for case in (a_web_closed_cleanly, a_web_of_a_killed_crawler,
                                          a_web_of_a_killed_crawler_without_the_index_of_its_log)}  # fmt: skip
STATES = {state.__name__: state for state in (full, read_only)}


def on_the_small_disk(disk: Path, case: str, state: str) -> None:
    store, copy = disk / "web", Path(sys.argv[4]) / "copy"
    with GeneratedWeb(Shape(pages=PAGES)) as site:
        crawl(site.url, store, *FAST, env={"GOSSAMER_STORE_MIN_FREE": "0"})
    CASES[case](store)
    shutil.copytree(store, copy)  # reading would fold the log into the file, so the test reads a copy
    expected, words = answers(copy), known_words(copy)
    STATES[state](disk)
    assert known_words(store) == words
    found = answers(store)
    for name in COMPARED:
        assert found[name] == expected[name], name
    assert served_statuses(store) == dict.fromkeys(PATHS, 200)


@pytest.mark.parametrize(
    ("case", "state"),
    [
        pytest.param("a_web_closed_cleanly", "full", marks=pytest.mark.full),
        ("a_web_of_a_killed_crawler_without_the_index_of_its_log", "full"),
        pytest.param("a_web_of_a_killed_crawler", "full", marks=pytest.mark.full),
        pytest.param("a_web_closed_cleanly", "read_only", marks=pytest.mark.full),
        pytest.param("a_web_of_a_killed_crawler", "read_only", marks=pytest.mark.full),
    ],
)
def test_every_reading_command_works_without_disk_space(case: str, state: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    run_on_a_small_disk(disk, SIZE, __file__, case, state, str(tmp_path))


if __name__ == "__main__":
    on_the_small_disk(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
