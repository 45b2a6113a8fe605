"""Gossamer beside other programs, in one run: crawling, cores, politeness, search, the link graph, rendering.

    python bench/run.py                    # quick: a part of the site, few runs, within ten minutes
    python bench/run.py --full             # the whole site, more runs, Spider too: some forty minutes
    python bench/run.py --only crawl --pages 300 --runs 1
    python bench/run.py --only generated --shape pages=20000,links=20,latency=0.05,errors=0.01

`make bench` sets up its requirements. The report goes to `bench/results/` as JSON and Markdown. The full run also
writes its opening into `bench/results/README.md` and three ratios into the project's README. A failed part or an
interruption costs none of the others: the run writes all measurements, and the report lists what is missing. The exit
code is 1 when a part failed, 130 after an interruption, and with --check also 1 when an aim was missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # tests and benchmarks use the same webs

from bench.harness import report  # noqa: E402
from bench.harness.contest import exit_cleanly_on_sigterm, print_progress  # noqa: E402
from bench.races import crawl as crawl_race  # noqa: E402
from bench.races import graph as graph_race  # noqa: E402
from bench.races import limits  # noqa: E402
from bench.races import render as render_race  # noqa: E402
from bench.races import search as search_race  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markdown import Markdown  # noqa: E402

from webs.generated import Shape  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness.report import Section


class Scale(NamedTuple):
    """The amount of work of each part."""

    pages: int  # 0: all
    runs: int
    patience: float  # seconds of a contestant for all its runs of one part; it always gets one run
    generated: Shape
    hosts: int
    pages_a_host: int
    passes: int  # over the questions
    graph: str
    full: bool


# No errors, because Gossamer retries pages that respond with 500 and the others do not.
QUICK = Scale(2_000, 2, 100.0, Shape(pages=1_000, latency=0.02), 500, 15, 3, "tiny", full=False)
FULL = Scale(0, 3, 700.0, Shape(pages=4_000, latency=0.02), 500, 30, 5, "small", full=True)
DELAY = 1.0  # seconds


class Part(NamedTuple):
    """A part of the benchmark."""

    run: Callable[[Scale], Section]
    quick: float  # rough seconds on two cores
    full: float


PARTS = {
    "crawl": Part(lambda scale: crawl_race.race(scale.pages, scale.runs, scale.patience, full=scale.full), 200, 1_700),
    "generated": Part(
        lambda scale: crawl_race.race_generated(scale.generated, scale.runs, scale.patience / 2, full=scale.full),
        60,
        150,
    ),
    "cores": Part(lambda scale: limits.all_cores(scale.pages, scale.runs), 30, 180),
    "politeness": Part(lambda scale: limits.politeness(scale.hosts, scale.pages_a_host, DELAY), 25, 40),
    "search": Part(lambda scale: search_race.race(scale.pages, scale.passes), 40, 150),
    "graph": Part(lambda scale: graph_race.race(scale.graph, min(scale.runs, 2)), 60, 240),
    "render": Part(lambda scale: render_race.race(scale.runs if scale.full else 1), 110, 330),
}


class RunResults(NamedTuple):
    """The results of all parts."""

    sections: list[Section]
    missing: dict[str, str]  # part -> reason
    interrupted: bool = False


def run(parts: list[str], scale: Scale) -> RunResults:
    """Run the parts in order, and record the time of each."""
    measured = RunResults([], {})
    for number, part in enumerate(parts):
        left = sum(PARTS[each].full if scale.full else PARTS[each].quick for each in parts[number:])
        print_progress(f"== {part} ({number + 1} of {len(parts)}); about {max(1, round(left / 60))} min left in all")
        started = time.monotonic()
        try:
            section = PARTS[part].run(scale)
        except KeyboardInterrupt:
            measured.missing.update(dict.fromkeys(parts[number:], "interrupted"))
            return measured._replace(interrupted=True)
        except (Exception, SystemExit) as fault:  # noqa: BLE001 - a fault of one part must not lose the others
            measured.missing[part] = f"{type(fault).__name__}: {fault}"
            print_progress(traceback.format_exc())
            continue
        measured.sections.append(dataclasses.replace(section, seconds=time.monotonic() - started))
        print_progress(f"== {part}: {measured.sections[-1].seconds:.0f} s")
    return measured


def publish(measured: RunResults, mode: str, command: str, *, keep: bool) -> None:
    """Write the report where it belongs, and print it."""
    text = report.markdown(measured.sections, mode, command, measured.missing)
    if keep:
        report.write(measured.sections, mode, command, measured.missing)
        if mode == "full":
            report.put_between(report.PAGE, "bench", report.opening(text))
            if ratios := report.ratios(measured.sections, command):
                report.put_between(report.README, "bench", ratios)
    Console().print(Markdown(text))


def shape(text: str) -> Shape:
    """Parse `pages=20000,latency=0.05` into a shape."""
    values = dict(part.split("=", 1) for part in text.split(","))
    usual = dataclasses.asdict(Shape())
    return Shape(**{name: type(usual[name])(value) for name, value in values.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="run everything")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part (repeatable)")
    parser.add_argument("--pages", type=int, help="pages of the real site; 0: all")
    parser.add_argument("--runs", type=int, help="runs of each contestant")
    parser.add_argument("--shape", type=shape, help="of the generated web: " + ", ".join(Shape.__dataclass_fields__))
    parser.add_argument("--check", action="store_true", help="exit code 1 when an aim is missed")
    options = parser.parse_args()
    scale = FULL if options.full else QUICK
    chosen = {"pages": options.pages, "runs": options.runs, "generated": options.shape}
    scale = scale._replace(**{name: value for name, value in chosen.items() if value is not None})
    started = time.monotonic()
    measured = run(options.only or list(PARTS), scale)
    mode = "full" if options.full else "quick"
    keep = options.only is None and scale in {QUICK, FULL} and bool(measured.sections)
    publish(measured, mode, f"make bench{' ARGS=--full' if options.full else ''}", keep=keep)
    print_progress(f"{time.monotonic() - started:.0f} s in all")
    missed = [aim.name for section in measured.sections for aim in section.aims if not aim.is_reached]
    if measured.interrupted:
        return 130
    return 1 if measured.missing or (options.check and missed) else 0


if __name__ == "__main__":
    exit_cleanly_on_sigterm()
    sys.exit(main())
