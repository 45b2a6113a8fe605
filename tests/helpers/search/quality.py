"""Judge search results with test collections and known items: served, crawled, indexed, searched.

`tests/flow/test_quality.py` pins the floors, `bench/quality.py` compares weights.
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

DEPTH = 1_000  # hits that count in a ranking
MAX_RANK = 50  # a known item below this rank counts as not found
SEED = 3


@contextmanager
def searcher_for(web: Path, blend: RankWeights = SECOND_PASS_WEIGHTS) -> Iterator[Searcher]:
    """Open a searcher on a web, with the given weights."""
    location = str(web)
    with (
        closing(open_store(location, read_only=True)) as store,
        closing(open_searcher(store, location, blend)) as searcher,
    ):
        yield searcher


# -- Cranfield ---------------------------------------------------------------------------------------------------------


class Collection(NamedTuple):
    """A test collection: pages to serve, questions, and the pages that answer each."""

    pages: dict[str, str]  # path -> HTML
    questions: dict[str, str]
    relevant: dict[str, frozenset[str]]  # question -> paths


def cranfield(folder: Path) -> Collection:
    """Return Cranfield as a web: a page for each abstract, and one that links to all of them."""
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
    """Scores of a set of rankings; means over the questions."""

    map: float
    ndcg10: float
    mrr: float
    p10: float


def figures(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Figures:
    """Score rankings, best first, with binary relevance as in the collection's reference figures."""
    rows = [_figures(rankings.get(question, ()), right) for question, right in relevant.items() if right]
    return Figures(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _figures(ranking: Sequence[str], right: frozenset[str]) -> Figures:
    ranks = [rank for rank, path in enumerate(ranking, 1) if path in right]
    precision = sum(hits / rank for hits, rank in enumerate(ranks, 1)) / len(right)
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, len(right)) + 1))
    first = 1 / ranks[0] if ranks else 0.0
    return Figures(precision, gain / ideal, first, sum(rank <= 10 for rank in ranks) / 10)


def score_collection(collection: Collection, searcher: Searcher, site: str) -> Figures:
    """Score every question of a collection; `site` is the prefix of its pages, without the last slash."""
    rankings = {
        question: [hit.url.removeprefix(site) for hit in searcher.search(text, limit=DEPTH).hits]
        for question, text in collection.questions.items()
    }
    return figures(rankings, collection.relevant)


# -- known items -------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """A question with one right answer, or several equivalent ones."""

    question: str
    answers: frozenset[str]  # URLs


def titles(store: Path, count: int) -> list[Item]:
    """Draw pages at random, each with its title as question; pages with the same title count as well."""
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
    """Return the part of a URL that stays the same when the site is served on another port."""
    return url.split("/", 3)[3]


def hold_out_anchors(store: Path, count: int, share: float = 0.1) -> list[Item]:
    """Remove the links of a share of the pages from a store; return their anchor texts as questions.

    Only content links to other pages count, with three or more letters and a text that leads to one page in the whole
    web. "next" and "see also" are no questions.
    """
    with closing(sqlite3.connect(store / "web.db")) as database, database:
        linking = database.execute("SELECT url, id FROM resources WHERE id IN (SELECT source FROM links)").fetchall()
        sources = [source for _, source in sorted(linking, key=lambda row: _path(row[0]))]
        held_out = set(random.Random(SEED).sample(sources, round(len(sources) * share)))
        rows = database.execute(
            "SELECT l.source, l.anchor, t.url FROM links AS l JOIN resources AS t ON t.id = l.target"
            " JOIN texts ON texts.resource = t.id"
            " WHERE l.kind = 1 AND l.follow = 1 AND l.position = 0 AND t.noindex = 0 AND t.id <> l.source"
            " ORDER BY l.source, l.seq"
        ).fetchall()
        database.executemany("DELETE FROM links WHERE source = ?", [(source,) for source in held_out])
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for _, anchor, url in rows:
        targets[anchor].add(url)
    questions = [
        (anchor, url)
        for source, anchor, url in rows
        if source in held_out and len(targets[anchor]) == 1 and sum(map(str.isalpha, anchor)) >= 3
    ]
    questions.sort(key=lambda question: (question[0], _path(question[1])))
    random.Random(SEED).shuffle(questions)  # draw links, not texts, so that anchors used by many pages weigh more
    return [Item(anchor, frozenset({url})) for anchor, url in list(dict.fromkeys(questions))[:count]]


def _rows(store: Path, sql: str) -> Iterable[tuple[str, ...]]:
    with closing(sqlite3.connect(f"file:{store / 'web.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


class KnownItemScores(NamedTuple):
    """How well known items were found."""

    first: float  # share at rank 1
    ten: float  # share among the first ten
    mrr: float


def score_known_items(items: Sequence[Item], searcher: Searcher) -> KnownItemScores:
    """Search for every item."""
    ranks = [_rank_of(item, searcher) for item in items]
    return KnownItemScores(
        first=sum(rank == 1 for rank in ranks) / len(ranks),
        ten=sum(1 <= rank <= 10 for rank in ranks) / len(ranks),
        mrr=sum(1 / rank for rank in ranks if rank) / len(ranks),
    )


def _rank_of(item: Item, searcher: Searcher) -> int:
    """Return the rank of an item among the hits; 0 if absent."""
    hits = searcher.search(item.question, limit=MAX_RANK).hits
    return next((rank for rank, hit in enumerate(hits, 1) if hit.url in item.answers), 0)
