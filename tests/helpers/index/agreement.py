"""Measure how far two indexes of one web agree: ask both the same queries, compare rank by rank."""

from __future__ import annotations

import random
import re
from contextlib import closing
from typing import TYPE_CHECKING

from gossamer.index.documents import indexed_runs
from gossamer.wiring import build_searcher, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.index.protocol import IndexReader

RANKS = 10
SEED = 7
WORD = re.compile(r"[^\W\d_]{4,}")


def random_queries(web: Path, index: IndexReader, number: int) -> list[str]:
    """Draw queries at random from the pages of a web: titles, adjacent words, words from anywhere in a page."""
    chance = random.Random(SEED)
    ids = chance.sample(sorted(index.ids()), number)
    with closing(open_store(str(web), read_only=True)) as store:
        rows = store.documents(ids)
    return [_random_query(rows[id_].title, rows[id_].text, chance) for id_ in ids]


def _random_query(title: str, text: bytes, chance: random.Random) -> str:
    words = WORD.findall(" ".join(run for _, run in indexed_runs(text))) or [title]
    at = chance.randrange(len(words))
    together = " ".join(words[at : at + 3])
    anywhere = " ".join(chance.sample(words, min(2, len(words))))
    return chance.choice((title, together, anywhere, f'"{together}"', words[at]))


def agreement(web: Path, one: IndexReader, other: IndexReader, queries: Sequence[str]) -> float:
    """Return the share of the first ten ranks at which both have the same page."""
    same = ranks = 0
    with closing(open_store(str(web), read_only=True)) as store:
        first, second = (build_searcher(store, index, str(web)) for index in (one, other))
        for query in queries:
            left, right = ([hit.url for hit in each.search(query).hits] for each in (first, second))
            same += sum(a == b for a, b in zip(left, right, strict=False))
            ranks += max(len(left), len(right))
    return same / ranks
