"""Two limits of a crawl outside its code: the cores of the machine, and the delays that hosts ask for."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import site_sample
from bench.harness.contest import Spread, measure, print_progress, ratio
from bench.harness.report import Aim, Section
from bench.races.crawl import ALL, PACKAGE, gossamer

from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_OF_TWO_CORES = 1.7
MIN_OF_POLITENESS = 0.95
CLOCK = 0.002  # seconds: nginx logs milliseconds, and the client counts a pause from what it saw


@contextmanager
def cores(number: int) -> Iterator[None]:
    """Limit processes started meanwhile, including the server, to this many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[:number]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def all_cores(pages: int, runs: int) -> Section:
    """Measure Gossamer and its server on one core, and on two."""
    binary = debian.find("nginx")
    if binary is None:
        sys.exit("nginx is missing: run `make test-packages`")
    root = site_sample.site(PACKAGE, pages)
    rates: defaultdict[int, list[float]] = defaultdict(list)
    for number in range(runs):
        for count in (1, 2):
            crawler = gossamer(ALL, "--parsers", str(count), does="")
            with (
                cores(count),
                Nginx(binary, {"site": Site(root)}, log=False) as nginx,
                tempfile.TemporaryDirectory() as folder,
            ):
                run = measure(crawler, nginx.url("site", "/index.html"), Path(folder))
            print_progress(f"{number + 1}/{runs} on {count}: {run}")
            rates[count].append(run.pages_per_second)
    times = ratio(rates[2], rates[1])
    return Section(
        name="Cores",
        work=f"{site_sample.pages_of(root):,} pages of `{PACKAGE}`, everything on; nginx and Gossamer share the cores.",
        columns=("cores", "pages/s", "to one core"),
        rows=[
            ["1", Spread.of(rates[1]).describe(), ""],
            ["2", Spread.of(rates[2]).describe(), f"{times.describe('.2f')} times"],
        ],
        measured=dict(rates),
        aims=[Aim(name="two cores, to one", measured=times, least=MIN_OF_TWO_CORES)],
    )


# -- delays ------------------------------------------------------------------------------------------------------------


def politeness(hosts: int, pages: int, delay: float) -> Section:
    """Crawl many hosts with a delay: how close the crawl comes to the limit, and whether it obeys."""
    return _politeness_section(polite_crawl(hosts, pages, delay), hosts, pages, delay)


def polite_crawl(hosts: int, pages: int, delay: float) -> dict[str, list[float]]:
    """Crawl such hosts and return the request times of each."""
    binary = debian.find("nginx")
    if binary is None:
        sys.exit("nginx is missing: run `make test-packages`")
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        root = _host(Path(folder, "site"), pages, delay)
        port, log = _free_port(), Path(folder, "hosts.log")
        addresses = [f"127.{1 + n // 62_500}.{n // 250 % 250}.{1 + n % 250}" for n in range(hosts)]
        listens = " ".join(f"listen {address}:{port};" for address in addresses)
        site = Site(root, f"{listens} access_log {log} by_host;")
        with Nginx(binary, {"hosts": site}, more='log_format by_host "$msec $server_addr $request_uri";'):
            urls = [f"http://{address}:{port}/0.html" for address in addresses]
            program = [
                str(Path(sys.executable).with_name("gossamer")),
                "crawl",
                *urls,
                "--no-rank",
                "--store",
                f"{folder}/web",
            ]
            result = subprocess.run([*program, "--quiet"], check=False, capture_output=True, text=True)
            if result.returncode:
                sys.exit(f"The polite crawl ended with code {result.returncode}:\n{result.stderr[-4000:]}")
        return _request_times(log)


def _politeness_section(request_times: dict[str, list[float]], hosts: int, pages: int, delay: float) -> Section:
    requests = sum(map(len, request_times.values()))
    if len(request_times) < hosts or requests < hosts * (pages + 1):
        sys.exit(f"Only {requests:,} requests came to {len(request_times):,} hosts.")
    began, ended = min(times[0] for times in request_times.values()), max(times[-1] for times in request_times.values())
    allowed = max(len(times) - 1 for times in request_times.values()) * delay
    gaps = [later - sooner for times in request_times.values() for sooner, later in pairwise(times)]
    share = allowed / (ended - began)
    too_soon = sum(1 for gap in gaps if gap < delay - CLOCK)
    return Section(
        name="Politeness",
        work=(
            f"{hosts:,} hosts (addresses of the loopback network) with {pages} pages each, whose robots.txt asks for"
            f" `Crawl-delay: {delay:g}`. The delays alone take {allowed:g} s, first robots.txt to last page."
        ),
        columns=("hosts", "requests", "seconds", "of what the delays allow", "requests sooner than asked for"),
        rows=[[f"{hosts:,}", f"{requests:,}", f"{ended - began:.2f}", f"{share:.1%}", f"{too_soon:,}"]],
        measured={"seconds": ended - began, "allowed": allowed, "too_soon": too_soon, "shortest": min(gaps)},
        aims=[
            Aim(
                name=f"{hosts} hosts, of what their delays allow",
                measured=Spread.of([share]),
                least=MIN_OF_POLITENESS,
                form=".3f",
            ),
            Aim(
                name="requests that kept the delay",
                measured=Spread.of([1 - too_soon / len(gaps)]),
                least=1.0,
                form=".4f",
            ),
        ],
    )


def _host(root: Path, pages: int, delay: float) -> Path:
    root.mkdir()
    (root / "robots.txt").write_text(f"User-agent: *\nCrawl-delay: {delay:g}\n")
    chance = random.Random(0)
    for number in range(pages):
        words = " ".join(chance.choices(["amber", "basin", "cedar", "delta", "ember", "field", "grove", "haven"], k=40))
        links = "".join(f'<a href="/{other}.html">page {other}</a> ' for other in range(pages))
        (root / f"{number}.html").write_text(f"<title>Page {number}</title><p>{words} {number}</p>{links}")
    return root


def _request_times(log: Path) -> dict[str, list[float]]:
    times: defaultdict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        second, address, _ = line.split(" ", 2)
        times[address].append(float(second))
    return {address: sorted(some) for address, some in times.items()}


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])
