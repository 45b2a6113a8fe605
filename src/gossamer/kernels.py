"""The compiled kernels of `native/`, where they are built; the only module that imports them.

Every kernel has a Python way with the same results, beside the code that calls it. Callers ask `native` and take that
way when it is None: the package is missing, of another version, or switched off (`GOSSAMER_NATIVE=0`).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fields of `model.Links`, and the rows whose digest is missing.
    LinkColumns = tuple[bytes, bytes, str, str, str, list[int]]

INTERFACE = 3  # of the native package that this version can use
SWITCH = "GOSSAMER_NATIVE"
BUILD_HINT = "`make native` builds it"


PieceCounts = tuple[bytes, str, bytes]  # pieces joined by spaces, their terms by line ends; documents as uint32
DocumentColumns = tuple[str, tuple[str, ...], tuple[str, ...], bytes, bytes]  # title, body, headings, words, runs


class PieceTable(Protocol):
    """The pieces of texts in one language, with their terms and the codes of their words.

    A batch goes like this: `draft` each page, `learn` the `new_pieces`, take each `document`, `end_batch`.
    """

    def draft(self, text: bytes, weight: int) -> int | None:
        """Cut an unpacked text, count its pieces `weight` times; return the draft's number, None: unreadable."""
        ...

    def new_pieces(self) -> bytes:
        """Return the new pieces of this batch, joined by spaces."""
        ...

    def learn(self, terms: str, counts: bytes, codes: bytes) -> None:
        """Take the words of the new pieces: terms of each, joined by line ends; number of words; codes (uint32)."""
        ...

    def document(self, draft: int) -> DocumentColumns:
        """Return the columns of the document of a draft."""
        ...

    def end_batch(self, longest: int) -> PieceCounts:
        """Forget the drafts, and the pieces longer than `longest` bytes; return these."""
        ...

    def take_counts(self, everything: bool) -> PieceCounts:
        """Return the pieces counted since the last call: all, or only the new ones."""
        ...


# Index of the word, documents with it, index of the document, occurrences (uint32); positions and fields, by line.
DictionaryColumns = tuple[bytes, bytes, bytes, bytes, str, str]


class DictionaryPass(Protocol):
    """The occurrences of some words in all documents."""

    def __init__(self, codes: bytes, words: bytes, field_names: list[str]) -> None:
        """Look for these codes, sorted; `words` has the index of the word of each (uint32)."""

    def add(self, words: bytes, runs: bytes) -> None:
        """Add the next document, as in `Document`."""
        ...

    def take_rows(self, limit: int) -> DictionaryColumns:
        """Return the next rows, ordered by word, then by document; empty columns: none are left."""
        ...


class PageReading(Protocol):
    """An HTML page as the kernel read it."""

    title: str
    description: str
    language: str
    base: str  # URL that hrefs are relative to
    metas: list[tuple[str, str]]  # name and content of the other meta elements
    packed_runs: bytes  # title, description and text of the body, in the form of the store
    unresolved: list[str]  # hrefs that need a URL parser
    canonical: str  # URL of the first <link rel=canonical> that has one; complete after `complete`

    def complete(self, urls: list[str | None]) -> None:
        """Take the URLs of the unresolved hrefs."""

    def columns(self, nofollow: bool, keep_all: bool, has_rules: bool) -> LinkColumns:
        """Return the columns of `Links`; with `has_rules`, digests of URLs with parameters are missing (zeros)."""


class StoredText(Protocol):
    """An unpacked text of a page that knows where its runs are."""


class NativeKernels(Protocol):
    """The functions of the native package."""

    INTERFACE: int
    KernelFault: type[RuntimeError]  # a kernel panicked, or reached its work limit
    PieceTable: type[PieceTable]
    DictionaryPass: type[DictionaryPass]

    def sample_text(self, text: bytes, characters: int, pieces: int, words: bytes) -> tuple[str, int, int, int] | None:
        """Return the start of an unpacked text's longest run, and counts of its first pieces.

        The counts: pieces with a break between two runs, those among `words`, different ones of these.
        """
        ...

    def read_text(self, unpacked: bytes, /) -> StoredText | None:
        """Find the runs of an unpacked text, for `render_snippets`; None: not sure."""

    def render_snippets(
        self,
        pages: Sequence[tuple[StoredText | None, tuple[int, int, int, int] | None, str, str]],
        prefixes: Sequence[str],
        bigrams: Sequence[tuple[str, int]],
        anywhere_languages: Sequence[str],
        word_matches: Callable[[str, str], Sequence[tuple[int, int, int]]],
        /,
    ) -> list[str | None]:
        """Return the snippet of each page; None where Python must render it.

        A page has its text (None: not sure), its window, its language and its description.
        """

    def rank_candidates(
        self,
        sequences: Sequence[tuple[bytes, bytes]],
        slots: Sequence[tuple[Sequence[int], Sequence[int], float]],
        signals: tuple[Sequence[bytes], Sequence[bytes]],
        weights: Sequence[float],
        average_length: float,
        now: float,
        /,
    ) -> bytes | None:
        """Return the score of each candidate, then each part for all (float64); None: not sure.

        Sequences are words and runs. A slot has WordIDs, codes of its terms in anchor texts, and its inverse document
        frequency. `signals` has the words of anchor texts, and as columns (float64) the score of the first pass,
        PageRank, depth of the URL and time of change.
        """

    def order_candidates(self, columns: Sequence[bytes], factors: Sequence[float], /) -> tuple[bytes, bytes]:
        """Return the order of candidates, best first (int64), and the factor of each score (float64).

        `columns` has the scores, twin numbers, ids, hosts and whether a page has everything wanted. `factors` has the
        factor of a host's first hit, its second, and so on.
        """

    def find_windows(
        self,
        sequences: Sequence[tuple[bytes, bytes]],
        slots: Sequence[tuple[Sequence[int], Sequence[int], float]],
        /,
    ) -> bytes | None:
        """Return the windows (4 * int32) of pages; None: not sure."""

    def find_cut(self, html: bytes) -> int | None:
        """Return what `tag_limits.find_cut` returns."""

    def read_page(
        self,
        html: bytes,
        url: str,
        max_links: int,
        keep_anchors: bool,
        work_limit: int,
    ) -> PageReading | str:
        """Read an HTML page in UTF-8; a text says why the kernel is not sure of it."""


class KernelChoice(NamedTuple):
    """The kernels in use."""

    native: NativeKernels | None  # None: Python does their work
    why_not: str = ""  # the reason, empty if the native kernels are in use
    is_mismatch: bool = False  # the installed package is of another interface


def load_kernels(environment: Mapping[str, str]) -> KernelChoice:
    """Return the native kernels, or the reason why Python does their work."""
    if environment.get(SWITCH) == "0":
        return KernelChoice(None, f"{SWITCH}=0 switches the native kernels off")
    try:
        kernels = cast("NativeKernels", import_module("gossamer_native"))
    except ImportError:
        return KernelChoice(None, f"the package gossamer-native is not installed; {BUILD_HINT}")
    if kernels.INTERFACE != INTERFACE:
        reason = f"the package gossamer-native has the interface {kernels.INTERFACE}, not {INTERFACE}; {BUILD_HINT}"
        return KernelChoice(None, reason, is_mismatch=True)
    return KernelChoice(kernels)


native, why_not, is_mismatch = load_kernels(os.environ)
