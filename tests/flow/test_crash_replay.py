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
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from conftest import skip_or_fail
from faults import system_calls
from faults.crashed_web import StoredFacts, check_web, memory_folder
from faults.replay import SHARED_MEMORY, Disk, read_tree, write_tree
from helpers.cli.commands import environment, gossamer, resources_and_links
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults.operations import Operation

TESTS = Path(__file__).resolve().parents[1]
PAGES = 9  # of each of the two sites
SAMPLE = 50  # crash points with three ends each in `make test`
SMALL_BATCHES = {"GOSSAMER_STORE_BATCH_VISITS": "4"}  # so that the crawl commits often


class Recording(NamedTuple):
    """The operations of several commands, and the sites that they crawled."""

    operations: list[Operation]
    first_crawl: int  # operations of the first command
    crawl: tuple[object, ...]  # arguments of the crawls, without the web
    sites: tuple[SiteServer, SiteServer]

    def serve(self, version: int) -> None:
        """Serve other texts and links on both sites."""
        one, other = self.sites
        one.pages, other.pages = pages(version, other.url), pages(version + 1, one.url)


def pages(version: int, other: str) -> dict[str, str | SiteResponse]:
    """Return a site of a few pages whose texts and links depend on the version."""
    chance = random.Random(version)
    words = [f"word{number}" for number in range(60)]
    site: dict[str, str | SiteResponse] = {}
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
    env = environment({**SMALL_BATCHES, "PYTHONPATH": str(TESTS)})
    done = subprocess.run([*map(str, line)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    operations: list[Operation] = pickle.loads(target.read_bytes())
    return operations


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Record crawl, rank, revisit of changed pages, forget, a rebuild of the index, and another ranking."""
    if not system_calls.supported():
        skip_or_fail("system calls can be recorded on Linux on x86-64 or ARM only")
    disk = tmp_path_factory.mktemp("recorded") / "disk"
    disk.mkdir()
    web = ("--store", disk / "web")
    with SiteServer({}) as one, SiteServer({}, "127.0.0.2") as other:
        crawl = ("crawl", one.url, other.url, "--delay", 0, "--quiet")
        made = Recording([], 0, crawl, (one, other))
        made.serve(1)
        first = record(disk, 1, *crawl, *web)
        operations = first + record(disk, 2, "rank", *web)
        made.serve(3)
        operations += record(disk, 3, *crawl, *web, "--revisit", "--all")
        operations += record(disk, 4, "forget", other.authority, "--yes", *web)
        operations += record(disk, 5, "index", "--rebuild", *web)
        operations += record(disk, 6, "rank", *web)
        check_completeness(operations, disk)
        yield made._replace(operations=operations, first_crawl=len(first))


def check_completeness(operations: list[Operation], disk: Path) -> None:
    """Check that the replayed operations make the same files as the commands did."""
    left = {path: content for path, content in read_tree(disk).items() if not path.endswith(SHARED_MEMORY)}
    assert replay(operations).after_kill() == left


def replay(operations: list[Operation]) -> Disk:
    """Return the disk after these operations."""
    disk = Disk()
    for operation in operations:
        disk.apply(operation)
    return disk


def check(operations: list[Operation], points: set[int], scratch: Path, processes: int = 1) -> int:
    """Check the webs that crashes at these points leave; return the number of crashes."""
    (scratch / "record").write_bytes(pickle.dumps(operations))
    running = []
    for part in range(processes):
        chosen = scratch / f"points{part}"
        chosen.write_text(json.dumps(sorted(points)[part::processes]))
        line = [sys.executable, "-m", "faults.crashed_web", str(scratch / "record"), str(chosen), str(scratch)]
        env = environment({"PYTHONPATH": str(TESTS)})
        running.append(subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env))
    number, faults = 0, []
    for process in running:
        stdout, stderr = process.communicate()
        assert process.returncode == 0, stderr
        *found, last = map(json.loads, stdout.splitlines())
        faults += found
        number += last
    assert not faults, f"{len(faults)} of {number} crashes leave a faulty web:\n" + "\n".join(faults[:20])
    return number


def test_a_crash_loses_no_stored_visit_and_index_and_graph_follow(recording: Recording) -> None:
    points = random.Random(22).sample(range(1, len(recording.operations) + 1), SAMPLE)
    with memory_folder() as scratch:
        assert check(recording.operations, set(points), scratch) == 3 * SAMPLE


@pytest.mark.full
def test_no_crash_between_two_operations_loses_anything(recording: Recording) -> None:
    points = set(range(1, len(recording.operations) + 1))
    with memory_folder() as scratch:
        assert check(recording.operations, points, scratch, processes=2) >= 3_000


def test_a_crawl_after_a_power_cut_ends_as_an_undisturbed_one(recording: Recording, tmp_path: Path) -> None:
    first = recording.operations[: recording.first_crawl]
    write_tree(replay(first).after_kill(), tmp_path)
    expected = resources_and_links(tmp_path / "web")
    recording.serve(1)
    for part in (0.3, 0.8):
        folder = tmp_path / f"after {part}"
        folder.mkdir()
        write_tree(replay(first[: int(part * len(first))]).after_power_cut(random.Random(1)), folder)
        done = gossamer(*recording.crawl, "--store", folder / "web")
        assert done.returncode == 0, done.stderr
        assert resources_and_links(folder / "web") == expected
        check_web(folder / "web", StoredFacts())
