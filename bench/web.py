"""The web app under load, over loopback: wrk asks `/api/search` over 32 connections, on the same cores.

    python bench/web.py [--pages 15000] [--seconds 15] [--graph-pages 100000]

Questions are two or three words that the web really has, drawn anew for each request. Two ways of drawing: every
question is another one, so that no answer is remembered; or some are asked far more often than others (Zipf's law over
2,000 questions, as in the logs of search engines). Then both again while a crawl runs beside it, and the first view of
the graph of a big generated web.
"""

from __future__ import annotations

import argparse
import json
import random
import re
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

from browsing import Serving
from crawling import FAST, command, crawl, environment, gossamer
from gossamer.wiring import open_index
from webs import debian
from webs.generated import GeneratedWeb, Shape
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 32
LINKS_A_PAGE = 20
QUESTIONS = 2_000
LUA = """
local questions, last = {{}}, {last}
for line in io.lines("{file}") do questions[#questions + 1] = line end
math.randomseed(os.time())
local function drawn()
  if last == 0 then return math.random(#questions) end
  return math.min(#questions, math.floor((#questions) ^ math.random()))
end
request = function() return wrk.format("GET", "/api/search?q=" .. questions[drawn()]) end
"""


def questions(store: Path, count: int) -> list[str]:
    """Two or three words of the web, frequent and rare ones."""
    random.seed(1)
    reader = open_index(str(store))
    words = [
        word for word, documents in reader.words_like(limit=5_000) if word.isalpha() and len(word) > 2 and documents > 1
    ]
    reader.close()
    return ["+".join(random.sample(words, random.choice((2, 2, 3)))) for _ in range(count)]


def load(url: str, seconds: int, asked: list[str], folder: Path, *, usual: bool) -> dict[str, float]:
    """Ask for some seconds; requests a second and the 99th percentile."""
    (folder / "questions").write_text("\n".join(asked))
    script = folder / "ask.lua"
    script.write_text(LUA.format(file=folder / "questions", last=int(usual)))
    done = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--script", script, url],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "Non-2xx" not in done, done
    amount, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", done).groups()  # type: ignore[union-attr]
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1])  # type: ignore[index]
    return {"requests_per_second": rate, "p99_ms": float(amount) * {"us": 0.001, "ms": 1, "s": 1000}[unit]}


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


def measure_search(folder: Path, pages: int, seconds: int) -> None:
    """`/api/search` alone, and beside a crawl."""
    store = folder / "web"
    nginx, docs = debian.find("nginx"), debian.find("openjdk-17-doc")
    assert nginx, "run `make test-packages` first"
    assert docs, "run `make test-packages` first"
    with Nginx(nginx, {"java": Site(docs)}) as server:
        summary = crawl(server.url("java", "/index.html"), store, "--max-pages", pages, *FAST)
        assert gossamer("rank", "--store", store).returncode == 0
        asked = questions(store, QUESTIONS)
        new = questions(store, 60 * QUESTIONS)
        with Serving(store) as serving:
            load(serving.url, 2, asked, folder, usual=True)  # warm
            tell("search, every question new", load(serving.url, seconds, new, folder, usual=False), summary["pages"])
            tell("search, questions as usual", load(serving.url, seconds, asked, folder, usual=True), summary["pages"])
            with GeneratedWeb(Shape()) as endless, crawling(endless.url, store):
                time.sleep(3)
                beside = load(serving.url, seconds, new, folder, usual=False)
                tell("search beside a crawl, every question new", beside, summary["pages"])
                beside = load(serving.url, seconds, asked, folder, usual=True)
                tell("search beside a crawl, questions as usual", beside, summary["pages"])


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
            tell(f"first view of the graph, {what}", figures, pages)


def tell(what: str, figures: dict[str, float], pages: int) -> None:
    """A line of JSON."""
    print(
        json.dumps({"what": what, "pages": pages, **{name: round(value, 3) for name, value in figures.items()}}),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=15_000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--graph-pages", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as place:
        if options.pages:
            measure_search(Path(place), options.pages, options.seconds)
        if options.graph_pages:
            measure_graph(Path(place), options.graph_pages)


if __name__ == "__main__":
    main()
