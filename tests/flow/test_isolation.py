"""No host takes anything from another: crawls of a well-behaved host beside one that is hostile in each resource.

The measure is the victim's own: pages a second between its first and its last page, alone and beside the hostile host.
A busy machine slows both, so they are measured in turn, and a pair that one of them disturbed is measured again.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from helpers.cli.commands import command, environment, query
from helpers.patience import PATIENCE, slowness, until
from hostile import PAGE, HostileServer
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = Path(__file__).resolve().parents[1] / "hostile" / "hook"
PAGES = 80  # of the victim
PAGE_SECONDS = 0.02  # that the victim takes for a page: its server is the limit, not the processor
LEAST_SHARE = 0.5  # of its pages a second that the victim keeps
STOP_SECONDS = 10.0  # from SIGTERM to the end of a crawl
MEASUREMENTS = 3
HOSTILE_URLS = 60
LINKS = b"".join(b"<a href=/missing?%d>x</a>" % number for number in range(50_000))


class Attack(NamedTuple):
    """What the hostile hosts do."""

    path: str  # of their URLs; {n} is the number of the URL
    page: bytes = b""  # given: the content of each
    robots: str = "missing"
    hosts: int = 1
    urls: int = HOSTILE_URLS


ATTACKS = {
    "parser time": Attack("spin?{n}", b"<!--fault:spin-->"),
    "parser crashes": Attack("crash?{n}", b"<!--fault:abort-->"),
    "slow large bodies": Attack("swell?bytes=2000000&n={n}", hosts=12, urls=4),
}
LONG_ATTACKS = {
    "parser memory": Attack("hoard?{n}", b"<!--fault:hoard-->"),
    "hanging parsers": Attack("hang?{n}", b"<!--fault:hang-deaf-->"),
    "slow headers": Attack("drip-header?{n}", hosts=4, urls=8),
    "slow bodies": Attack("drip?{n}", hosts=4, urls=8),
    "slow robots.txt": Attack("page?{n}", robots="stall", hosts=4, urls=8),
    "endless bodies": Attack("endless?{n}", urls=8),
    "redirect loops": Attack("loop?n={n}"),
    "errors": Attack("status?n={n}"),
    "many links": Attack("links?{n}", LINKS, urls=12),
}


@contextmanager
def hostile_urls(attack: Attack) -> Iterator[tuple[list[HostileServer], list[str]]]:
    """Start the hostile hosts; return them and their URLs."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(HostileServer(f"127.0.2.{number}", robots=attack.robots))
            for number in range(1, attack.hosts + 1)
        ]
        paths = [attack.path.format(n=number) for number in range(attack.urls)]
        if attack.page:
            for server in servers:
                server.pages.update({f"/{path}": attack.page for path in paths})
        yield servers, [server.url(path) for server in servers for path in paths]


class VictimCrawl:
    """A crawl of the victim and perhaps hostile hosts. The victim begins when the hostile hosts have been asked."""

    def __init__(self, home: Path, attack: Attack | None = None) -> None:
        self._home, self._attack = home, attack
        self.stop_seconds = 0.0

    def pages_per_second(self) -> float:
        """Crawl until the victim's last page is requested, stop the crawl, and return the victim's rate."""
        gate = threading.Event()
        links = "".join(f'<a href="/{number}">x</a>' for number in range(PAGES))
        pages: dict[str, str | SiteResponse] = {
            f"/{number}": SiteResponse(f"<title>{number}</title>", seconds=PAGE_SECONDS) for number in range(PAGES)
        }
        with SiteServer({"/": SiteResponse(links, gate=gate), **pages}) as victim, ExitStack() as stack:
            servers, urls = stack.enter_context(hostile_urls(self._attack)) if self._attack else ([], [])
            process = stack.enter_context(self._crawl([*urls, victim.url]))
            until(lambda: all(len(server.requests) > (0 if server.robots == "stall" else 2) for server in servers))
            time.sleep(1.0 if servers else 0.0)  # the hostile pages take what they can get
            gate.set()
            until(lambda: len(victim.paths()) == PAGES + 1 or process.poll() is not None, "the victim's pages")
            times = [request.at for request in victim.requests if request.path.strip("/").isdecimal()]
            self._stop(process)
        assert len(times) == PAGES
        return (PAGES - 1) / (max(times) - min(times))

    @contextmanager
    def _crawl(self, urls: list[str]) -> Iterator[subprocess.Popen[str]]:
        self._home.mkdir()
        (self._home / "seeds").write_text("\n".join(urls))
        arguments = ("--store", self._home / "web", "--seeds", self._home / "seeds", "--delay", "0", "--connections", 4)
        with (self._home / "stderr").open("w") as errors:
            process = subprocess.Popen(
                command("crawl", *arguments, "--quiet"), env=environment({"PYTHONPATH": str(HOOK)}),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, text=True,
            )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE)

    def _stop(self, process: subprocess.Popen[str]) -> None:
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
        # The victim's crawl alone may be complete already. Then the signal ends it while the index catches up.
        assert code == 0 or (self._attack is None and code == -signal.SIGTERM), (self._home / "stderr").read_text()
        self.stop_seconds = time.monotonic() - started


def check_isolation(home: Path, attack: Attack) -> None:
    shares, stops = [], []
    for number in range(MEASUREMENTS):
        alone = VictimCrawl(home / f"alone-{number}").pages_per_second()
        beside = VictimCrawl(home / f"beside-{number}", attack)
        shares.append(beside.pages_per_second() / alone)
        stops.append(beside.stop_seconds / slowness())
        if shares[-1] >= LEAST_SHARE and stops[-1] < STOP_SECONDS:
            print(f"share {shares}, stop {stops}")
            return
    pytest.fail(f"the victim keeps {shares} of its pages a second; SIGTERM took {stops} s")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_host_leaves_half_of_its_pace_to_another(tmp_path: Path, name: str) -> None:
    check_isolation(tmp_path, ATTACKS[name])


@pytest.mark.full
@pytest.mark.parametrize("name", LONG_ATTACKS)
def test_no_hostile_host_slows_another_down(tmp_path: Path, name: str) -> None:
    check_isolation(tmp_path, LONG_ATTACKS[name])


def sitemap_lines(*urls: str) -> SiteResponse:
    return SiteResponse("".join(f"Sitemap: {url}\n" for url in urls), headers={"Content-Type": "text/plain"})


def test_a_robots_txt_makes_fifty_requests_at_most_and_none_out_of_scope(tmp_path: Path) -> None:
    with SiteServer({"/": PAGE.decode()}) as site, SiteServer({}) as foreign:
        names = [f"{number}.xml" for number in range(300)]
        site.pages["/robots.txt"] = sitemap_lines(*(f"{one.url}{name}" for name in names for one in (site, foreign)))
        arguments = ("--store", tmp_path, "--scope", "host", "--delay", "0", "--connections", "16", "--quiet")
        done = subprocess.run(command("crawl", site.url, *arguments), env=environment(), check=False)
        assert done.returncode == 0
        requested = [path for path in site.paths() if path.endswith(".xml")]
        assert (len(requested), foreign.requests) == (50, [])
    reasons = dict(query(tmp_path, "SELECT reason, count(*) FROM resources WHERE reason <> '' GROUP BY 1"))
    assert reasons["more than 50 sitemaps of its host in this round"] == 250
    assert reasons["other host"] == 300
