"""Everything at once, for long: watch, search and rank a web while its sites change.

    python bench/soak.py --minutes 60

`gossamer watch` revisits two documentation sites, whose pages change, appear and disappear every few seconds. `gossamer
serve` answers queries, and `gossamer rank` runs once a minute. The script prints memory (PSS) and file handles of the
two long-running processes, and the latency of answers, every minute. Exit code 1: memory or handles of one of them grew
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
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # tests and benchmarks use the same webs

from bench.harness.contest import exit_cleanly_on_sigterm, family, print_progress, proportional_set_size  # noqa: E402
from bench.harness.report import PAGE, measured_by, put_between, table  # noqa: E402

from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query  # noqa: E402
from webs import debian  # noqa: E402
from webs.changing import link_tree  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SITES = ("python3.11-doc", "postgresql-doc-15")
RESULTS = ROOT / "bench" / "results"
WARM_UP_MINUTES = 10.0
MAX_GROWTH = 1.05
SAMPLE_SECONDS = 5.0
CHANGE_SECONDS = 10.0
CHANGED_AT_ONCE = 20  # pages
EXTRA = 60  # pages that appear and disappear
RANK_SECONDS = 60.0
PAUSE_SECONDS = 0.1  # between queries
START_SECONDS = 60.0
# A small page cache fills within minutes, so later growth is not the cache.
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


class Sample(NamedTuple):
    """Memory and handles at one moment."""

    minute: float
    watch_megabytes: float
    serve_megabytes: float
    watch_handles: int
    serve_handles: int


# -- a site that changes -----------------------------------------------------------------------------------------------


class ChangingSite:
    """A copy of a documentation tree: every change restores some pages and adds a new paragraph to each.

    So the size of the site stays the same, and growth comes from Gossamer.
    """

    def __init__(self, tree: Path, target: Path, seed: int) -> None:
        self._tree, self.root = tree, link_tree(tree, target)
        self._pages = sorted(path.relative_to(tree) for path in tree.rglob("*.html"))
        self._chance = random.Random(seed)
        self._changes = 0

    def change(self) -> None:
        """Change some pages, add one and remove one."""
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
        """Write a new file, because the existing one is linked to the original."""
        new = self.root / f"{path}.new"
        new.write_bytes(body)
        new.replace(self.root / path)


# -- long-running processes --------------------------------------------------------------------------------------------


@contextmanager
def run_command(*arguments: object, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Gossamer command until the context ends."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stream, env=environment()
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


def ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for a server and return its address."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        match = re.search(r"^Ready: (\S+)", log.read_text(), re.MULTILINE)
        if match:
            return match[1]
        time.sleep(0.1)
    sys.exit(f"gossamer serve did not start:\n{log.read_text()[-4000:]}")


class Repeated:
    """Repeats work in a thread with a pause in between; an exception ends the soak."""

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
            except Exception as fault:  # noqa: BLE001 - the main thread reports it
                self.fault = fault
                return

    def end(self) -> None:
        self._ended.set()
        self._thread.join(30)


class QueryClient:
    """Sends queries of two words and measures their time."""

    def __init__(self, url: str, words: Sequence[str]) -> None:
        self._url, self._words = url, words
        self._chance = random.Random(1)
        self.times: list[float] = []  # milliseconds, since the last `drain`

    def ask(self) -> None:
        query = urllib.parse.quote_plus(" ".join(self._chance.sample(self._words, 2)))
        started = time.perf_counter()
        with urllib.request.urlopen(f"{self._url}api/search?q={query}", timeout=60) as response:
            json.load(response)
        self.times.append((time.perf_counter() - started) * 1000)

    def drain(self) -> list[float]:
        times, self.times = self.times, []
        return times


class Ranker:
    """Computes ranks and measures the time."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self.last = 0.0  # seconds

    def rank(self) -> None:
        started = time.perf_counter()
        result = gossamer("rank", "--store", self._store)
        if result.returncode:
            raise RuntimeError(result.stderr)
        self.last = time.perf_counter() - started


def handles(pid: int) -> int:
    """Return the open files of a process and all its descendants."""
    total = 0
    for member in family(pid):
        try:
            total += sum(1 for _ in Path(f"/proc/{member}/fd").iterdir())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the process just ended
    return total


# -- the soak ----------------------------------------------------------------------------------------------------------


def query_words(root: Path) -> list[str]:
    """Return query words from some pages."""
    files = sorted(root.rglob("*.html"))[::20]
    words = {word for file in files for word in re.findall(r"\b[a-z]{5,12}\b", file.read_text("utf-8", "replace"))}
    return sorted(words)


def soak(minutes: float, folder: Path) -> tuple[list[Sample], list[list[str]], str]:
    """Run everything; return the samples, the table's lines, and the fault."""
    binary, trees = debian.find("nginx"), {name: debian.find(name) for name in SITES}
    sites = [ChangingSite(tree, folder / name, n) for n, (name, tree) in enumerate(trees.items()) if tree is not None]
    if binary is None or len(sites) < len(SITES):
        sys.exit("nginx or Debian's documentation is missing: run `make test-packages`")
    store = folder / "web"
    with Nginx(binary, {name: Site(site.root) for name, site in zip(SITES, sites, strict=True)}, log=False) as nginx:
        for name in SITES:
            crawl(nginx.url(name, "/index.html"), store, *FAST)
        (store / "gossamer.toml").write_text(SETTINGS)
        ranker = Ranker(store)
        ranker.rank()
        logs = folder / "watch.log", folder / "serve.log"
        with (
            run_command("watch", "--store", store, "--quiet", *FAST, log=logs[0]) as watch,
            run_command("serve", "--store", store, "--port", 0, log=logs[1]) as serve,
        ):
            client = QueryClient(ready(serve, logs[1]), query_words(sites[0].root))
            working = [Repeated(client.ask, PAUSE_SECONDS), Repeated(ranker.rank, RANK_SECONDS)]
            working += [Repeated(site.change, CHANGE_SECONDS) for site in sites]
            try:
                samples, lines, fault = take_samples(minutes, watch.pid, serve.pid, client, ranker, store, working)
                ended = [name for name, process in (("watch", watch), ("serve", serve)) if process.poll() is not None]
            finally:
                for each in working:
                    each.end()
    ended_message = " ".join(f"gossamer {name} ended." for name in ended)
    return (
        samples,
        lines,
        " ".join(filter(None, (fault, ended_message, *(file.read_text()[-1000:] for file in logs if ended)))),
    )


def take_samples(
    minutes: float,
    watch: int,
    serve: int,
    client: QueryClient,
    ranker: Ranker,
    store: Path,
    working: Sequence[Repeated],
) -> tuple[list[Sample], list[list[str]], str]:
    """Sample until the time is over; print a line per minute."""
    samples: list[Sample] = []
    lines: list[list[str]] = []
    started = time.monotonic()
    minute = 1
    while (now := (time.monotonic() - started) / 60) < minutes:
        time.sleep(SAMPLE_SECONDS)
        sizes = [proportional_set_size(pid) / 1e6 for pid in (watch, serve)]
        samples.append(Sample(now, sizes[0], sizes[1], handles(watch), handles(serve)))
        fault = next((each.fault for each in working if each.fault), None)
        if fault is not None or not all(sizes):
            return samples, lines, f"{type(fault).__name__}: {fault}." if fault else "A process has ended."
        if (time.monotonic() - started) / 60 >= minute:
            recent = [sample for sample in samples if sample.minute >= minute - 1]
            lines.append(line(minute, recent, client.drain(), ranker.last, store))
            print_progress(" | ".join(lines[-1]))
            minute += 1
    return samples, lines, ""


COLUMNS = (
    "minute", "watch MB", "serve MB", "handles", "visits", "changes seen", "answers", "median ms", "99 % ms", "rank s",
)  # fmt: skip


def line(minute: int, samples: Sequence[Sample], times: Sequence[float], rank: float, store: Path) -> list[str]:
    """Return a minute as a line of the table."""
    ((visits, changes),) = query(
        store, "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM history WHERE event = 'changed')"
    )
    ordered = sorted(times) or [0.0]
    return [
        str(minute),
        f"{statistics.median(sample.watch_megabytes for sample in samples):.0f}",
        f"{statistics.median(sample.serve_megabytes for sample in samples):.0f}",
        " + ".join(
            f"{statistics.median(getattr(sample, name) for sample in samples):.0f}" for name in Sample._fields[3:]
        ),
        f"{visits:,}",
        f"{changes:,}",
        f"{len(times):,}",
        f"{statistics.median(ordered):.1f}",
        f"{ordered[int(0.99 * len(ordered))]:.1f}",
        f"{rank:.1f}",
    ]


def growth(samples: Sequence[Sample], minutes: float) -> dict[str, float]:
    """Return, for each figure, its value in the last fifth of the settled time divided by that in the first."""
    settled = min(WARM_UP_MINUTES, minutes / 3)
    part = (minutes - settled) / 5
    first = [sample for sample in samples if settled <= sample.minute < settled + part]
    last = [sample for sample in samples if sample.minute >= minutes - part]
    if not first or not last:
        return {}
    return {name: _robust_value(last, name) / _robust_value(first, name) for name in Sample._fields[1:]}


def _robust_value(samples: Sequence[Sample], name: str) -> float:
    """Return a robust figure of the samples, for memory or handles.

    For memory: the 90th percentile over minutes of each minute's maximum. Quiet minutes free memory, and pages crawled
    together first come due together every other minute, later evenly. A mean over all minutes would therefore rise
    although no minute needs more. For handles: the first decile, because some are open only for a moment and leaked
    ones stay. Not the minimum, because one sample in a hundred hits the switch between two index readers.
    """
    if name.endswith("handles"):
        return float(statistics.quantiles((getattr(sample, name) for sample in samples), n=10)[0])
    minutes = groupby(samples, lambda sample: int(sample.minute))
    most = [max(getattr(sample, name) for sample in some) for _, some in minutes]
    return float(statistics.quantiles(most, n=10, method="inclusive")[-1]) if len(most) > 1 else float(most[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-", dir=_beside_documentation()) as folder:
        samples, lines, fault = soak(options.minutes, Path(folder))
    grown = growth(samples, options.minutes)
    shares = ", ".join(f"{name.replace('_', ' ')} {times - 1:+.1%}" for name, times in grown.items())
    good = not fault and bool(grown) and all(times <= MAX_GROWTH for times in grown.values())
    settled = min(WARM_UP_MINUTES, options.minutes / 3)
    verdict = (
        f"{'Good' if good else 'BAD'}: after the first {settled:.0f} of {options.minutes:g} minutes: {shares}. {fault}"
    )
    text = f"{table(COLUMNS, lines)}\n\n{verdict.strip()}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "soak.md").write_text(text)
    if options.minutes >= 60:
        put_between(PAGE, "soak", f"{measured_by(f'`make soak MINUTES={options.minutes:g}`')} {verdict.strip()}")
    print(text)
    return 0 if good else 1


def _beside_documentation() -> Path:
    """Return a directory on the file system of the documentation, where hard links work."""
    tree = debian.find(SITES[0])
    return Path(tempfile.gettempdir()) if tree is None or _same_device(tree) else debian.CACHE


def _same_device(tree: Path) -> bool:
    return tree.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev


if __name__ == "__main__":
    exit_cleanly_on_sigterm()  # leaves no server behind
    sys.exit(main())
