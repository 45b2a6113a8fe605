"""Reports about the same content in several places: exactly, nearly, and under a whole other name."""

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
    from gossamer.store.protocol import Store

MIN_SIMILARITY = 0.9  # similarity from which pages are told of
SHINGLES_AT_ONCE = 2_000_000  # held in memory (8 bytes each)
MAX_TEXT_LENGTH = 1_000_000  # characters of a page that are compared
EMPTY_TEXT_DIGEST = blake2b(
    b"\x90", digest_size=16
).digest()  # the digest of a page without any text: an empty msgpack list


def _near_duplicates(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    import numpy as np  # noqa: PLC0415  for this report alone

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


def _shingle_sets(store: Store) -> Iterator[tuple[list[str], list[ShingleHashes]]]:
    """The pages to compare, some at a time: one of each text, if it is long enough."""
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
        finds="Pages with exactly the text of another page",
        why="Search engines list one of them, perhaps not the one you would choose, and links to them are split.",
        fix="Redirect to one of them, or name it as canonical on the others.",
        columns=Question.EQUAL_PAGES.columns,
        rows=question_rows(Question.EQUAL_PAGES, nothing=EMPTY_TEXT_DIGEST),
    ),
    Report(
        code="DUP002",
        name="near-duplicates",
        severity=Severity.NOTICE,
        finds=f"Pages of which {MIN_SIMILARITY:.0%} or more is the text of another page",
        why="They compete with each other, and readers wonder which one to read.",
        fix="Make one page of them, name one as canonical, or write what makes each of them worth reading.",
        columns=("url", "similar_to", "similarity"),
        rows=_near_duplicates,
    ),
    Report(
        code="DUP003",
        name="mirrors",
        severity=Severity.WARNING,
        finds="Sites of which half or more is also under another name",
        why="One site under several names (www., https, another host) counts as several that are less important.",
        fix="Redirect all names to one of them.",
        columns=Question.MIRRORS.columns,
        rows=question_rows(Question.MIRRORS, nothing=EMPTY_TEXT_DIGEST),
    ),
)
