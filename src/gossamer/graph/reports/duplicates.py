"""Reports about the same content in several places: exactly, nearly, and under a whole other name."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from gossamer.graph.reports.base import Report, Severity, asking
from gossamer.store.content import decode_text
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import Options, Row
    from gossamer.graph.reports.near_duplicates import Words
    from gossamer.store.protocol import Store

NEARLY = 0.9  # similarity from which pages are told of
RUNS_AT_ONCE = 2_000_000  # held in memory (8 bytes each)
LONGEST_TEXT = 1_000_000  # characters of a page that are compared
NO_TEXT = blake2b(b"\x90", digest_size=16).digest()  # the digest of a page without any text: an empty msgpack list


def _near(store: Store, options: Options) -> Iterator[Row]:
    import numpy as np  # noqa: PLC0415  for this report alone

    from gossamer.graph.reports import near_duplicates  # noqa: PLC0415

    urls: list[str] = []
    parts = []
    for names, sets in _sets(store):
        urls += names
        options.tell(f"{len(urls):,} texts read")
        parts.append(near_duplicates.signatures(sets))
    if parts:
        for one, other, similarity in near_duplicates.near_pairs(np.concatenate(parts), NEARLY):
            yield urls[one], urls[other], round(similarity, 2)


def _sets(store: Store) -> Iterator[tuple[list[str], list[Words]]]:
    """The pages to compare, some at a time: one of each text, if it is long enough."""
    from gossamer.graph.reports.near_duplicates import LEAST_RUNS, runs_of  # noqa: PLC0415

    seen: set[bytes] = set()
    urls: list[str] = []
    sets: list[Words] = []
    held = 0
    for _, _, url, digest, body in store.ask(Question.TEXTS):
        if digest in seen:
            continue
        seen.add(digest)
        runs = runs_of(" ".join(text for _, text in decode_text(body))[:LONGEST_TEXT])
        if len(runs) >= LEAST_RUNS:
            urls.append(url)
            sets.append(runs)
            held += len(runs)
        if held >= RUNS_AT_ONCE:
            yield urls, sets
            urls, sets, held = [], [], 0
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
        rows=asking(Question.EQUAL_PAGES, nothing=NO_TEXT),
    ),
    Report(
        code="DUP002",
        name="near-duplicates",
        severity=Severity.NOTICE,
        finds=f"Pages of which {NEARLY:.0%} or more is the text of another page",
        why="They compete with each other, and readers wonder which one to read.",
        fix="Make one page of them, name one as canonical, or write what makes each of them worth reading.",
        columns=("url", "similar_to", "similarity"),
        rows=_near,
    ),
    Report(
        code="DUP003",
        name="mirrors",
        severity=Severity.WARNING,
        finds="Sites of which half or more is also under another name",
        why="One site under several names (www., https, another host) counts as several that are less important.",
        fix="Redirect all names to one of them.",
        columns=Question.MIRRORS.columns,
        rows=asking(Question.MIRRORS, nothing=NO_TEXT),
    ),
)
