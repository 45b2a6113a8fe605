"""Everything at once, for long: a web is watched, searched and ranked while its sites change under it.

    python bench/soak.py --minutes 60

`gossamer watch` visits two documentation sites again and again, some of whose pages change every few seconds, come and
go; `gossamer serve` answers questions; `gossamer rank` runs once a minute. Memory (PSS) and file handles of the two
that stay, and how long answers take, are printed minute by minute. Exit code 1: memory or handles of one of them grew
by more than 5 % after the first ten minutes (in short runs: after the first third), or one of them ended.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # the webs for tests and for measuring are the same

from bench.contest import end_in_order, family, proportional_set_size, tell  # noqa: E402
from bench.report import PAGE, measured_by, put_between, table  # noqa: E402

from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query  # noqa: E402
from webs import debian  # noqa: E402
from webs.changing import copy_of  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SITES = ("python3.11-doc", "postgresql-doc-15")
RESULTS = ROOT / "bench" / "results"
SETTLED_MINUTES = 10.0
MOST_GROWTH = 1.05
LOOK_SECONDS = 5.0
CHANGE_SECONDS = 10.0
CHANGED_AT_ONCE = 20  # pages
EXTRA = 60  # pages that come and go
RANK_SECONDS = 60.0
PAUSE_SECONDS = 0.1  # between questions
START_SECONDS = 60.0
# A small page cache is full within minutes; what grows after that is no cache.
SETTINGS = """
[store]
cache = 16

[freshness]
pages_per_hour = 200000
host_pages_per_hour = 200000
shortest_wait = 20
longest_wait = 120
confirm_gone = 10
"""


class Look(NamedTuple):
    """The state of things at one moment."""

    minute: float
    watch_megabytes: float
    serve_megabytes: float
    watch_handles: int
    serve_handles: int


# -- a site that changes -----------------------------------------------------------------------------------------------


class Changing:
    """A copy of a documentation tree: every change writes some pages as they once were, plus a paragraph of today.

    So the site stays as large as it is, however long it changes: what grows is not the site.
    """

    def __init__(self, tree: Path, place: Path, seed: int) -> None:
        self._tree, self.root = tree, copy_of(tree, place)
        self._pages = sorted(path.relative_to(tree) for path in tree.rglob("*.html"))
        self._chance = random.Random(seed)
        self._changes = 0

    def change(self) -> None:
        """Change some pages; let others come and go."""
        self._changes += 1
        for path in self._chance.sample(self._pages, CHANGED_AT_ONCE):
            extra = self._chance.randrange(EXTRA)
            link = f'<a href="/extra-{extra}.html">more of it</a>'
            news = f"<p>Change {self._changes}: spiderling {extra}, {link}.</p></body>"
            self._write(path.as_posix(), (self._tree / path).read_bytes().replace(b"</body>", news.encode(), 1))
        come, go = self._chance.sample(range(EXTRA), 2)
        self._write(f"extra-{come}.html", f"<title>Extra {come}</title><p>Ballooning {self._changes}.</p>".encode())
        (self.root / f"extra-{go}.html").unlink(missing_ok=True)

    def _write(self, path: str, body: bytes) -> None:
        """As another file: the one that is there belongs to the original as well."""
        beside = self.root / f"{path}.new"
        beside.write_bytes(body)
        beside.replace(self.root / path)


# -- what runs all the time --------------------------------------------------------------------------------------------


@contextmanager
def running(*arguments: object, said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Gossamer that stays."""
    with said.open("wb") as words:
        process = subprocess.Popen(
            command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=words, env=environment()
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ready(process: subprocess.Popen[bytes], said: Path) -> str:
    """The address of a server, once it tells it."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"^Ready: (\S+)", said.read_text(), re.MULTILINE)
        if found:
            return found[1]
        time.sleep(0.1)
    sys.exit(f"gossamer serve did not start:\n{said.read_text()[-4000:]}")


class Repeated:
    """Something done again and again in a thread of its own, with a pause between; what it raises, ends the soak."""

    def __init__(self, work: Callable[[], None], pause: float) -> None:
        self._work, self._pause = work, pause
        self._ended = threading.Event()
        self.fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._pause):
            try:
                self._work()
            except Exception as fault:  # noqa: BLE001 - told by the main thread
                self.fault = fault
                return

    def end(self) -> None:
        self._ended.set()
        self._thread.join(30)


class Asker:
    """Asks the server questions of two words, and takes the time."""

    def __init__(self, url: str, words: Sequence[str]) -> None:
        self._url, self._words = url, words
        self._chance = random.Random(1)
        self.times: list[float] = []  # milliseconds, since they were last taken

    def ask(self) -> None:
        asked = urllib.parse.quote_plus(" ".join(self._chance.sample(self._words, 2)))
        started = time.perf_counter()
        with urllib.request.urlopen(f"{self._url}api/search?q={asked}", timeout=60) as answer:
            json.load(answer)
        self.times.append((time.perf_counter() - started) * 1000)

    def take(self) -> list[float]:
        taken, self.times = self.times, []
        return taken


class Ranker:
    """Computes the ranks, and takes the time."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self.last = 0.0  # seconds

    def rank(self) -> None:
        started = time.perf_counter()
        done = gossamer("rank", "--store", self._store)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self.last = time.perf_counter() - started


def handles(pid: int) -> int:
    """Open files of a process and all its descendants."""
    total = 0
    for member in family(pid):
        try:
            total += sum(1 for _ in Path(f"/proc/{member}/fd").iterdir())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return total


# -- the soak ----------------------------------------------------------------------------------------------------------


def words_of(root: Path) -> list[str]:
    """Words to ask for: those of some pages."""
    files = sorted(root.rglob("*.html"))[::20]
    found = {word for file in files for word in re.findall(r"\b[a-z]{5,12}\b", file.read_text("utf-8", "replace"))}
    return sorted(found)


def soak(minutes: float, folder: Path) -> tuple[list[Look], list[list[str]], str]:
    """Let it all run; the looks, the table's lines, and what went wrong."""
    binary, trees = debian.find("nginx"), {name: debian.find(name) for name in SITES}
    sites = [Changing(tree, folder / name, n) for n, (name, tree) in enumerate(trees.items()) if tree is not None]
    if binary is None or len(sites) < len(SITES):
        sys.exit("nginx or Debian's documentation is not here: run `make test-packages`")
    store = folder / "web"
    with Nginx(binary, {name: Site(site.root) for name, site in zip(SITES, sites, strict=True)}, log=False) as nginx:
        for name in SITES:
            crawl(nginx.url(name, "/index.html"), store, *FAST)
        (store / "gossamer.toml").write_text(SETTINGS)
        ranker = Ranker(store)
        ranker.rank()
        told = folder / "watch.said", folder / "serve.said"
        with (
            running("watch", "--store", store, "--quiet", *FAST, said=told[0]) as watch,
            running("serve", "--store", store, "--port", 0, said=told[1]) as serve,
        ):
            asker = Asker(ready(serve, told[1]), words_of(sites[0].root))
            working = [Repeated(asker.ask, PAUSE_SECONDS), Repeated(ranker.rank, RANK_SECONDS)]
            working += [Repeated(site.change, CHANGE_SECONDS) for site in sites]
            try:
                looks, lines, fault = watched(minutes, watch.pid, serve.pid, asker, ranker, store, working)
                ended = [name for name, process in (("watch", watch), ("serve", serve)) if process.poll() is not None]
            finally:
                for each in working:
                    each.end()
    said = " ".join(f"gossamer {name} ended." for name in ended)
    return looks, lines, " ".join(filter(None, (fault, said, *(file.read_text()[-1000:] for file in told if ended))))


def watched(
    minutes: float, watch: int, serve: int, asker: Asker, ranker: Ranker, store: Path, working: Sequence[Repeated]
) -> tuple[list[Look], list[list[str]], str]:
    """Look until the time is over; a line a minute."""
    looks: list[Look] = []
    lines: list[list[str]] = []
    started = time.monotonic()
    minute = 1
    while (now := (time.monotonic() - started) / 60) < minutes:
        time.sleep(LOOK_SECONDS)
        sizes = [proportional_set_size(pid) / 1e6 for pid in (watch, serve)]
        looks.append(Look(now, sizes[0], sizes[1], handles(watch), handles(serve)))
        fault = next((each.fault for each in working if each.fault), None)
        if fault is not None or not all(sizes):
            return looks, lines, f"{type(fault).__name__}: {fault}." if fault else "A process is gone."
        if (time.monotonic() - started) / 60 >= minute:
            recent = [look for look in looks if look.minute >= minute - 1]
            lines.append(line(minute, recent, asker.take(), ranker.last, store))
            tell(" | ".join(lines[-1]))
            minute += 1
    return looks, lines, ""


COLUMNS = (
    "minute", "watch MB", "serve MB", "handles", "visits", "changes seen", "answers", "median ms", "99 % ms", "rank s",
)  # fmt: skip


def line(minute: int, looks: Sequence[Look], times: Sequence[float], rank: float, store: Path) -> list[str]:
    """A minute as a line of the table."""
    ((visits, changes),) = query(
        store, "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM history WHERE event = 'changed')"
    )
    ordered = sorted(times) or [0.0]
    return [
        str(minute),
        f"{statistics.median(look.watch_megabytes for look in looks):.0f}",
        f"{statistics.median(look.serve_megabytes for look in looks):.0f}",
        " + ".join(f"{statistics.median(getattr(look, name) for look in looks):.0f}" for name in Look._fields[3:]),
        f"{visits:,}",
        f"{changes:,}",
        f"{len(times):,}",
        f"{statistics.median(ordered):.1f}",
        f"{ordered[int(0.99 * len(ordered))]:.1f}",
        f"{rank:.1f}",
    ]


def growth(looks: Sequence[Look], minutes: float) -> dict[str, float]:
    """Of each figure: what it was in the last fifth of the settled time, by that in the first."""
    settled = min(SETTLED_MINUTES, minutes / 3)
    part = (minutes - settled) / 5
    first = [look for look in looks if settled <= look.minute < settled + part]
    last = [look for look in looks if look.minute >= minutes - part]
    if not first or not last:
        return {}
    return {name: _typical(last, name) / _typical(first, name) for name in Look._fields[1:]}


def _typical(looks: Sequence[Look], name: str) -> float:
    """Of memory what the busy minutes need: what nine minutes of ten stay below, each by the most it had.

    In quiet ones memory is given back. Pages that were first crawled together come due together, every other minute at
    first and evenly later; so what is typical of all minutes goes up when the quiet ones end, though nothing needs
    more than before. Of handles few, for some are open for a moment only, and those that are forgotten always. Not the
    fewest: one look in a hundred meets the moment in which a reader of the index makes way for the next.
    """
    if name.endswith("handles"):
        return float(statistics.quantiles((getattr(look, name) for look in looks), n=10)[0])
    minutes = groupby(looks, lambda look: int(look.minute))
    most = [max(getattr(look, name) for look in some) for _, some in minutes]
    return float(statistics.quantiles(most, n=10, method="inclusive")[-1]) if len(most) > 1 else float(most[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-", dir=_beside_documentation()) as folder:
        looks, lines, fault = soak(options.minutes, Path(folder))
    grown = growth(looks, options.minutes)
    shares = ", ".join(f"{name.replace('_', ' ')} {times - 1:+.1%}" for name, times in grown.items())
    good = not fault and bool(grown) and all(times <= MOST_GROWTH for times in grown.values())
    settled = min(SETTLED_MINUTES, options.minutes / 3)
    verdict = (
        f"{'Good' if good else 'BAD'}: after the first {settled:.0f} of {options.minutes:g} minutes: {shares}. {fault}"
    )
    told = f"{table(COLUMNS, lines)}\n\n{verdict.strip()}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "soak.md").write_text(told)
    if options.minutes >= 60:
        put_between(PAGE, "soak", f"{measured_by(f'`make soak MINUTES={options.minutes:g}`')} {verdict.strip()}")
    print(told)
    return 0 if good else 1


def _beside_documentation() -> Path:
    """Where hard links to the documentation can be made: on its own file system."""
    tree = debian.find(SITES[0])
    return Path(tempfile.gettempdir()) if tree is None or _same_device(tree) else debian.CACHE


def _same_device(tree: Path) -> bool:
    return tree.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev


if __name__ == "__main__":
    end_in_order()  # no server is left behind
    sys.exit(main())
