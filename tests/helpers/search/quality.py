"""How good answers are: test collections and known items, through the real path (served, crawled, indexed, searched).

Used by `tests/flow/test_quality.py`, which pins the floors, and by `bench/quality.py`, which compares weights.
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gossamer.search.weights import SECOND_PASS_WEIGHTS
from gossamer.wiring import open_searcher, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.search.service import Searcher
    from gossamer.search.weights import RankWeights

DEPTH = 1_000  # hits that a ranking is judged by
FOUND_WITHIN = 50  # a known item further down counts as not found
SEED = 3


@contextmanager
def searcher_of(web: Path, blend: RankWeights = SECOND_PASS_WEIGHTS) -> Iterator[Searcher]:
    """Asks a web, with the weights given."""
    place = str(web)
    with closing(open_store(place, read_only=True)) as store, closing(open_searcher(store, place, blend)) as searcher:
        yield searcher


# -- Cranfield ---------------------------------------------------------------------------------------------------------


class Collection(NamedTuple):
    """A test collection: pages to serve, questions, and which pages answer each."""

    pages: dict[str, str]  # path -> HTML
    questions: dict[str, str]
    relevant: dict[str, frozenset[str]]  # question -> paths


def cranfield(folder: Path) -> Collection:
    """Cranfield as a web: a page for each abstract, and one that links to all of them."""
    documents = _lines(folder / "docs.jsonl")
    pages = {f"/{each['_id']}.html": _page(each["title"], each["text"]) for each in documents}
    pages["/"] = _page("", "", "".join(f'<a href="{path}"></a>' for path in pages))
    relevant: defaultdict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        question, document, score = line.split("\t")
        if int(score) > 0:
            relevant[question].add(f"/{document}.html")
    questions = {each["_id"]: each["text"] for each in _lines(folder / "queries.jsonl")}
    return Collection(pages, questions, {question: frozenset(paths) for question, paths in relevant.items()})


def _lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _page(title: str, text: str, links: str = "") -> str:
    return f'<!doctype html><html lang="en"><title>{escape(title)}</title><p>{escape(text)}</p>{links}</html>'


class Figures(NamedTuple):
    """How good a set of rankings is; means over the questions."""

    map: float
    ndcg10: float
    mrr: float
    p10: float


def figures(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Figures:
    """Judge rankings, best first, with binary relevance, as the collection's reference figures are reckoned."""
    rows = [_figures(rankings.get(question, ()), right) for question, right in relevant.items() if right]
    return Figures(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _figures(ranking: Sequence[str], right: frozenset[str]) -> Figures:
    places = [place for place, path in enumerate(ranking, 1) if path in right]
    precision = sum(found / place for found, place in enumerate(places, 1)) / len(right)
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(right)) + 1))
    first = 1 / places[0] if places else 0.0
    return Figures(precision, gain / ideal, first, sum(place <= 10 for place in places) / 10)


def ask(collection: Collection, searcher: Searcher, site: str) -> Figures:
    """Every question of a collection, to a searcher that knows its pages under `site` (without the last slash)."""
    rankings = {
        question: [hit.url.removeprefix(site) for hit in searcher.search(text, limit=DEPTH).hits]
        for question, text in collection.questions.items()
    }
    return figures(rankings, collection.relevant)


# -- known items -------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """A question that has one right answer, or several that count the same."""

    question: str
    answers: frozenset[str]  # URLs


def titles(store: Path, count: int) -> list[Item]:
    """Pages drawn by lot, each asked for by its own title; a page with the same title counts as well."""
    by_title: defaultdict[str, set[str]] = defaultdict(set)
    for title, url in _rows(
        store,
        "SELECT title, url FROM resources JOIN texts ON resource = id"
        " WHERE state = 'visited' AND noindex = 0 AND title <> '' ORDER BY id",
    ):
        by_title[title].add(url)
    pages = sorted((_path(url), title) for title, urls in by_title.items() for url in urls)
    drawn = random.Random(SEED).sample(pages, count)
    return [Item(title, frozenset(by_title[title])) for _, title in drawn]


def _path(url: str) -> str:
    """What stays the same of a URL when a site is served again on another port."""
    return url.split("/", 3)[3]


def hold_out_anchors(store: Path, count: int, share: float = 0.1) -> list[Item]:
    """Take the links of a share of the pages out of a store, and ask for their targets by their anchor texts.

    Only links of the page's own content to other pages, of three or more letters, whose text leads to one page alone
    throughout the web: "next" and "see also" are no questions.
    """
    with closing(sqlite3.connect(store / "web.db")) as database, database:
        linking = database.execute("SELECT url, id FROM resources WHERE id IN (SELECT source FROM links)").fetchall()
        sources = [source for _, source in sorted(linking, key=lambda row: _path(row[0]))]
        held = set(random.Random(SEED).sample(sources, round(len(sources) * share)))
        rows = database.execute(
            "SELECT l.source, l.anchor, t.url FROM links AS l JOIN resources AS t ON t.id = l.target"
            " JOIN texts ON texts.resource = t.id"
            " WHERE l.kind = 1 AND l.follow = 1 AND l.position = 0 AND t.noindex = 0 AND t.id <> l.source"
            " ORDER BY l.source, l.seq"
        ).fetchall()
        database.executemany("DELETE FROM links WHERE source = ?", [(source,) for source in held])
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for _, anchor, url in rows:
        targets[anchor].add(url)
    questions = [
        (anchor, url)
        for source, anchor, url in rows
        if source in held and len(targets[anchor]) == 1 and sum(map(str.isalpha, anchor)) >= 3
    ]
    questions.sort(key=lambda question: (question[0], _path(question[1])))
    random.Random(SEED).shuffle(questions)  # links are drawn, not texts: what many pages call a page weighs more
    return [Item(anchor, frozenset({url})) for anchor, url in list(dict.fromkeys(questions))[:count]]


def _rows(store: Path, sql: str) -> Iterable[tuple[str, ...]]:
    with closing(sqlite3.connect(f"file:{store / 'web.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


class Found(NamedTuple):
    """How known items were found."""

    first: float  # share at rank 1
    ten: float  # share among the first ten
    mrr: float


def find(items: Sequence[Item], searcher: Searcher) -> Found:
    """Ask for every item."""
    places = [_place(item, searcher) for item in items]
    return Found(
        first=sum(place == 1 for place in places) / len(places),
        ten=sum(1 <= place <= 10 for place in places) / len(places),
        mrr=sum(1 / place for place in places if place) / len(places),
    )


def _place(item: Item, searcher: Searcher) -> int:
    """Where an item stands among the hits; 0: nowhere."""
    hits = searcher.search(item.question, limit=FOUND_WITHIN).hits
    return next((place for place, hit in enumerate(hits, 1) if hit.url in item.answers), 0)
