"""How fast a crawl is, and what it takes: Gossamer with an index, without, and bare, and Scrapy, in turn.

The site is Debian's openjdk-17-doc (10,000 pages, 260 MB), served by nginx on the same machine. Wall time is that of
the whole process, start to end, the same for all; memory is the proportional set size (PSS) of all its processes
together, at its highest. Needs `.venv-bench` with Scrapy: `make bench` sets it up. `--index` compares only with and
without an index.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the webs for tests and for measuring are the same

from gossamer.store.base import decode_text  # noqa: E402
from webs import debian  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

SAMPLE_SECONDS = 0.5  # looking costs some milliseconds of the cores that are measured
INDEXED, FULL, BARE = "gossamer, index too", "gossamer", "gossamer, no links, no source"
SCRAPY = "scrapy, links extracted only"

# The aims of issue 2, then those of issue 3.
LEAST_SPEED_RATIO = 15.0
MOST_MEGABYTES = 600.0
MOST_TIME_RATIO = 1.35
MOST_INDEX_TIME_RATIO = 1.5
MOST_INDEX_SIZE_RATIO = 1.5  # to the text


@dataclass(frozen=True, kw_only=True)
class Run:
    """One crawl, measured from outside."""

    contestant: str
    pages: int
    seconds: float
    cpu_seconds: float  # of the crawl's processes, without nginx
    megabytes: float  # peak PSS of all its processes together
    index_to_text: float = 0.0  # the size of the index, as part of the text in it

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds


def commands(url: str, pages: int, store: Path) -> dict[str, list[str]]:
    """How each contestant is called."""
    gossamer = [str(Path(sys.executable).with_name("gossamer")), "crawl", url, "--json", "--max-pages", str(pages)]
    gossamer += ["--delay", "0", "--connections", "32", "--store", str(store)]
    scrapy = [str(HERE.parent / ".venv-bench/bin/python"), str(HERE / "scrapy_peer.py"), url, str(pages)]
    full = [*gossamer, "--no-index"]
    return {INDEXED: gossamer, FULL: full, BARE: [*full, "--no-links", "--no-source"], SCRAPY: scrapy}


def measure(contestant: str, command: list[str]) -> Run:
    """Run a crawl to its end; its last line of output is JSON with the number of pages."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=complaints)
        memory = PeakMemory(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        complaints.seek(0)
        if process.returncode:
            sys.exit(f"{contestant} ended with code {process.returncode}:\n{complaints.read().decode()}")
        told = json.loads(output.read().splitlines()[-1])
    return Run(
        contestant=contestant,
        pages=told["pages"],
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        megabytes=memory.peak() / 1e6,
    )


class PeakMemory:
    """Watches the memory of a process and its descendants until it ends."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while size := proportional_set_size(self._pid):
            self._peak = max(self._peak, size)
            time.sleep(SAMPLE_SECONDS)

    def peak(self) -> int:
        """The highest it was, in bytes."""
        self._thread.join()
        return self._peak


def proportional_set_size(pid: int) -> int:
    """PSS of a process and all its descendants, in bytes; those that end meanwhile count nothing."""
    try:
        family = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for member in family:
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def index_to_text(web: Path) -> float:
    """The bytes of an index by the bytes of the text in it."""
    size = sum(file.stat().st_size for file in (web / "index").rglob("*") if file.is_file())
    with closing(sqlite3.connect(web / "web.db")) as database:
        texts = (decode_text(body) for (body,) in database.execute("SELECT body FROM texts"))
        return size / sum(len(run.encode()) for text in texts for _, run in text)


def race(pages: int, runs: int, contestants: tuple[str, ...]) -> list[Run]:
    """Let the contestants run in turn, each on a fresh store."""
    binary, root = debian.find("nginx"), debian.find("openjdk-17-doc")
    if binary is None or root is None:
        sys.exit("nginx or openjdk-17-doc is not here: run `make test-packages`")
    for file in root.rglob("*.html"):
        file.read_bytes()  # whoever goes first must not pay for the disk
    measured = []
    with Nginx(binary, {"java": Site(root)}, log=False) as nginx:
        for number in range(runs):
            for contestant in contestants:
                with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
                    web = Path(folder, "web")
                    run = measure(contestant, commands(nginx.url("java", "/index.html"), pages, web)[contestant])
                    ratio = index_to_text(web) if contestant == INDEXED else 0.0
                    measured.append(dataclasses.replace(run, index_to_text=ratio))
                print(f"{number + 1}/{runs} {measured[-1]}", file=sys.stderr)
    return measured


def verdict(runs: list[Run]) -> dict[str, tuple[float, str, bool]]:
    """The aims, what was measured, and whether it is enough; medians over the runs."""

    def median(contestant: str, quantity: str) -> float:
        return float(statistics.median(getattr(run, quantity) for run in runs if run.contestant == contestant))

    def at_most(figure: float, most: float) -> tuple[float, str, bool]:
        return figure, f"<= {most}", figure <= most

    index_time = median(FULL, "pages_per_second") / median(INDEXED, "pages_per_second")
    aims = {
        "time, index on to off": at_most(index_time, MOST_INDEX_TIME_RATIO),
        "size, index to text": at_most(median(INDEXED, "index_to_text"), MOST_INDEX_SIZE_RATIO),
    }
    if not any(run.contestant == SCRAPY for run in runs):
        return aims
    speed = median(FULL, "pages_per_second") / median(SCRAPY, "pages_per_second")
    time_ratio = median(BARE, "pages_per_second") / median(FULL, "pages_per_second")
    memory = max(run.megabytes for run in runs if run.contestant == FULL)
    return {
        "speed, gossamer to scrapy": (speed, f">= {LEAST_SPEED_RATIO}", speed >= LEAST_SPEED_RATIO),
        "memory of gossamer (MB, PSS)": at_most(memory, MOST_MEGABYTES),
        "time, links and source to bare": at_most(time_ratio, MOST_TIME_RATIO),
        **aims,
    }


def show(runs: list[Run], aims: dict[str, tuple[float, str, bool]]) -> None:
    """Both tables, for people."""
    measured = Table("contestant", "pages", "pages/s", "wall s", "CPU s", "cores", "PSS MB")
    for run in sorted(runs, key=lambda run: run.contestant):
        figures = (run.pages_per_second, run.seconds, run.cpu_seconds, run.cpu_seconds / run.seconds, run.megabytes)
        measured.add_row(run.contestant, str(run.pages), *(f"{figure:,.1f}" for figure in figures))
    judged = Table("aim", "measured", "wanted", "")
    for aim, (figure, wanted, reached) in aims.items():
        judged.add_row(aim, f"{figure:,.2f}", wanted, "reached" if reached else "MISSED")
    console = Console()
    console.print(measured)
    console.print(judged)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000, help="pages to visit in each crawl (default 10,000)")
    parser.add_argument("--runs", type=int, default=2, help="times each contestant runs (default 2)")
    parser.add_argument("--index", action="store_true", help="only with and without an index")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    contestants = (INDEXED, FULL) if arguments.index else (INDEXED, FULL, BARE, SCRAPY)
    runs = race(arguments.pages, arguments.runs, contestants)
    aims = verdict(runs)
    if arguments.json:
        judged = {aim: {"measured": figure, "reached": reached} for aim, (figure, _, reached) in aims.items()}
        print(json.dumps({"runs": [dataclasses.asdict(run) for run in runs], "aims": judged}))
    else:
        show(runs, aims)
    return 0 if all(reached for _, _, reached in aims.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
