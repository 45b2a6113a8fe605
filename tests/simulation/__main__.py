"""Replay seeds: `python -m simulation 17` shows the trace of one, `python -m simulation 0 1000` runs a range."""

from __future__ import annotations

import sys
import time
from collections import Counter

from simulation.checker import Violation
from simulation.run import run_seed


def main(arguments: list[str]) -> int:
    """Run one seed or a range; return 1 if a rule was broken."""
    first, last = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else int(arguments[0]) + 1
    failures, most_events, reasons, started = 0, 0, Counter[str](), time.perf_counter()
    for seed in range(first, last):
        try:
            summary = run_seed(seed, trace_lines=100_000 if last == first + 1 else 0)
            reasons.update(summary.reasons)
            most_events = max(most_events, summary.events)
            if last == first + 1:
                print(summary)
        except Violation as violation:
            failures += 1
            print(violation)
    seconds = time.perf_counter() - started
    print(f"{last - first} seeds in {seconds:.1f} s, {failures} failures, at most {most_events:,} events")
    print(f"ends: {dict(reasons)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
