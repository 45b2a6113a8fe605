"""Reports about duplicate content: equal pages, nearly equal pages, and sites under several names."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.content import decode_text
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import ReportOptions, ReportRow
    from gossamer.graph.reports.near_duplicates import ShingleHashes
    from gossamer.store.protocol import ReportSource

MIN_SIMILARITY = 0.9  # least similarity of a reported pair
SHINGLES_AT_ONCE = 2_000_000  # shingles in memory (8 bytes each)
MAX_TEXT_LENGTH = 1_000_000  # characters compared per page
# The content digest of a page without text, which is stored as an empty msgpack list.
EMPTY_TEXT_DIGEST = blake2b(b"\x90", digest_size=16).digest()


def _near_duplicates(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
    import numpy as np  # noqa: PLC0415  only this report needs it

    from gossamer.graph.reports import near_duplicates  # noqa: PLC0415

    urls: list[str] = []
    parts = []
    for names, sets in _shingle_sets(store):
        urls += names
        options.on_progress(f"{len(urls):,} texts read")
        parts.append(near_duplicates.minhash_signatures(sets))
    if parts:
        for one, other, similarity in near_duplicates.similar_pairs(np.concatenate(parts), MIN_SIMILARITY):
            yield urls[one], urls[other], round(similarity, 2)


def _shingle_sets(store: ReportSource) -> Iterator[tuple[list[str], list[ShingleHashes]]]:
    """Yield blocks of URLs and shingles to compare: one page per distinct text that is long enough."""
    from gossamer.graph.reports.near_duplicates import MIN_SHINGLES, hash_shingles  # noqa: PLC0415

    seen: set[bytes] = set()
    urls: list[str] = []
    sets: list[ShingleHashes] = []
    shingle_count = 0
    for _, _, url, digest, body in store.ask(Question.TEXTS):
        if digest in seen:
            continue
        seen.add(digest)
        shingles = hash_shingles(" ".join(text for _, text in decode_text(body))[:MAX_TEXT_LENGTH])
        if len(shingles) >= MIN_SHINGLES:
            urls.append(url)
            sets.append(shingles)
            shingle_count += len(shingles)
        if shingle_count >= SHINGLES_AT_ONCE:
            yield urls, sets
            urls, sets, shingle_count = [], [], 0
    if sets:
        yield urls, sets


REPORTS = (
    Report(
        code="DUP001",
        name="duplicates",
        severity=Severity.WARNING,
        finds="Pages with exactly the same text as another page",
        why="Search engines list one of them, perhaps not the one you prefer, and the links are divided among them.",
        fix="Redirect to one of them, or name it as the canonical URL of the others.",
        columns=Question.EQUAL_PAGES.columns,
        rows=question_rows(Question.EQUAL_PAGES, nothing=EMPTY_TEXT_DIGEST),
    ),
    Report(
        code="DUP002",
        name="near-duplicates",
        severity=Severity.NOTICE,
        finds=f"Pages whose text is {100 * MIN_SIMILARITY:.0f} % or more the same as that of another page",
        why="They compete in search results, and readers do not know which one to read.",
        fix="Merge them, name one as the canonical URL, or make their texts more different.",
        columns=("url", "similar_to", "similarity"),
        rows=_near_duplicates,
    ),
    Report(
        code="DUP003",
        name="mirrors",
        severity=Severity.WARNING,
        finds="Sites of which half or more is also available under another name",
        why="Search engines treat one site under several names (www., https, another host) as several weaker ones.",
        fix="Redirect all names to one of them.",
        columns=Question.MIRRORS.columns,
        rows=question_rows(Question.MIRRORS, nothing=EMPTY_TEXT_DIGEST),
    ),
)
