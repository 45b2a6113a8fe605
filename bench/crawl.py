"""Speed and cost of a crawl: Gossamer with an index, without one, and bare, in turn with Scrapy.

The site is Debian's openjdk-17-doc (10,000 pages, 260 MB), served by nginx on the same machine. Wall time covers the
whole process. Memory is the peak proportional set size (PSS) of all its processes together. Gossamer runs three times
per run of Scrapy, which takes 14 times as long, because the speed of a shared machine varies within seconds. Medians
count. Needs `.venv-bench` with Scrapy: `make bench` creates it. `--index` compares only with and without an index.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # tests and benchmarks use the same webs

from bench.harness.contest import Contestant, measure, print_progress  # noqa: E402
from bench.harness.site_sample import read_all  # noqa: E402

from gossamer.store.content import decode_text  # noqa: E402
from webs import debian  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness.contest import Run

INDEXED, FULL, BARE = "gossamer, index too", "gossamer", "gossamer, no links, no source"
SCRAPY = "scrapy, links extracted only"
OURS_PER_RUN = 3

# The aims of issue 2, then those of issue 3.
LEAST_SPEED_RATIO = 15.0
MOST_MEGABYTES = 600.0
MOST_TIME_RATIO = 1.35
MOST_INDEX_TIME_RATIO = 1.5
MOST_INDEX_SIZE_RATIO = 1.5  # to the text


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """A crawl and the size of its index."""

    run: Run
    index_to_text: float = 0.0  # size of the index divided by that of its text


def contestants(pages: int) -> list[Contestant]:
    """Return the command of each contestant."""
    gossamer = [
        str(Path(sys.executable).with_name("gossamer")),
        "crawl",
        "--json",
        "--no-rank",
        "--max-pages",
        str(pages),
    ]
    gossamer += ["--delay", "0", "--connections", "32"]
    scrapy = [str(ROOT / ".venv-bench/bin/python"), str(ROOT / "bench/races/peers/scrapy_links.py")]

    def ours(*less: str) -> Callable[[str, Path], list[str]]:
        return lambda url, folder: [*gossamer, url, "--store", str(folder / "web"), *less]

    return [
        Contestant(name=INDEXED, command=ours()),
        Contestant(name=FULL, command=ours("--no-index")),
        Contestant(name=BARE, command=ours("--no-index", "--no-links", "--no-source")),
        Contestant(name=SCRAPY, command=lambda url, _: [*scrapy, url, str(pages)]),
    ]


def index_to_text(web: Path) -> float:
    """Return the bytes of an index divided by the bytes of its text."""
    size = sum(file.stat().st_size for file in (web / "index").rglob("*") if file.is_file())
    with closing(sqlite3.connect(web / "web.db")) as database:
        texts = (decode_text(body) for (body,) in database.execute("SELECT body FROM texts"))
        return size / sum(len(run.encode()) for text in texts for _, run in text)


def race(pages: int, runs: int, names: tuple[str, ...]) -> list[Indexed]:
    """Run the contestants in turn, each on a fresh store."""
    binary, root = debian.find("nginx"), debian.find("openjdk-17-doc")
    if binary is None or root is None:
        sys.exit("nginx or openjdk-17-doc is missing: run `make test-packages`")
    read_all(root)
    crawls = []
    with Nginx(binary, {"java": Site(root)}, log=False) as nginx:
        *ours, scrapy = contestants(pages)
        turns = [each for each in (*ours * OURS_PER_RUN, scrapy) if each.name in names]
        for number in range(runs):
            for contestant in turns:
                with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
                    run = measure(contestant, nginx.url("java", "/index.html"), Path(folder))
                    size = index_to_text(Path(folder, "web")) if contestant.name == INDEXED else 0.0
                crawls.append(Indexed(run=run, index_to_text=size))
                print_progress(f"{number + 1}/{runs} {crawls[-1]}")
    return crawls


def verdict(crawls: list[Indexed]) -> dict[str, tuple[float, str, bool]]:
    """Return the aims with measured medians and whether they are reached."""
    runs = [each.run for each in crawls]

    def median(contestant: str, quantity: str) -> float:
        return float(statistics.median(getattr(run, quantity) for run in runs if run.contestant == contestant))

    def at_most(figure: float, most: float) -> tuple[float, str, bool]:
        return figure, f"<= {most}", figure <= most

    index_time = median(FULL, "pages_per_second") / median(INDEXED, "pages_per_second")
    aims = {
        "time, index on to off": at_most(index_time, MOST_INDEX_TIME_RATIO),
        "size, index to text": at_most(max(each.index_to_text for each in crawls), MOST_INDEX_SIZE_RATIO),
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
    """Print both tables."""
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
    parser.add_argument("--runs", type=int, default=2, help="runs of Scrapy; three times as many of ours (default 2)")
    parser.add_argument("--index", action="store_true", help="only with and without an index")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    names = (INDEXED, FULL) if arguments.index else (INDEXED, FULL, BARE, SCRAPY)
    measured = race(arguments.pages, arguments.runs, names)
    runs, aims = [each.run for each in measured], verdict(measured)
    if arguments.json:
        judged = {aim: {"measured": figure, "reached": reached} for aim, (figure, _, reached) in aims.items()}
        print(json.dumps({"runs": [dataclasses.asdict(run) for run in runs], "aims": judged}))
    else:
        show(runs, aims)
    return 0 if all(reached for _, _, reached in aims.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
