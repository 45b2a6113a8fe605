"""Answers while people type: the time of `/api/complete` for each pause, on 16,000 pages of documentation.

    python bench/typeahead.py [--texts 300]

The web is that of `bench/search.py`. A fixed seed draws texts from its titles and its pages' words; every fourth text
has a typing error. Each text is typed letter by letter, with a pause after every letter: the search box asks no more.
The first rows of the table are the times of a request over loopback, one at a time, from a server just started. The
search box of the web app asks, and the widget for other sites, which wants more pages and their snippets. The last rows
are the processor times of the same questions in this process, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from bench.search import make_web, percentile
from rich.console import Console
from rich.table import Table

from gossamer.web.search import answers
from gossamer.web.search.search_session import SearchSession
from gossamer.wiring import open_index, open_store
from helpers.web.browser import AppServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEED = 3
LONGEST = 24  # letters; people choose an answer before they have typed more
MAX_99 = 30.0  # milliseconds
LEAST_PAGES = 15_000


class SearchBox(NamedTuple):
    """What a search box asks for."""

    name: str
    limit: int
    snippets: bool


BOXES = (
    SearchBox("search box", limit=5, snippets=False),  # PAGES in web/static/complete.js
    SearchBox("widget", limit=8, snippets=True),  # MOST_PAGES in frontend/src/widget/pages.ts
)


def draw_texts(web: Path, count: int) -> tuple[list[str], int]:
    """Draw texts as people type them, and count the pages."""
    chance = random.Random(SEED)
    with closing(open_store(str(web), read_only=True)) as store, closing(open_index(str(web))) as index:
        frequent = [word for word, documents in index.words_like(limit=5_000) if word.isalpha() and len(word) > 3]
        ids = chance.sample(list(index.ids()), count)
        titles = [row.title for row in store.documents(ids).values() if row.title]
        pages = index.count()
    texts = [chance.choice(titles) if turn % 2 else " ".join(chance.sample(frequent, 2)) for turn in range(count)]
    return [_with_typing_error(text, chance) if turn % 4 == 0 else text for turn, text in enumerate(texts)], pages


def _with_typing_error(text: str, chance: random.Random) -> str:
    """Return a text with two neighbouring letters swapped."""
    at = chance.randrange(1, max(2, min(len(text), LONGEST) - 1))
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def typed_prefixes(texts: Sequence[str]) -> list[str]:
    """Return what the box holds at each pause."""
    return [text[:length] for text in texts for length in range(1, min(len(text), LONGEST) + 1)]


def measure(questions: Sequence[str], ask: Callable[[str], object], clock: Callable[[], float]) -> list[float]:
    """Return the milliseconds of each question."""
    times = []
    for question in questions:
        started = clock()
        ask(question)
        times.append((clock() - started) * 1000)
    return times


def measure_server(web: Path, questions: Sequence[str], box: SearchBox) -> list[float]:
    """Measure requests over loopback."""
    with AppServer(web) as serving:

        def ask(question: str) -> None:
            parameters = {"q": question, "limit": box.limit, "snippets": str(box.snippets).lower()}
            with urllib.request.urlopen(f"{serving.url}api/complete?{urlencode(parameters)}") as answer:
                answer.read()

        return measure(questions, ask, time.perf_counter)


def measure_process(web: Path, questions: Sequence[str], box: SearchBox) -> list[float]:
    """Measure the processor time of the same questions."""
    session = SearchSession(str(web))
    with closing(session):

        def ask(question: str) -> None:
            answers.complete(session, question, box.limit, box.snippets)

        return measure(questions, ask, time.process_time)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    web = make_web()
    texts, pages = draw_texts(web, options.texts)
    questions = typed_prefixes(texts)
    rows = {f"{box.name}: request": measure_server(web, questions, box) for box in BOXES}
    rows |= {f"{box.name}: processor": measure_process(web, questions, box) for box in BOXES}
    figures = {
        name: {"median_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99), "most_ms": max(times)}
        for name, times in rows.items()
    }
    if options.json:
        print(json.dumps({"pages": pages, "questions": len(questions), **figures}))
    else:
        table = Table(f"{len(questions):,} pauses, {pages:,} pages", "median ms", f"99 % (<= {MAX_99:g})", "most ms")
        for name, values in figures.items():
            table.add_row(name, *(f"{value:.1f}" for value in values.values()))
        Console().print(table)
    is_fast = all(figures[f"{box.name}: request"]["p99_ms"] <= MAX_99 for box in BOXES)
    return 0 if pages >= LEAST_PAGES and is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
