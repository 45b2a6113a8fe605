"""Latency of the word table: the first documents of frequent words, with every position.

Needs a web with an index, for example a crawl of openjdk-17-doc: `bench/words.py WEB`. The figures are medians over the
most frequent words, including stop words, in one process; the first lookup of each does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING

from gossamer import open_web

if TYPE_CHECKING:
    from gossamer import Web

LEAST_DOCUMENTS = 4_000
WORDS = 30
AIMS = {20: 20.0, 100: 80.0}  # documents -> milliseconds


def milliseconds(web: Web, word: str, documents: int) -> float:
    """Return the quickest of five lookups, because other work on the machine only adds."""
    times = []
    for _ in range(6):
        started = time.perf_counter()
        web.word(word, limit=documents)
        times.append((time.perf_counter() - started) * 1e3)
    return min(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("web", help="a web with an index")
    parser.add_argument("--least", type=int, default=LEAST_DOCUMENTS, help="minimum number of documents of a word")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    with open_web(arguments.web) as web:
        frequent = [word for word, number in web._index().words_like(limit=10 * WORDS) if number >= arguments.least]  # noqa: SLF001
        words = [word for word in frequent if web.word(word, limit=1).df >= arguments.least][:WORDS]
        if not words:
            sys.exit(f"No word stands in {arguments.least:,} documents.")
        times_by_limit = {number: [milliseconds(web, word, number) for word in words] for number in AIMS}
    figures_by_limit = {
        f"first {number} documents (ms)": {
            "median": round(statistics.median(times), 1), "worst": round(max(times), 1), "aim": AIMS[number],
        }
        for number, times in times_by_limit.items()
    }  # fmt: skip
    if arguments.json:
        print(json.dumps({"words": len(words), **figures_by_limit}))
    else:
        for what, figures in figures_by_limit.items():
            print(f"{what}: median {figures['median']}, worst {figures['worst']}, aim {figures['aim']}")
    return 0 if all(statistics.median(times) <= AIMS[number] for number, times in times_by_limit.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
