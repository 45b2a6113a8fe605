"""Speed and cost of rendering: Gossamer in turn with Crawlee's PlaywrightCrawler, on a site drawn by React.

    python bench/render.py --runs 3

Both take the same browser and four tabs, and wait for the same sign that a page is done. Needs `.venv-bench` with
Crawlee (`make bench` creates it), nginx, Chromium and Node. The exit code is 1 when an aim was missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # tests and benchmarks use the same webs

from bench.harness import report  # noqa: E402
from bench.harness.contest import exit_cleanly_on_sigterm  # noqa: E402
from bench.races import render as render_race  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markdown import Markdown  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2, help="runs of each (default 2)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    section = render_race.race(arguments.runs)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(section)))
    else:
        Console().print(Markdown(report.markdown([section], "render", "python bench/render.py")))
    return 0 if all(aim.is_reached for aim in section.aims) else 1


if __name__ == "__main__":
    exit_cleanly_on_sigterm()
    sys.exit(main())
