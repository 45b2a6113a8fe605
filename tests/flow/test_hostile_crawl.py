"""A crawl of a hostile site: each trick gives its recorded reason, and the crawl goes on within its memory."""

from __future__ import annotations

import gzip
import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from crawling import Memory, command, environment, gossamer, query, reasons
from hostile import BEHAVIOURS, Exchange, HostileServer, behaviour
from suites import suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_MEMORY = 700 << 20
BOMBS = "crawl-sites/scrapy/tests/sample_data/compressed"

SETTINGS = """
[fetch]
timeout = 8
min_rate = 100
min_rate_seconds = 3
max_bytes = 5_000_000
[politeness]
delay = 0
connections = 8
retries = 1
[parse]
seconds = 8
"""


@behaviour
async def tricks(exchange: Exchange) -> None:
    """A page that links to what `to` names, separated by blanks."""
    links = "".join(f'<a href="{to}">{to}</a> ' for to in exchange.query["to"].split(" "))
    await exchange.answer(f"<!doctype html><title>Tricks</title>{links}".encode())


@behaviour
async def nested(exchange: Exchange) -> None:
    await exchange.answer(b"<div>" * 100_000 + b"deep" + b'<a href="/page?from=the-deep">out</a>')


@behaviour
async def inline_nested(exchange: Exchange) -> None:
    await exchange.answer(b"<p>" + b"<b><i><font>" * 30_000 + b"deep")


@behaviour
async def many_attributes(exchange: Exchange) -> None:
    await exchange.answer(b"<a " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x</a>")


@behaviour
async def many_links(exchange: Exchange) -> None:
    """More links than are kept, to addresses nobody asks."""
    await exchange.answer(b"".join(b'<a href="http://h%d.invalid/">x</a>' % n for n in range(60_000)))


@behaviour
async def zipped_zeros(exchange: Exchange) -> None:
    """1 MB that becomes 1 GB."""
    await exchange.answer(_zeros(), more="Content-Encoding: gzip\r\n")


def _zeros() -> bytes:
    if "zeros" not in _made:
        _made["zeros"] = gzip.compress(bytes(1 << 30), compresslevel=9)
    return _made["zeros"]


_made: dict[str, bytes] = {}


@behaviour
async def bomb(exchange: Exchange) -> None:
    kind = exchange.query["of"]
    body = (suite(BOMBS) / f"bomb-{kind}.bin").read_bytes()
    await exchange.answer(body, more=f"Content-Encoding: {kind}\r\n")


# Path -> the outcome that must be recorded, and what its reason must say.
TRICKS = {
    "endless": ("too big", ""),
    "long-header": ("headers too big", ""),
    "zipped-zeros": ("too big", ""),
    "bomb?of=gzip": ("too big", ""),
    "bomb?of=deflate": ("too big", ""),
    "bomb?of=br": ("too big", ""),
    "bomb?of=zstd": ("too big", ""),
    "loop": ("redirect loop", "itself"),
    "redirect?to=file:///etc/passwd": ("bad redirect", "file"),
    "redirect": ("bad redirect", ""),
    "hops?left=12": ("redirected", ""),
    "drip": ("too slow", ""),
    "stall": ("timeout", ""),
    "garbage": ("bad http", ""),
    "cut-short": ("bad http", ""),
    "many-links": ("fetched", "links"),
}
# These must end well or with the parser's own limits, and never take the crawl along.
HARD_TO_PARSE = ("nested", "inline-nested", "many-attributes")


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with HostileServer(robots="huge-robots") as hostile:
        yield hostile


@pytest.mark.shared
def test_every_trick_gives_its_reason_and_the_crawl_goes_on(server: HostileServer, tmp_path: Path) -> None:
    with HostileServer() as neighbour:
        inward = f"redirect?to={neighbour.url('page')}"
        places = [*TRICKS, *HARD_TO_PARSE, inward, "private/page", "page?the=last"]
        config = tmp_path / "gossamer.toml"
        config.write_text(SETTINGS)
        seed = server.url(
            "tricks?to=" + "+".join(f"/{place}".replace("&", "%26").replace("+", "%2B") for place in places)
        )
        process = subprocess.Popen(
            command("crawl", seed, "--store", tmp_path / "web", "--config", config, "--json", "--domain", "127.0.0.1"),
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        memory = Memory(process.pid)
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        assert json.loads(out.splitlines()[-1])["queued"] == 0
        assert "Traceback" not in err
        found = {url.removeprefix(server.url()): told for url, told in reasons(tmp_path / "web").items()}
        assert {place: told for place in TRICKS if not says(told := found.get(place), TRICKS[place])} == {}
        assert found["page?the=last"][0] == "fetched"
        assert found["private/page"][0] == "refused by robots.txt"
        for place in HARD_TO_PARSE:
            assert found[place][0] in {"fetched", "parser crashed", "parser timeout", "parser out of memory"}
        assert found[inward][0] == "redirected"
        outcome, reason = reasons(tmp_path / "web")[neighbour.url("page")]
        assert (outcome, "loopback" in reason) == ("refused address", True)
        assert neighbour.seen == [], "a loopback port that nobody asked for was connected to"
        assert memory.peak() < MOST_MEMORY, f"{memory.peak() >> 20} MiB"
        assert [told[0] for place, told in found.items() if place.startswith("hops") and told[0] != "redirected"] == [
            "too many redirects"
        ]


def says(told: tuple[str, str] | None, expected: tuple[str, str]) -> bool:
    return told is not None and told[0] == expected[0] and expected[1] in told[1]


def test_a_name_that_resolves_to_a_private_address_is_refused(server: HostileServer, tmp_path: Path) -> None:
    """`localhost` is not the host the user named: 127.0.0.1 is."""
    seed = server.url(f"tricks?to=http://localhost:{server.port}/page")
    gossamer("crawl", seed, "--store", tmp_path / "web", "--domain", "localhost", "--delay", "0")
    [(state, outcome, reason)] = query(
        tmp_path / "web", "SELECT state, outcome, reason FROM resources WHERE url LIKE 'http://localhost:%'"
    )
    assert (state, outcome) == ("refused", "refused address")
    assert "loopback" in reason


def test_every_behaviour_of_the_hostile_server_leaves_a_reason(server: HostileServer, tmp_path: Path) -> None:
    config = tmp_path / "gossamer.toml"
    config.write_text(SETTINGS)
    done = gossamer("crawl", server.url(), "--store", tmp_path / "web", "--config", config, "--json", timeout=200)
    assert done.returncode == 0, done.stderr
    told = {url.removeprefix(server.url()): outcome for url, (outcome, _) in reasons(tmp_path / "web").items()}
    needing_arguments = {"big-headers", "bomb", "tricks"}
    assert set(BEHAVIOURS) - needing_arguments <= set(told)
