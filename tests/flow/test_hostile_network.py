"""Hostile names, changing names and a failing network, in a network of their own (`hostile/network.py`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pycurl
import pytest

from gossamer.fetch import fetcher
from gossamer.fetch.transfer import handle_options
from helpers.cli.commands import command, environment, gossamer, query
from helpers.fetch.fetch_loop import FetchLoop
from helpers.patience import PATIENCE, slowness, until
from hostile import HostileServer
from hostile.cases import NAMES, Case
from hostile.network import Names, cut, mend, open_network, prepared_cut, run

PUBLIC, SECOND, PRIVATE = "93.184.216.34", "93.184.216.35", "10.0.0.1"
ADDRESSES: dict[str, tuple[str, ...] | None] = {
    "public": (PUBLIC,),
    "private": (PRIVATE,),
    "loopback": ("127.0.0.1",),
    "six": ("::1",),
    "mapped": ("::ffff:10.0.0.1",),
    "nat64": ("64:ff9b::a00:1",),
    "alias": ("loopback.test",),
    "both": (PRIVATE, PUBLIC),
    "nobody": (),
    "silent": None,
}
SETTINGS = """
[crawl]
scope = "any"
[fetch]
connect_timeout = %g
[politeness]
delay = 0
retries = 1
"""
CHAIN = 30  # pages of the site that loses its network
CUT_AFTER = 10  # pages


# -- inside the network ------------------------------------------------------------------------------------------------


class ChangingNames:
    """Resolves `rebind.test` to a public address first, then to a private one."""

    def __init__(self) -> None:
        self.lookups = 0
        self.private = False

    def __call__(self, name: str) -> tuple[str, ...] | None:
        if name == "rebind.test":
            self.lookups += 1
            return (PRIVATE,) if self.private else (PUBLIC,)
        return ADDRESSES.get(name.removesuffix(".test"), ())


def crawl_names(folder: Path, port: int, server: HostileServer) -> dict[str, Any]:
    """Crawl a page that links to all names; return state, outcome and reason of each."""
    links = "".join(f'<a href="{case.url.format(port=port)}">x</a>' for case in NAMES)
    server.pages["/front"] = f"<title>Front</title>{links}".encode()
    (folder / "gossamer.toml").write_text(SETTINGS % (2 * slowness()))
    url = f"http://{PUBLIC}:{port}/front"
    done = gossamer("crawl", url, "--store", folder / "names", "--config", folder / "gossamer.toml", "--no-index")
    assert done.returncode == 0, done.stderr
    rows = query(folder / "names", "SELECT url, state, outcome, reason FROM resources")
    return {url: rest for url, *rest in rows}


def fetch_rebound(names: ChangingNames, port: int, *, seed: bool) -> list[str]:
    """Fetch a name twice that moves to a private address in between; libcurl caches no name and no connection."""
    names.private = False
    loop = FetchLoop()
    url = f"http://rebind.test:{port}/page"
    if seed:
        loop.fetcher.allow_private(url)
    first = loop.fetch(url)
    names.private = True
    second = loop.fetch(url)
    loop.close()
    return [first.outcome, second.outcome, second.reason]


def crawl_cut_off(folder: Path, port: int, server: HostileServer) -> dict[str, Any]:
    """Crawl while the network fails for some seconds, for a known host and for a new one."""
    for number in range(CHAIN):
        link = f'<a href="/chain/{number + 1}">next</a>' if number + 1 < CHAIN else ""
        link += f'<a href="http://{SECOND}:{port}/new">new</a>' if number == CUT_AFTER else ""
        server.pages[f"/chain/{number}"] = f"<title>{number}</title>{link}".encode()
    # An open connection would wait for its timeout, while the new host fails three times.
    server.closes_after_pages = True
    url, store, timeout = f"http://{PUBLIC}:{port}/chain/0", folder / "cut", slowness()
    process = subprocess.Popen(
        command("crawl", url, "--store", store, "--scope", "any", "--no-index", "--timeout", timeout, "--delay", "0.2"),
        env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    cut(SECOND)
    page_before_cut = f"/chain/{CUT_AFTER}"
    with prepared_cut(PUBLIC):  # a later cut would let the new host fail three times while the known one answers
        until(lambda: any(path.endswith(page_before_cut) for path in server.paths()), "the page before the cut", 0.01)
    until(lambda: len(outages(store)) >= 2, "two failures", pause=0.2)
    before = len(server.requests)
    mend(PUBLIC)
    mend(SECOND)
    _, stderr = process.communicate(timeout=PATIENCE)
    visited = query(store, "SELECT count(*) FROM resources WHERE state = 'visited'")[0][0]
    return {
        "code": process.returncode,
        "stderr": stderr,
        "requests_before": before,
        "visited": visited,
        "away": len(outages(store)),
    }


def outages(store: Path) -> list[str]:
    """Return the lines of the log about hosts that were away."""
    return re.findall('.*"host away".*', "".join(path.read_text() for path in (store / "logs").iterdir()))


def main(folder: Path) -> None:
    """Run all experiments and print their results as JSON."""
    open_network(folder)
    names = ChangingNames()
    with ExitStack() as stack:
        stack.enter_context(Names(names))
        server = stack.enter_context(HostileServer(PUBLIC))
        second = stack.enter_context(HostileServer(SECOND, port=server.port))
        second.pages["/new"] = b"<title>New</title>"
        victims = [stack.enter_context(HostileServer(host, port=server.port)) for host in (PRIVATE, "127.0.0.1", "::1")]
        outcomes = crawl_names(folder, server.port, server)
        fetcher.handle_options = lambda settings: {  # type: ignore[attr-defined]
            **handle_options(settings), pycurl.DNS_CACHE_TIMEOUT: 0, pycurl.FORBID_REUSE: 1
        }  # fmt: skip
        report = {
            "port": server.port,
            "names": outcomes,
            "rebound": fetch_rebound(names, server.port, seed=False),
            "rebound_seed": fetch_rebound(names, server.port, seed=True),
            "lookups": names.lookups,
            "victims": [victim.connections for victim in victims],
            "cut": crawl_cut_off(folder, server.port, server),
        }
    print(json.dumps(report))


# -- outside -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    results: dict[str, Any] = run(__file__, tmp_path_factory.mktemp("network"))
    return results


@pytest.mark.parametrize("case", NAMES, ids=lambda case: case.name)
def test_a_name_is_judged_by_the_address_it_resolves_to(report: dict[str, Any], case: Case) -> None:
    state, outcome, reason = report["names"][case.url.format(port=report["port"])]
    assert (state, outcome) == (case.state, case.outcome), reason
    assert case.reason in reason


def test_a_name_that_moves_to_a_private_address_is_refused(report: dict[str, Any]) -> None:
    assert report["rebound"] == ["fetched", "refused address", f"{PRIVATE} is a private address"]


def test_a_public_seed_that_moves_to_a_private_address_is_refused(report: dict[str, Any]) -> None:
    assert report["rebound_seed"] == ["fetched", "refused address", f"{PRIVATE} is a private address"]
    assert report["lookups"] >= 4, "each fetch must look the name up again"


def test_the_crawler_connects_to_no_private_address(report: dict[str, Any]) -> None:
    assert report["victims"] == [0, 0, 0]


def test_a_crawl_loses_no_page_when_its_network_fails_for_a_while(report: dict[str, Any]) -> None:
    cut_off = report["cut"]
    assert (cut_off["code"], cut_off["visited"]) == (0, CHAIN + 1), cut_off
    assert cut_off["requests_before"] < CHAIN, "the network failed too late"
    assert cut_off["away"] >= 2, "the crawl must have noticed"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
