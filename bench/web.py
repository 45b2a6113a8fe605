"""The web app under load, over loopback: wrk asks `/api/search` over 32 connections, on the same cores.

    python bench/web.py [--seconds 15] [--graph-pages 100000]

The web is the one of `bench/search.py`: 16,000 pages of documentation. Questions are two or three words of it, chosen
by lot among the 5,000 most frequent, and come in three mixes. Every question new: no answer is remembered. As people
ask: by Zipf's law over 100,000 questions, so that some of them come again; the table says how many did. Few questions:
the same over 2,000, as on the site of one project. Then all of them again while a crawl runs beside it, and the first
view of the graph of a big generated web.
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
from helpers.web.browser import Serving
from webs.generated import GeneratedWeb, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 32
LINKS_A_PAGE = 20
MOST_ASKED = 100_000  # requests of one measurement
MIXES = {"every question new": None, "as people ask": 100_000, "few questions": 2_000}  # questions to choose from
LUA = """
local questions, next = {{}}, 0
for line in io.lines("{file}") do questions[#questions + 1] = line end
request = function()
  next = next + 1
  return wrk.format("GET", "/api/search?q=" .. questions[next])
end
"""


class Questions:
    """Two or three words of a web, frequent and rare ones, never the same twice."""

    def __init__(self, store: Path) -> None:
        reader = open_index(str(store))
        found = reader.words_like(limit=5_000)
        reader.close()
        self._words = [word for word, documents in found if word.isalpha() and len(word) > 2 and documents > 1]
        self._lot = random.Random(1)
        self._asked: set[str] = set()

    def new(self, count: int) -> list[str]:
        """So many that nobody asked before."""
        made: dict[str, None] = {}
        while len(made) < count:
            question = "+".join(self._lot.sample(self._words, self._lot.choice((2, 2, 3))))
            if question not in self._asked:
                made[question] = None
        self._asked |= made.keys()
        return list(made)

    def mixed(self, different: int | None) -> list[str]:
        """What is asked, in order: each once, or the first of some twice as often as the second, and so on."""
        if different is None:
            return self.new(MOST_ASKED)
        weights = [1 / rank for rank in range(1, different + 1)]
        return self._lot.choices(self.new(different), weights, k=MOST_ASKED)


def load(serving: Serving, seconds: int, asked: list[str], folder: Path) -> dict[str, float]:
    """Ask for some seconds.

    Requests a second, percentiles, the share of questions that were asked before, and the server's processor time a
    request, which says the same on a busy machine.
    """
    (folder / "questions").write_text("\n".join(asked))
    script = folder / "ask.lua"
    script.write_text(LUA.format(file=folder / "questions"))
    before = serving.cpu_seconds()
    done = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script, serving.url],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "Non-2xx" not in done, done
    assert "Socket errors" not in done, done
    count = int(_found(r"(\d+) requests in", done)[0])
    return {
        "requests_per_second": float(_found(r"Requests/sec:\s+([\d.]+)", done)[0]),
        "median_ms": _milliseconds("50", done),
        "p99_ms": _milliseconds("99", done),
        "asked_before": 1 - len(set(asked[:count])) / count,
        "cpu_ms": (serving.cpu_seconds() - before) / count * 1000,
    }


def _found(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text)
    assert found, text
    return found.groups()


def _milliseconds(share: str, told: str) -> float:
    amount, unit = _found(share + r"%\s+([\d.]+)(us|ms|s)", told)
    return float(amount) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


@contextmanager
def crawling(url: str, store: Path) -> Iterator[None]:
    """A crawl that goes on meanwhile."""
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
    """`/api/search` alone, and beside a crawl."""
    store = shutil.copytree(make_web(), folder / "web")
    assert gossamer("index", "--store", store).returncode == 0
    questions = Questions(store)
    with Serving(store) as serving:
        load(serving, 2, questions.new(MOST_ASKED), folder)  # warm
        measure_mixes(serving, "search", questions, folder, seconds)
        with GeneratedWeb(Shape()) as endless, crawling(endless.url, store):
            time.sleep(3)
            measure_mixes(serving, "search beside a crawl", questions, folder, seconds)


def measure_mixes(serving: Serving, what: str, questions: Questions, folder: Path, seconds: int) -> None:
    """Every mix of questions, none of which was asked before."""
    for mix, different in MIXES.items():
        tell(f"{what}, {mix}", load(serving, seconds, questions.mixed(different), folder))


def measure_graph(folder: Path, pages: int) -> None:
    """The first view of the graph of a big web, from a server that was just started: of its hosts, and of its pages."""
    store = folder / "big"
    graph.SIZES[store.name] = (pages, LINKS_A_PAGE * pages)
    graph.fill(store)
    assert gossamer("rank", "--store", store).returncode == 0
    for what, query in (
        ("as it opens", ""),
        ("of pages", "?level=pages"),
        ("of 2,000 pages", "?level=pages&nodes=2000"),
    ):
        with Serving(store) as serving:
            urllib.request.urlopen(f"{serving.url}healthz").read()
            started = time.perf_counter()
            with urllib.request.urlopen(f"{serving.url}api/graph{query}") as answer:
                nodes = len(json.load(answer)["nodes"]["id"])
            figures = {"seconds": time.perf_counter() - started, "nodes": nodes}
            tell(f"first view of the graph, {what}", {**figures, "pages": pages})


def tell(what: str, figures: dict[str, float]) -> None:
    """A line of JSON."""
    print(json.dumps({"what": what, **{name: round(value, 3) for name, value in figures.items()}}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15, help="of each measurement; 0: no searches")
    parser.add_argument("--graph-pages", type=int, default=100_000, help="0: no graph")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as place:
        if options.seconds:
            measure_search(Path(place), options.seconds)
        if options.graph_pages:
            measure_graph(Path(place), options.graph_pages)


if __name__ == "__main__":
    main()
