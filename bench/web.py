"""The web app under load, over loopback: wrk queries `/api/search` over 32 connections, on the same cores.

    python bench/web.py [--seconds 15] [--graph-pages 100000]

The web is that of `bench/search.py`: 16,000 pages of documentation. Queries are two or three of its 5,000 most frequent
words, drawn at random, in three mixes. Every question new: the cache never answers. As people ask: Zipf's law over
100,000 queries, so that some repeat; the table gives their share. Few questions: the same over 2,000, as on the site of
one project. Then the script repeats all mixes during a crawl, and measures the first view of the graph of a big
generated web.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from bench import graph
from bench.search import make_web

from gossamer.wiring import open_index
from helpers.cli.commands import FAST, command, environment, gossamer
from helpers.web.browser import AppServer
from webs.generated import GeneratedWeb, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 32
LINKS_A_PAGE = 20
MAX_REQUESTS = 100_000  # requests of one measurement
MIXES = {"every question new": None, "as people ask": 100_000, "few questions": 2_000}  # number of different questions
LUA = """
local questions, next = {{}}, 0
for line in io.lines("{file}") do questions[#questions + 1] = line end
request = function()
  next = next + 1
  return wrk.format("GET", "/api/search?q=" .. questions[next])
end
"""


class Questions:
    """Queries of two or three words of a web, frequent and rare, never the same twice."""

    def __init__(self, store: Path) -> None:
        reader = open_index(str(store))
        frequent = reader.words_like(limit=5_000)
        reader.close()
        self._words = [word for word, documents in frequent if word.isalpha() and len(word) > 2 and documents > 1]
        self._chance = random.Random(1)
        self._used: set[str] = set()

    def new(self, count: int) -> list[str]:
        """Return this many unused queries."""
        questions: dict[str, None] = {}
        while len(questions) < count:
            question = "+".join(self._chance.sample(self._words, self._chance.choice((2, 2, 3))))
            if question not in self._used:
                questions[question] = None
        self._used |= questions.keys()
        return list(questions)

    def sample(self, different: int | None) -> list[str]:
        """Return queries in order: each once, or drawn by Zipf's law from `different` ones."""
        if different is None:
            return self.new(MAX_REQUESTS)
        weights = [1 / rank for rank in range(1, different + 1)]
        return self._chance.choices(self.new(different), weights, k=MAX_REQUESTS)


def load(serving: AppServer, seconds: int, queries: list[str], folder: Path) -> dict[str, float]:
    """Query the server for some seconds.

    Return requests per second, percentiles, the share of repeated queries, and the server's CPU time per request, which
    does not depend on other load.
    """
    (folder / "questions").write_text("\n".join(queries))
    script = folder / "ask.lua"
    script.write_text(LUA.format(file=folder / "questions"))
    before = serving.cpu_seconds()
    output = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script, serving.url],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "Non-2xx" not in output, output
    assert "Socket errors" not in output, output
    count = int(_match(r"(\d+) requests in", output)[0])
    return {
        "requests_per_second": float(_match(r"Requests/sec:\s+([\d.]+)", output)[0]),
        "median_ms": _milliseconds("50", output),
        "p99_ms": _milliseconds("99", output),
        "asked_before": 1 - len(set(queries[:count])) / count,
        "cpu_ms": (serving.cpu_seconds() - before) / count * 1000,
    }


def _match(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    assert match, text
    return match.groups()


def _milliseconds(share: str, output: str) -> float:
    amount, unit = _match(share + r"%\s+([\d.]+)(us|ms|s)", output)
    return float(amount) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


@contextmanager
def run_crawl(url: str, store: Path) -> Iterator[None]:
    """Run a crawl meanwhile."""
    process = subprocess.Popen(
        command("crawl", url, "--store", store, "--quiet", "--max-pages", 1_000_000, *FAST), env=environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        assert process.poll() is None, "The crawl ended before the measurement did."
    finally:
        process.terminate()
        process.wait(60)


def measure_search(folder: Path, seconds: int) -> None:
    """Measure `/api/search` alone, and during a crawl."""
    store = shutil.copytree(make_web(), folder / "web")
    assert gossamer("index", "--store", store).returncode == 0
    questions = Questions(store)
    with AppServer(store) as serving:
        load(serving, 2, questions.new(MAX_REQUESTS), folder)  # warms the caches
        measure_mixes(serving, "search", questions, folder, seconds)
        with GeneratedWeb(Shape()) as endless, run_crawl(endless.url, store):
            time.sleep(3)
            measure_mixes(serving, "search beside a crawl", questions, folder, seconds)


def measure_mixes(serving: AppServer, what: str, questions: Questions, folder: Path, seconds: int) -> None:
    """Measure every mix with unused queries."""
    for mix, different in MIXES.items():
        print_figures(f"{what}, {mix}", load(serving, seconds, questions.sample(different), folder))


def measure_graph(folder: Path, pages: int) -> None:
    """Measure the first view of the graph of a big web on a fresh server: of its hosts, and of its pages."""
    store = folder / "big"
    graph.SIZES[store.name] = (pages, LINKS_A_PAGE * pages)
    graph.fill(store)
    assert gossamer("rank", "--store", store).returncode == 0
    for what, query in (
        ("as it opens", ""),
        ("of pages", "?level=pages"),
        ("of 2,000 pages", "?level=pages&nodes=2000"),
    ):
        with AppServer(store) as serving:
            urllib.request.urlopen(f"{serving.url}healthz").read()
            started = time.perf_counter()
            with urllib.request.urlopen(f"{serving.url}api/graph{query}") as response:
                nodes = len(json.load(response)["nodes"]["id"])
            figures = {"seconds": time.perf_counter() - started, "nodes": nodes}
            print_figures(f"first view of the graph, {what}", {**figures, "pages": pages})


def print_figures(what: str, figures: dict[str, float]) -> None:
    """Print a line of JSON."""
    print(json.dumps({"what": what, **{name: round(value, 3) for name, value in figures.items()}}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15, help="of each measurement; 0: no searches")
    parser.add_argument("--graph-pages", type=int, default=100_000, help="0: no graph")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        if options.seconds:
            measure_search(Path(folder), options.seconds)
        if options.graph_pages:
            measure_graph(Path(folder), options.graph_pages)


if __name__ == "__main__":
    main()
