"""A crawl of the hostile web (`tests/hostile`), with the real command: every case leaves its reason, nothing gets out
of hand, and what a page or a server wrote reaches no terminal as it was."""

from __future__ import annotations

import json
import subprocess
import time
import unicodedata
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gossamer.urls.canonical import canonicalize
from helpers.cli.commands import Memory, command, environment, gossamer, query
from hostile.cases import CASES, DEPTH, MEMORY, SECONDS, Case
from hostile.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = Path(__file__).resolve().parents[1] / "hostile" / "hook"
MOST_MEMORY = 1000 << 20  # PSS of coordinator, three parsers of 320 MiB at most, and index together
FRONT = "/front"
SETTINGS = f"""
[crawl]
scope = "any"
max_depth = {DEPTH}
exclude = ['\\.invalid']
[fetch]
connect_timeout = 3
timeout = 7
min_rate = 100
min_rate_seconds = 4
max_bytes = 12_000_000
ca_file = "%s"
[politeness]
delay = 0
connections = 16
retries = 1
max_delay = 0.1
max_crawl_delay = 0.5
patience = 2
[parse]
processes = 3
seconds = {SECONDS}
memory = {MEMORY}
"""


class Told(NamedTuple):
    """What the store says of a URL."""

    state: str
    outcome: str
    reason: str


class Crawl(NamedTuple):
    """The one crawl that all tests here look at."""

    world: World
    store: Path
    told: dict[str, Told]
    summary: dict[str, object]
    stderr: str
    peak: int
    seconds: float


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    home = tmp_path_factory.mktemp("hostile")
    with World(home) as world:
        links = {canonicalize(world.url(case.link or case.url)) for case in CASES} - {None}
        front = "".join(f'<li><a href="{escape(str(link))}">x</a>' for link in sorted(map(str, links)))
        world.servers["main"].pages[FRONT] = f"<!doctype html><title>Front</title>{front}".encode()
        (home / "gossamer.toml").write_text(SETTINGS % world.authority)
        seeds = [f"http://{world.places['main']}{FRONT}", *(world.url(case.url) for case in CASES if case.seed)]
        started = time.monotonic()
        process = subprocess.Popen(
            command("crawl", *seeds, "--store", home / "web", "--config", home / "gossamer.toml", "--json"),
            env=environment({"PYTHONPATH": str(HOOK)}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        memory = Memory(process.pid)
        out, err = process.communicate(timeout=200)
        seconds = time.monotonic() - started
        assert process.returncode == 0, err
        yield Crawl(
            world, home / "web", told_by(home / "web"), json.loads(out.splitlines()[-1]), err, memory.peak(), seconds
        )


def told_by(store: Path) -> dict[str, Told]:
    """State, outcome and reason of every URL; of one that waits, the reason of its host."""
    rows = query(
        store,
        "SELECT r.url, r.state, r.outcome, CASE r.state WHEN 'queued' THEN h.reason ELSE r.reason END"
        " FROM resources r JOIN hosts h ON h.id = r.host",
    )
    return {url: Told(*rest) for url, *rest in rows}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_leaves_its_reason(crawl: Crawl, case: Case) -> None:
    told = crawl.told.get(str(canonicalize(crawl.world.url(case.url))))
    assert told is not None, "nothing is known of it"
    assert (told.state, told.outcome) == (case.state, case.outcome), told.reason
    assert case.reason in told.reason


def test_the_crawl_goes_to_its_end_without_a_fault(crawl: Crawl) -> None:
    waiting = sum(case.state == "queued" for case in CASES)
    assert crawl.summary["queued"] == waiting
    assert "Traceback" not in crawl.stderr
    print(f"{len(CASES)} cases in {crawl.seconds:.0f} s, {crawl.peak >> 20} MiB at most, {crawl.summary}")


def test_its_memory_stays_bounded(crawl: Crawl) -> None:
    assert 0 < crawl.peak < MOST_MEMORY, f"{crawl.peak >> 20} MiB"


def test_nobody_connects_to_what_nobody_asked_for(crawl: Crawl) -> None:
    victim = crawl.world.servers["victim"]
    assert (victim.connections, victim.paths()) == (0, [])


def test_an_answer_that_nobody_asked_for_is_given_to_no_page(crawl: Crawl) -> None:
    assert query(crawl.store, "SELECT url FROM resources WHERE title = 'Forged'") == []


def test_session_ids_do_not_make_new_pages(crawl: Crawl) -> None:
    paths = crawl.world.servers["main"].paths()
    assert len([path for path in paths if path.startswith("GET /shop")]) == 1


def test_a_maze_is_left_at_the_depth_asked_for(crawl: Crawl) -> None:
    found = [url for url, told in crawl.told.items() if "/maze/" in url and told.state == "visited"]
    assert len(found) == 2**DEPTH - 1


def test_no_file_of_this_machine_gets_into_the_store(crawl: Crawl) -> None:
    texts = gossamer("export", "resources", "--store", crawl.store, "--format", "jsonl").stdout
    assert texts
    assert "root:x:0" not in texts
    assert query(crawl.store, "SELECT url FROM resources WHERE url LIKE 'file:%'") == []


READINGS = {  # what is read -> what of theirs must be in it
    ("errors",): "owned",
    ("errors", "--json"): "owned",
    ("status",): FRONT,
    ("hosts",): "robots.txt asks for",
    ("search", "spoofed"): "owned",
    ("search", "spoofed", "--json"): "owned",
}


@pytest.mark.parametrize("reading", READINGS, ids=" ".join)
def test_what_they_wrote_is_shown_harmless(crawl: Crawl, reading: tuple[str, ...]) -> None:
    done = gossamer(*reading, "--store", crawl.store)
    assert done.returncode == 0, done.stderr
    assert READINGS[reading] in done.stdout
    harmful = [c for c in done.stdout + done.stderr if unicodedata.category(c) in {"Cc", "Cf"} and c not in "\n\t"]
    assert harmful == []


def test_every_url_not_visited_has_a_reason(crawl: Crawl) -> None:
    silent = [url for url, told in crawl.told.items() if told.state != "visited" and not told.reason]
    assert silent == []
