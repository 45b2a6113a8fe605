"""The protocols of an index back-end, the documents it takes and the queries it runs.

An index is derived from the store and knows the store version it holds. `commit` makes documents and version durable
together. After a kill, the index holds its last commit, and the next writer catches up from there. An index has one
writer at a time and any number of readers, which see the last commit.

`analyze` turns text into terms, not the back-end. A back-end takes terms as they are, split at spaces. So pages,
queries, the word table and all back-ends agree on what a word is.

This module imports nothing heavy, because the crawl imports it only to decode `IndexProgress`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from zlib import crc32

import msgspec

from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

# -- input: documents --------------------------------------------------------------------------------------------------


class Document(Value, frozen=True, kw_only=True):
    """A page as the index takes it.

    Each text is its terms in order, stop words included, joined by spaces. A run is text that belongs together (a
    heading, a paragraph). No phrase matches across the border of two runs.
    """

    id: int  # DocID
    language: str  # of the analysis: "english", "cjk", "" for none
    title: str
    body: tuple[str, ...]  # runs in reading order, headings included
    headings: tuple[str, ...]  # the headings again, because they have their own weight
    url_words: str
    url: str
    host: str
    media_type: str
    changed_at: float  # Last-Modified, else when a crawler first saw this content
    twin: int  # 64 bits of the text digest: equal for exact duplicates
    words: bytes  # title and body in order: little-endian uint32, WordIDs or `stop_code`s
    runs: bytes  # title and body in order: little-endian uint32, number of words * 16 + Field
    signature: bytes  # equal for equal documents, which the builder need not put again


def term_code(term: str) -> int:
    """Return the code of a term in anchor texts, whose terms need not occur in pages and so have no WordIDs."""
    return crc32(term.encode())


FIRST_STOP_CODE = 1 << 31  # numbers from here on in word sequences are codes of stop words


def stop_code(term: str) -> int:
    """Return the code of a stop word in word sequences; its WordID is 0, like that of every stop word."""
    return FIRST_STOP_CODE | term_code(term)


class AnchorDocument(Value, frozen=True, kw_only=True):
    """The anchor texts of the links to a page, each repeated at most a few times."""

    target: int
    texts: tuple[str, ...]  # terms joined by spaces
    words: bytes = b""  # all texts: little-endian uint32, the `term_code` of each term


# -- input: queries ----------------------------------------------------------------------------------------------------
# A typed word has one term per analysis of the web's languages; a page matches with any of them.


class Word(Value, frozen=True, kw_only=True, tag=True):
    """A word, anywhere in a page: title, text or URL."""

    text: str  # as typed
    terms: tuple[str, ...]
    stop: bool = False  # matches and ranks only in a query without other text


class Phrase(Value, frozen=True, kw_only=True, tag=True):
    """Consecutive words, within one run."""

    text: str
    alternatives: tuple[tuple[str, ...], ...]  # one sequence of terms per analysis
    title_only: bool = False


class InTitle(Value, frozen=True, kw_only=True, tag=True):
    """A word in the title."""

    text: str
    terms: tuple[str, ...]


class InUrl(Value, frozen=True, kw_only=True, tag=True):
    """All of these words in the URL."""

    text: str
    words: tuple[str, ...]


class SiteFilter(Value, frozen=True, kw_only=True, tag=True):
    """Pages on this host or its subdomains (`example.org` includes `www.example.org`), perhaps below a path."""

    host: str
    path: str = ""


class LanguageFilter(Value, frozen=True, kw_only=True, tag=True):
    """Pages in this language, such as "english"."""

    name: str


class MediaTypeFilter(Value, frozen=True, kw_only=True, tag=True):
    """Pages of this media type, such as "application/pdf"."""

    media_type: str


class ChangeDateFilter(Value, frozen=True, kw_only=True, tag=True):
    """Pages last changed in this span of Unix time, the end excluded."""

    since: float | None = None
    until: float | None = None


class TwinFilter(Value, frozen=True, kw_only=True, tag=True):
    """Pages with exactly this text (`Document.twin`)."""

    value: int


class AnyOf(Value, frozen=True, kw_only=True, tag=True):
    """At least one of these nodes: `OR`."""

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
    """A page matches with any of `wanted`, all of `required` and none of `excluded`.

    Plain words are `wanted`; phrases and operators are `required`. Pages with everything wanted come first. A query
    that wants nothing matches every page that has everything required.
    """

    wanted: tuple[QueryNode, ...] = ()
    required: tuple[QueryNode, ...] = ()
    excluded: tuple[QueryNode, ...] = ()

    @property
    def effective_wanted(self) -> tuple[QueryNode, ...]:
        """The wanted nodes; stop words are among them only in a query without other text."""
        words = tuple(node for node in self.wanted if not (isinstance(node, Word) and node.stop))
        text = any(isinstance(node, Word | Phrase | InTitle | AnyOf) for node in self.required)
        return words if words or text else self.wanted


class FieldWeights(Value, frozen=True, kw_only=True):
    """How much each field counts in the first pass."""

    title: float
    headings: float
    body: float
    url: float


# -- output ------------------------------------------------------------------------------------------------------------


class Matches(msgspec.Struct, frozen=True):
    """A slice of the matching documents, best first, as parallel columns."""

    total: int  # number of all matching documents
    ids: NDArray[np.int64]
    scores: NDArray[np.float64]  # BM25 over the fields
    has_all: NDArray[np.bool_]  # whether the document has everything wanted
    twins: NDArray[np.uint64]
    hosts: NDArray[np.int64]  # a number per host, the same for the same host within one index
    changed: NDArray[np.float64]
    steps: NDArray[np.int64]  # segments of the URL's path, plus 1 for a query; 0 for a home page


class Posting(Value, frozen=True, kw_only=True):
    """A document that holds a word."""

    id: int
    frequency: int  # occurrences of the word in title and body


class WordSequence(msgspec.Struct, frozen=True):
    """The words of a document in order, title first, and its runs."""

    language: str  # of the analysis
    packed_words: bytes  # little-endian uint32: WordIDs; for a stop word its `stop_code`, at least FIRST_STOP_CODE
    packed_runs: bytes  # as in `Document.runs`

    @property
    def words(self) -> NDArray[np.uint32]:
        """The words as numbers."""
        return _numbers(self.packed_words)

    @property
    def runs(self) -> NDArray[np.uint32]:
        """The runs as numbers."""
        return _numbers(self.packed_runs)

    @property
    def fields(self) -> NDArray[np.uint32]:
        """The Field of each run."""
        return self.runs & self.runs.dtype.type(15)

    @property
    def counts(self) -> NDArray[np.uint32]:
        """The number of words of each run."""
        return self.runs >> self.runs.dtype.type(4)


def _numbers(packed: bytes) -> NDArray[np.uint32]:
    import numpy as np  # noqa: PLC0415 - crawlers import this module, but only searches need numpy

    return np.frombuffer(packed, "<u4")


class IndexProgress(Value, frozen=True, kw_only=True):
    """Counts of one run of the builder, and how far the index is behind the store."""

    put: int = 0
    removed: int = 0
    unchanged: int = 0  # documents that the store reports as changed, but that have the same signature
    set_aside: int = 0
    anchors: int = 0  # documents whose anchor texts the builder gathered
    version: int = 0  # store version that the index holds
    latest: int = 0  # newest version of the store


class IndexReader(Protocol):
    """Reads one commit. Opening a reader is cheap, and several threads may share one."""

    @property
    def version(self) -> int:
        """The store version that the documents have."""
        ...

    @property
    def anchors_version(self) -> int:
        """The store version that the anchor texts have."""
        ...

    def is_current(self) -> bool:
        """Return whether this is still the last commit; a reader stays on the commit it opened."""
        ...

    def count(self) -> int:
        """Return the number of documents."""
        ...

    def ids(self) -> Iterator[int]:
        """Yield every DocID, in any order."""
        ...

    def languages(self) -> dict[str, int]:
        """Return the number of documents by the language of their analysis."""
        ...

    def match(self, query: Query, weights: FieldWeights, *, limit: int, offset: int = 0) -> Matches:
        """Run the first pass: documents with everything wanted come first, then by score, then by DocID."""
        ...

    def score(self, query: Query, weights: FieldWeights, ids: Sequence[int]) -> Matches:
        """Run the first pass over these documents only."""
        ...

    def has_twins(self, twins: Sequence[int]) -> bool:
        """Return whether several documents may have one of these texts (`Document.twin`); True when in doubt."""
        ...

    def average_length(self) -> float:
        """Return the average number of words of a document."""
        ...

    def best_by_anchor(self, query: Query, limit: int) -> list[int]:
        """Return the targets whose anchor texts best fit the wanted words and phrases, best first."""
        ...

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """Return the words of the anchor texts (`AnchorDocument.words`) of each document that has any."""
        ...

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """Return the words of each document in order.

        Unless `whole`, a back-end may return only the first few thousand words, but all runs.
        """
        ...

    def forms(self, term: str) -> list[str]:
        """Return the written words that have this term, the most frequent first."""
        ...

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Return written words (lower case) with their approximate number of documents, the most frequent first."""
        ...

    def document_frequency(self, term: str) -> int:
        """Return the number of documents that hold a term in title or body."""
        ...

    def postings(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Posting]:
        """Return documents that hold a term, by number of occurrences or by DocID."""
        ...

    def set_aside_documents(self) -> dict[int, str]:
        """Return the documents that the index could not take, and why."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


class IndexWriter(Protocol):
    """The only writer of an index. Readers see its changes from the next `commit` on."""

    @property
    def version(self) -> int:
        """The store version of the last commit of documents."""
        ...

    @property
    def anchors_version(self) -> int:
        """The store version of the anchor texts, which the builder updates less often."""
        ...

    @property
    def attempts(self) -> int:
        """How many consecutive writers, this one included, opened the index without committing documents.

        A high number suggests that the next document kills the process.
        """
        ...

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return `Document.signature` of those documents that the index holds."""
        ...

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the language of those documents that the index holds."""
        ...

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        """Add or replace documents by id; return the refused ones, and why.

        Raise `IndexBroken` when the writer itself fails. Its uncommitted changes are lost, and the caller must open
        the next writer.
        """
        ...

    def remove(self, ids: Iterable[int]) -> None:
        """Remove documents and their anchor texts."""
        ...

    def put_anchors(self, anchors: Sequence[AnchorDocument]) -> None:
        """Replace the anchor texts of these targets; a target without texts loses its entry."""
        ...

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Add to the document counts of written words; keys are (word, term)."""
        ...

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Record documents that the index could not take, and why; `put` and `remove` delete the record."""
        ...

    def commit(self, version: int) -> None:
        """Make all changes of documents durable, together with their store version."""
        ...

    def complete(self) -> None:
        """Replace the previous index, which readers used until now, with the rebuilt one."""
        ...

    def commit_anchors(self, version: int) -> None:
        """Make the anchor texts durable, together with their store version."""
        ...

    def close(self) -> None:
        """Release the index; the next writer repeats the uncommitted changes."""
        ...


class WordIdSource(Protocol):
    """The source of WordIDs, which is the store. A term keeps its id for ever."""

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> Mapping[str, int]:
        """Return the id of each term, in one transaction. New terms get the next ids, stop words get 0."""
        ...
