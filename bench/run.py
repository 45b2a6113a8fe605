"""Gossamer beside the others, in one run: crawling, the machine's cores, politeness, search, the link graph.

    python bench/run.py                    # quick: a part of the site, few runs, within ten minutes
    python bench/run.py --full             # the whole site, more runs, Spider too: one to two hours
    python bench/run.py --only crawl --pages 300 --runs 1
    python bench/run.py --only generated --shape pages=20000,links=20,latency=0.05,errors=0.01

`make bench` sets up what it needs first. The report goes to `bench/results/` as JSON and Markdown and, when all parts
have run, into docs/explanation/performance.md; that of the full run into the README as well. With --check the exit code
is 1 when an aim was missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # the webs for tests and for measuring are the same

from bench import crawl_race, graph_race, limits, report, search_race  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markdown import Markdown  # noqa: E402

from webs.generated import Shape  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.report import Section


class Scale(NamedTuple):
    """How much of everything."""

    pages: int  # 0: all
    runs: int
    generated: Shape
    hosts: int
    pages_a_host: int
    passes: int  # of the questions
    graph: str
    full: bool


# No errors: Gossamer tries again later what answers 500, the others were told not to, and that would be other work.
QUICK = Scale(2_000, 2, Shape(pages=2_000, latency=0.02), 500, 15, 3, "tiny", full=False)
FULL = Scale(0, 5, Shape(pages=20_000, latency=0.02), 500, 30, 5, "small", full=True)
DELAY = 1.0  # seconds

PARTS: dict[str, Callable[[Scale], Section]] = {
    "crawl": lambda scale: crawl_race.race(scale.pages, scale.runs, full=scale.full),
    "generated": lambda scale: crawl_race.generated(scale.generated, scale.runs, full=scale.full),
    "cores": lambda scale: limits.all_cores(scale.pages, scale.runs),
    "politeness": lambda scale: limits.politeness(scale.hosts, scale.pages_a_host, DELAY),
    "search": lambda scale: search_race.race(scale.pages, scale.passes),
    "graph": lambda scale: graph_race.race(scale.graph, scale.runs),
}


def run(parts: list[str], scale: Scale) -> list[Section]:
    """The parts, one after the other, each with the time it took."""
    sections = []
    for part in parts:
        started = time.monotonic()
        section = PARTS[part](scale)
        sections.append(dataclasses.replace(section, seconds=time.monotonic() - started))
        print(f"== {part}: {sections[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    return sections


def publish(sections: list[Section], mode: str, command: str, *, everything: bool) -> None:
    """Write it where it belongs, and show it."""
    told = report.markdown(sections, mode, command)
    if everything:
        report.write(sections, mode, command)
        report.put_between(report.PAGE, f"bench {mode}", told)
        if mode == "full":
            report.put_between(report.README, "bench", told.partition("\n### ")[0])
    Console().print(Markdown(told))


def shape(text: str) -> Shape:
    """`pages=20000,latency=0.05` -> a shape."""
    named = dict(part.split("=", 1) for part in text.split(","))
    usual = dataclasses.asdict(Shape())
    return Shape(**{name: type(usual[name])(value) for name, value in named.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all of it")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part (may be repeated)")
    parser.add_argument("--pages", type=int, help="pages of the real site; 0: all")
    parser.add_argument("--runs", type=int, help="times that each contestant runs")
    parser.add_argument("--shape", type=shape, help="of the generated web: " + ", ".join(Shape.__dataclass_fields__))
    parser.add_argument("--check", action="store_true", help="exit code 1 when an aim is missed")
    options = parser.parse_args()
    scale = FULL if options.full else QUICK
    chosen = {"pages": options.pages, "runs": options.runs, "generated": options.shape}
    scale = scale._replace(**{name: value for name, value in chosen.items() if value is not None})
    started = time.monotonic()
    sections = run(options.only or list(PARTS), scale)
    mode = "full" if options.full else "quick"
    everything = options.only is None and scale in {QUICK, FULL}
    publish(sections, mode, f"make bench{' ARGS=--full' if options.full else ''}", everything=everything)
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stderr)
    missed = [aim.name for section in sections for aim in section.aims if not aim.reached]
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
