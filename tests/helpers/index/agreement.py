"""How far two indexes of one web agree: the same questions to both, place by place."""

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

PLACES = 10
SEED = 7
WORD = re.compile(r"[^\W\d_]{4,}")


def questions(web: Path, index: IndexReader, number: int) -> list[str]:
    """Drawn by lot from the pages of a web: titles, words that stand together, words from anywhere in a page."""
    lot = random.Random(SEED)
    ids = lot.sample(sorted(index.ids()), number)
    with closing(open_store(str(web), read_only=True)) as store:
        rows = store.documents(ids)
    return [_question(rows[id_].title, rows[id_].text, lot) for id_ in ids]


def _question(title: str, text: bytes, lot: random.Random) -> str:
    words = WORD.findall(" ".join(run for _, run in indexed_runs(text))) or [title]
    at = lot.randrange(len(words))
    together = " ".join(words[at : at + 3])
    anywhere = " ".join(lot.sample(words, min(2, len(words))))
    return lot.choice((title, together, anywhere, f'"{together}"', words[at]))


def agreement(web: Path, one: IndexReader, other: IndexReader, asked: Sequence[str]) -> float:
    """The share of the first ten places at which both have the same page."""
    same = places = 0
    with closing(open_store(str(web), read_only=True)) as store:
        first, second = (build_searcher(store, index, str(web)) for index in (one, other))
        for question in asked:
            left, right = ([hit.url for hit in each.search(question).hits] for each in (first, second))
            same += sum(a == b for a, b in zip(left, right, strict=False))
            places += max(len(left), len(right))
    return same / places
