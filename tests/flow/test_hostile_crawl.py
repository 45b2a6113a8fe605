"""A crawl of the hostile web (`tests/hostile`) with the real command.

Every case leaves its reason, time and memory stay bounded, and hostile text reaches no terminal unescaped.
"""

from __future__ import annotations

import json
import math
import subprocess
import time
import unicodedata
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gossamer.urls.canonical import canonicalize
from helpers.cli.commands import PeakMemory, command, environment, gossamer, query
from helpers.patience import PATIENCE, slowness
from hostile.cases import CASES, DEPTH, MEMORY, SECONDS, Case
from hostile.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = Path(__file__).resolve().parents[1] / "hostile" / "hook"
MAX_MEMORY = 1000 << 20  # bytes: PSS of coordinator, index and three parsers of at most 320 MiB
FRONT = "/front"
SETTINGS = """
[crawl]
scope = "any"
max_depth = {depth}
exclude = ['\\.invalid']
[fetch]
connect_timeout = {connect}
timeout = {transfer}
min_rate = 100
min_rate_seconds = {rate}
max_bytes = 12_000_000
ca_file = "{authority}"
[politeness]
delay = 0
connections = 16
retries = 1
max_delay = 0.1
max_crawl_delay = 0.5
patience = 2
[parse]
processes = 3
seconds = {parse}
memory = {memory}
"""


class StoredUrl(NamedTuple):
    """What the store holds of a URL."""

    state: str
    outcome: str
    reason: str


class Crawl(NamedTuple):
    """The crawl that all tests of this file inspect."""

    world: World
    store: Path
    urls: dict[str, StoredUrl]
    summary: dict[str, object]
    stderr: str
    peak: int
    seconds: float
    parse_seconds: int  # limit of a parser for a page


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    home, slow = tmp_path_factory.mktemp("hostile"), math.ceil(slowness())
    with World(home) as world:
        links = {canonicalize(world.url(case.link or case.url)) for case in CASES} - {None}
        front = "".join(f'<li><a href="{escape(str(link))}">x</a>' for link in sorted(map(str, links)))
        world.servers["main"].pages[FRONT] = f"<!doctype html><title>Front</title>{front}".encode()
        (home / "gossamer.toml").write_text(
            SETTINGS.format(
                depth=DEPTH, connect=3 * slow, transfer=7 * slow, rate=4 * slow, authority=world.authority,
                parse=SECONDS * slow, memory=MEMORY,
            )
        )  # fmt: skip
        seeds = [f"http://{world.addresses['main']}{FRONT}", *(world.url(case.url) for case in CASES if case.seed)]
        started = time.monotonic()
        process = subprocess.Popen(
            command("crawl", *seeds, "--store", home / "web", "--config", home / "gossamer.toml", "--json"),
            env=environment({"PYTHONPATH": str(HOOK)}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        memory = PeakMemory(process.pid)
        out, err = process.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - started
        assert process.returncode == 0, err
        yield Crawl(
            world,
            home / "web",
            stored_urls(home / "web"),
            json.loads(out.splitlines()[-1]),
            err,
            memory.peak(),
            seconds,
            SECONDS * slow,
        )


def stored_urls(store: Path) -> dict[str, StoredUrl]:
    """Return state, outcome and reason of every URL; a queued URL has the reason of its host."""
    rows = query(
        store,
        "SELECT r.url, r.state, r.outcome, CASE r.state WHEN 'queued' THEN h.reason ELSE r.reason END"
        " FROM resources r JOIN hosts h ON h.id = r.host",
    )
    return {url: StoredUrl(*rest) for url, *rest in rows}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_leaves_its_reason(crawl: Crawl, case: Case) -> None:
    stored = crawl.urls.get(str(canonicalize(crawl.world.url(case.url))))
    assert stored is not None, "the store does not know the URL"
    assert (stored.state, stored.outcome) == (case.state, case.outcome), stored.reason
    assert case.reason.replace(f"{SECONDS} seconds", f"{crawl.parse_seconds} seconds") in stored.reason


def test_the_crawl_ends_without_a_traceback(crawl: Crawl) -> None:
    waiting = sum(case.state == "queued" for case in CASES)
    assert crawl.summary["queued"] == waiting
    assert "Traceback" not in crawl.stderr
    print(f"{len(CASES)} cases in {crawl.seconds:.0f} s, {crawl.peak >> 20} MiB at most, {crawl.summary}")


def test_the_memory_of_the_crawl_stays_bounded(crawl: Crawl) -> None:
    assert 0 < crawl.peak < MAX_MEMORY, f"{crawl.peak >> 20} MiB"


def test_the_crawler_never_connects_to_the_victim(crawl: Crawl) -> None:
    victim = crawl.world.servers["victim"]
    assert (victim.connections, victim.paths()) == (0, [])


def test_an_unrequested_response_is_stored_for_no_page(crawl: Crawl) -> None:
    assert query(crawl.store, "SELECT url FROM resources WHERE title = 'Forged'") == []


def test_session_ids_do_not_make_new_pages(crawl: Crawl) -> None:
    paths = crawl.world.servers["main"].paths()
    assert len([path for path in paths if path.startswith("GET /shop")]) == 1


def test_a_maze_is_left_at_the_maximum_depth(crawl: Crawl) -> None:
    visited = [url for url, stored in crawl.urls.items() if "/maze/" in url and stored.state == "visited"]
    assert len(visited) == 2**DEPTH - 1


def test_no_local_file_gets_into_the_store(crawl: Crawl) -> None:
    texts = gossamer("export", "resources", "--store", crawl.store, "--format", "jsonl").stdout
    assert texts
    assert "root:x:0" not in texts
    assert query(crawl.store, "SELECT url FROM resources WHERE url LIKE 'file:%'") == []


COMMANDS = {  # command -> hostile text that its output must contain
    ("errors",): "owned",
    ("errors", "--json"): "owned",
    ("status",): FRONT,
    ("hosts",): "robots.txt asks for",
    ("search", "spoofed"): "owned",
    ("search", "spoofed", "--json"): "owned",
}


@pytest.mark.parametrize("command_line", COMMANDS, ids=" ".join)
def test_hostile_text_is_printed_escaped(crawl: Crawl, command_line: tuple[str, ...]) -> None:
    done = gossamer(*command_line, "--store", crawl.store)
    assert done.returncode == 0, done.stderr
    assert COMMANDS[command_line] in done.stdout
    harmful = [c for c in done.stdout + done.stderr if unicodedata.category(c) in {"Cc", "Cf"} and c not in "\n\t"]
    assert harmful == []


def test_every_url_not_visited_has_a_reason(crawl: Crawl) -> None:
    silent = [url for url, stored in crawl.urls.items() if stored.state != "visited" and not stored.reason]
    assert silent == []
