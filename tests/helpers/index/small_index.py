"""Small indexes for tests: pages as lists of runs, turned into documents as the builder does."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import zstandard

from gossamer.index.analyze import get_analyzer
from gossamer.index.documents import DocumentMaker
from gossamer.index.protocol import FieldWeights, InTitle, Phrase, Query, Word
from gossamer.model import Field
from gossamer.store.follow.changes import IndexableResource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.index.protocol import Document, IndexWriter

Runs = list[tuple[Field, str]]
WEIGHTS = FieldWeights(title=2.0, headings=1.0, body=1.0, url=0.5)
SEEN = 1_700_000_000.0


class Lexicon:
    """Word ids in memory."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> Mapping[str, int]:
        for term in terms:
            self.numbers.setdefault(term, len(self.numbers) + 1)
        return {term: self.numbers[term] for term in terms}


def pack_runs(runs: Runs) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(runs))


def indexable(
    number: int, runs: Runs, *, url: str = "", host: str = "example.org", language: str = "en",
    media_type: str = "text/html", last_modified: str = "", seen_at: float = SEEN,
) -> IndexableResource:  # fmt: skip
    return IndexableResource(
        id=number, url=url or f"https://{host}/{number}", host=host, language=language, media_type=media_type,
        last_modified=last_modified, seen_at=seen_at,
        text_digest=blake2b(repr(runs).encode(), digest_size=16).digest(), text=pack_runs(runs),
    )  # fmt: skip


def documents(*resources: IndexableResource, lexicon: Lexicon | None = None) -> list[Document]:
    batch = DocumentMaker(lexicon or Lexicon()).make(resources)
    assert not batch.unreadable
    return batch.documents


def fill(writer: IndexWriter, *resources: IndexableResource, version: int = 1, lexicon: Lexicon | None = None) -> None:
    assert writer.put(documents(*resources, lexicon=lexicon)) == {}
    writer.commit(version)


def page(title: str, *paragraphs: str) -> Runs:
    return [(Field.TITLE, title), *((Field.PARAGRAPH, text) for text in paragraphs)]


def word(text: str, language: str = "english") -> Word:
    (token,) = get_analyzer(language).tokens(text)
    return Word(text=text, terms=(token.term,), stop=token.stop)


def phrase(text: str, language: str = "english", *, title_only: bool = False) -> Phrase:
    terms = tuple(get_analyzer(language).terms(text).split())
    return Phrase(text=text, alternatives=(terms,), title_only=title_only)


def in_title(text: str, language: str = "english") -> InTitle:
    return InTitle(text=text, terms=word(text, language).terms)


def words(*texts: str) -> Query:
    return Query(wanted=tuple(map(word, texts)))
