"""The Index protocol: what every back-end must do, the documents it is given and the queries it runs.

An index is derived from the store. It knows the store version it holds, and `commit` makes documents and version
durable together: after a kill it holds the state of its last commit and catches up from there. There is one writer at
a time; readers are many and see the last commit.

Analysis is ours, not the back-end's (see `analyze`): documents and queries come as terms, and a back-end takes them as
they are, split at blanks. So a page, a query, the word table and every back-end agree on what a word is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from zlib import crc32

import msgspec
import numpy as np

from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

# -- what is put in ----------------------------------------------------------------------------------------------------


class Document(Value, frozen=True, kw_only=True):
    """A page as the index takes it. Terms stand in order, stop words among them, and are joined by blanks.

    A run is text that belongs together (a heading, a paragraph); phrases do not reach across its borders.
    """

    id: int  # DocID
    language: str  # the analysis it went through: "english", "cjk", "" for none
    title: str
    body: tuple[str, ...]  # runs in reading order, headings among them
    headings: tuple[str, ...]  # the headings once more, for they weigh more
    url_words: str
    url: str
    host: str
    media_type: str
    changed_at: float  # Last-Modified, else when it was first seen so
    twin: int  # 64 bits of the text digest: equal for exact duplicates
    words: bytes  # of title and body in order: little-endian uint32, WordIDs or `stop_code`s
    runs: bytes  # of title and body in order: little-endian uint32, number of words * 16 + Field
    signature: bytes  # equal when a document would be the same: then it need not be put again


def term_code(term: str) -> int:
    """What stands for a term among the words of anchor texts, which are not all words of pages and have no WordIDs."""
    return crc32(term.encode())


FIRST_STOP_CODE = 1 << 31  # from here on the numbers in word sequences stand for stop words


def stop_code(term: str) -> int:
    """What stands for a stop word in a word sequence: its WordID, 0, would not tell it from others."""
    return FIRST_STOP_CODE | term_code(term)


class AnchorDocument(Value, frozen=True, kw_only=True):
    """What others call a page: the anchor texts that lead to it, each at most a few times."""

    target: int
    texts: tuple[str, ...]  # terms joined by blanks
    words: bytes = b""  # of all texts: little-endian uint32, the `term_code` of each term


# -- what is asked -----------------------------------------------------------------------------------------------------
# A typed word has one term per analysis that the web's languages call for; any of them will do.


class Word(Value, frozen=True, kw_only=True, tag=True):
    """A word, anywhere in a page: title, text or URL."""

    text: str  # as typed
    terms: tuple[str, ...]
    stop: bool = False  # matches and ranks only when nothing else is asked for


class Phrase(Value, frozen=True, kw_only=True, tag=True):
    """Words one behind the other, within one run."""

    text: str
    alternatives: tuple[tuple[str, ...], ...]  # one sequence of terms per analysis
    title_only: bool = False


class InTitle(Value, frozen=True, kw_only=True, tag=True):
    """A word in the title."""

    text: str
    terms: tuple[str, ...]


class InUrl(Value, frozen=True, kw_only=True, tag=True):
    """All of these words, in the URL."""

    text: str
    words: tuple[str, ...]


class SiteFilter(Value, frozen=True, kw_only=True, tag=True):
    """On this host or below it (`example.org` holds `www.example.org`), perhaps below a path."""

    host: str
    path: str = ""


class LanguageFilter(Value, frozen=True, kw_only=True, tag=True):
    """In this language: "english"."""

    name: str


class MediaTypeFilter(Value, frozen=True, kw_only=True, tag=True):
    """Of this media type: "application/pdf"."""

    media_type: str


class ChangeDateFilter(Value, frozen=True, kw_only=True, tag=True):
    """Last changed in this span, the end excluded (Unix time)."""

    since: float | None = None
    until: float | None = None


class TwinFilter(Value, frozen=True, kw_only=True, tag=True):
    """With exactly this text: an exact duplicate (`Document.twin`)."""

    value: int


class AnyOf(Value, frozen=True, kw_only=True, tag=True):
    """One of these at least: `OR`."""

    children: tuple[QueryNode, ...]


QueryNode = (
    Word
    | Phrase
    | InTitle
    | InUrl
    | SiteFilter
    | LanguageFilter
    | MediaTypeFilter
    | ChangeDateFilter
    | TwinFilter
    | AnyOf
)


class Query(Value, frozen=True, kw_only=True):
    """What to find: any of `wanted` (pages that have all of them first), all of `required`, none of `excluded`.

    Phrases and operators are `required`, plain words are `wanted`. Nothing wanted: every page that has what is
    required.
    """

    wanted: tuple[QueryNode, ...] = ()
    required: tuple[QueryNode, ...] = ()
    excluded: tuple[QueryNode, ...] = ()

    @property
    def effective_wanted(self) -> tuple[QueryNode, ...]:
        """The wanted nodes that count: stop words only when no other text is asked for."""
        words = tuple(node for node in self.wanted if not (isinstance(node, Word) and node.stop))
        text = any(isinstance(node, Word | Phrase | InTitle | AnyOf) for node in self.required)
        return words if words or text else self.wanted


class FieldWeights(Value, frozen=True, kw_only=True):
    """How much each field counts in the first pass."""

    title: float
    headings: float
    body: float
    url: float


# -- what is answered --------------------------------------------------------------------------------------------------


class Matches(msgspec.Struct, frozen=True):
    """A stretch of the matching documents, best first, as parallel columns."""

    total: int  # all matching documents
    ids: NDArray[np.int64]
    scores: NDArray[np.float64]  # BM25 over the fields
    has_all: NDArray[np.bool_]  # has all that is wanted
    twins: NDArray[np.uint64]
    hosts: NDArray[np.int64]  # a number per host, the same for the same host within one index
    changed: NDArray[np.float64]
    steps: NDArray[np.int64]  # segments of the URL's path, one more with a query: 0 for a home page


class Posting(Value, frozen=True, kw_only=True):
    """A document of a word."""

    id: int
    frequency: int  # occurrences in title and body


class WordSequence(msgspec.Struct, frozen=True):
    """The words of a document in order, title first, and the runs they stand in."""

    language: str  # the analysis it went through
    words: NDArray[np.uint32]  # WordIDs; of stop words, whose WordID is 0, the `stop_code`: from STOPS on
    runs: NDArray[np.uint32]  # as in `Document.runs`

    @property
    def fields(self) -> NDArray[np.uint32]:
        """The Field of each run."""
        return self.runs & np.uint32(15)

    @property
    def counts(self) -> NDArray[np.uint32]:
        """The number of words of each run."""
        return self.runs >> np.uint32(4)


class IndexReader(Protocol):
    """The last commit, for asking. Cheap to open again; safe to use from several threads."""

    @property
    def version(self) -> int:
        """The store version it holds."""
        ...

    @property
    def anchors_version(self) -> int:
        """The store version that the anchor texts are of."""
        ...

    def is_current(self) -> bool:
        """Whether this still is the last commit; a reader keeps what it was opened on."""
        ...

    def count(self) -> int:
        """Documents."""
        ...

    def ids(self) -> Iterator[int]:
        """Every DocID held, in any order."""
        ...

    def languages(self) -> dict[str, int]:
        """Documents by the analysis they went through."""
        ...

    def match(self, query: Query, weights: FieldWeights, *, limit: int, offset: int = 0) -> Matches:
        """First pass: matching documents, those with all that is wanted first, then by score, then by DocID."""
        ...

    def score(self, query: Query, weights: FieldWeights, ids: Sequence[int]) -> Matches:
        """The same for those of these documents that match."""
        ...

    def has_twins(self, twins: Sequence[int]) -> bool:
        """Whether any of these texts (`Document.twin`) may stand in several documents: True when in doubt."""
        ...

    def average_length(self) -> float:
        """Words of a document, on average."""
        ...

    def best_by_anchor(self, query: Query, limit: int) -> list[int]:
        """The targets whose anchor texts fit the wanted words and phrases best, best first."""
        ...

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """The words of the anchor texts that lead to each of these (`Anchors.words`), where there are any."""
        ...

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """The words of each in order; unless `whole`, some thousand of the first are enough (the runs are all)."""
        ...

    def forms(self, term: str) -> list[str]:
        """The words seen in the web that have this term, the most frequent first."""
        ...

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Words as they are written (lower case), the most frequent first, with about how many documents hold them."""
        ...

    def document_frequency(self, term: str) -> int:
        """Documents that hold a term in title or body."""
        ...

    def postings(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Posting]:
        """Documents that hold a term: most occurrences first, or by DocID."""
        ...

    def set_aside_documents(self) -> dict[int, str]:
        """Documents that could not be taken, and why."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class IndexWriter(Protocol):
    """The one writer. What is put or removed counts from the next `commit`."""

    @property
    def version(self) -> int:
        """The store version of the last commit."""
        ...

    @property
    def anchors_version(self) -> int:
        """The store version that the anchor texts are of: they are brought up to date less often."""
        ...

    @property
    def attempts(self) -> int:
        """How many writers in a row were opened without a commit of documents, this one among them.

        More than a few: what comes next seems to kill them.
        """
        ...

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """`Document.signature` of those that are held."""
        ...

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """The analysis of those that are held."""
        ...

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        """Add documents, each in place of the one with its id; returns those that could not be taken, and why.

        Raises `IndexBroken` when the writer itself broke: what was not committed is lost, and it must be opened again.
        """
        ...

    def remove(self, ids: Iterable[int]) -> None:
        """Take documents and their anchors out."""
        ...

    def put_anchors(self, anchors: Sequence[AnchorDocument]) -> None:
        """Replace what is known of these targets' anchor texts; without texts, there is none."""
        ...

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Remember words with their terms, (word, term), and in how many more documents they were seen."""
        ...

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Remember documents that could not be taken, and why; a document that is put or removed is forgotten here."""
        ...

    def commit(self, version: int) -> None:
        """Make it durable, together with the store version it holds now."""
        ...

    def complete(self) -> None:
        """Let a rebuilt index take the place of the one before, which was there to be read until now."""
        ...

    def commit_anchors(self, version: int) -> None:
        """Make the anchor texts durable, together with the store version they are of."""
        ...

    def close(self) -> None:
        """Let go of it; what was not committed is as if it had never been put."""
        ...


class WordIdSource(Protocol):
    """Where WordIDs come from (the store): a term keeps its id for ever."""

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> Mapping[str, int]:
        """The id of each term; new ones get the next. One transaction. Stop words have 0."""
        ...
