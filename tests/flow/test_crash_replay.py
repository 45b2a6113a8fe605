"""A crash at any instant: replay what crawl, rank, revisit, forget and index wrote, up to the crash, and open the web.

The recording holds every write, sync and rename of all processes. Each crash point has three ends: a kill, a power cut
that loses everything unsynced, and one that loses a random part of it (`faults.replay`).
"""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import skip_or_fail
from faults import system_calls
from faults.crashed_web import StoredFacts
from faults.operations import Mark, Operation
from faults.replay import SHARED_MEMORY, Disk, Tree, digest, read_tree
from helpers.cli.commands import environment
from webs.served import SiteServer

TESTS = Path(__file__).resolve().parents[1]
PAGES = 9  # of each of the two sites
SAMPLE = 50  # crash points with three ends each in `make test`
ENDS = ("killed", "durable", "torn")
SMALL_BATCHES = {"GOSSAMER_STORE_BATCH_VISITS": "4"}  # so that the crawl commits often


class CrashPoint(NamedTuple):
    """An end of the recording: how it came, and what it left."""

    at: int  # operations before it
    end: str
    tree: Tree
    facts: StoredFacts


def pages(version: int, other: str) -> dict[str, str]:
    """Return a site of a few pages whose texts and links depend on the version."""
    chance = random.Random(version)
    words = [f"word{number}" for number in range(60)]
    site = {}
    for number in range(PAGES):
        links = [f"/{2 * number + 1}", f"/{2 * number + 2}", f"/{chance.randrange(PAGES)}", f"{other}{number}"]
        text = " ".join(chance.choices(words, k=30))
        anchors = "".join(f'<a href="{link}">call {link} {version}</a> ' for link in links)
        site[f"/{number}" if number else "/"] = f"<title>page {number} version {version}</title><p>{text}</p>{anchors}"
    return site


def record(disk: Path, number: int, *arguments: object) -> list[Operation]:
    """Run a command under the recorder; return its operations."""
    target = disk.with_name(f"record{number}")
    line = [sys.executable, "-m", "faults.recording", disk, target, *arguments]
    done = subprocess.run(
        list(map(str, line)), env=environment({**SMALL_BATCHES, "PYTHONPATH": str(TESTS)}), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    operations: list[Operation] = pickle.loads(target.read_bytes())
    return operations


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    """Record crawl, rank, revisit of changed pages, forget, a rebuild of the index, and another ranking."""
    if not system_calls.supported():
        skip_or_fail("system calls can be recorded on Linux on x86-64 or ARM only")
    disk = tmp_path_factory.mktemp("recorded") / "disk"
    disk.mkdir()
    web = ("--store", disk / "web")
    with SiteServer({}) as one, SiteServer({}, "127.0.0.2") as other:
        one.pages, other.pages = pages(1, other.url), pages(2, one.url)
        crawl = ("crawl", one.url, other.url, *web, "--delay", 0, "--quiet")
        operations = record(disk, 1, *crawl)
        operations += record(disk, 2, "rank", *web)
        one.pages, other.pages = pages(3, other.url), pages(4, one.url)
        operations += record(disk, 3, *crawl, "--revisit", "--all")
        operations += record(disk, 4, "forget", other.authority, "--yes", *web)
        operations += record(disk, 5, "index", "--rebuild", *web)
        operations += record(disk, 6, "rank", *web)
    replayed = Disk()
    for operation in operations:
        replayed.apply(operation)
    left = {path: content for path, content in read_tree(disk).items() if not path.endswith(SHARED_MEMORY)}
    assert replayed.after_kill() == left, "the recording is incomplete"
    return operations


def crash_points(operations: list[Operation], points: set[int]) -> Iterator[CrashPoint]:
    """Yield what crashes after so many operations leave."""
    disk, facts = Disk(), StoredFacts()
    for at, operation in enumerate(operations, 1):
        disk.apply(operation)
        if isinstance(operation, Mark):
            facts = facts.after_mark(operation.line)
        if at in points:
            for end, tree in zip(
                ENDS, (disk.after_kill(), disk.after_power_cut(), disk.after_power_cut(random.Random(at))), strict=True
            ):
                yield CrashPoint(at, end, tree, facts)


def check(operations: list[Operation], points: set[int], scratch: Path) -> int:
    """Check the webs that crashes at these points leave; return their number."""
    crashes = list(crash_points(operations, points))
    unlike = {(digest(one.tree), one.facts): one for one in crashes}
    cases = scratch / "cases"
    cases.write_bytes(pickle.dumps([(one.tree, one.facts) for one in unlike.values()]))
    done = subprocess.run(
        [sys.executable, "-m", "faults.crashed_web", str(cases)], capture_output=True, text=True, check=False,
        env=environment({"PYTHONPATH": str(TESTS)}),
    )  # fmt: skip
    *faults, last = done.stdout.splitlines() or [""]
    found = list(unlike.values())
    texts = [
        f"after operation {found[number].at} of {len(operations)}, {found[number].end}:\n{fault}"
        for number, fault in map(json.loads, faults)
    ]
    assert not texts, f"{len(texts)} of {len(unlike)} crashed webs are faulty:\n" + "\n".join(texts[:20])
    assert last == "done", done.stderr
    return len(crashes)


def test_a_crash_loses_no_stored_visit_and_index_and_graph_follow(recording: list[Operation], tmp_path: Path) -> None:
    points = set(random.Random(22).sample(range(1, len(recording) + 1), SAMPLE))
    assert check(recording, points, tmp_path) == SAMPLE * len(ENDS)


@pytest.mark.full
def test_no_crash_between_two_operations_loses_anything(recording: list[Operation], tmp_path: Path) -> None:
    assert check(recording, set(range(1, len(recording) + 1)), tmp_path) >= 3_000
