"""Reports about titles, descriptions and first-level headings.

They cover only pages that search engines can list. They compare titles only within a host, because any two sites may
have a page "Contact". Pages with exactly the same text are left to the report `duplicates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.model import Field
from gossamer.store.content import decode_text
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import ReportOptions, ReportRow
    from gossamer.store.protocol import ReportSource

# Characters that result pages show. They cut by pixels; these are the usual approximations.
MAX_TITLE_LENGTH = 60
MAX_DESCRIPTION_LENGTH = 155
MAX_HEADING_LENGTH = 70
MAX_HEADINGS_SHOWN = 5  # per page


class PageHeadings(NamedTuple):
    """A page that search engines can list, with its first-level headings."""

    host: int
    url: str
    digest: bytes  # of its whole text
    headings: list[str]


def _page_headings(store: ReportSource) -> Iterator[PageHeadings]:
    for _, host, url, digest, body in store.ask(Question.TEXTS):
        yield PageHeadings(host, url, digest, [text for field, text in decode_text(body) if field is Field.H1])


def _missing_headings(store: ReportSource, _: ReportOptions) -> Iterator[ReportRow]:
    return ((page.url,) for page in _page_headings(store) if not page.headings)


def _several_headings(store: ReportSource, _: ReportOptions) -> Iterator[ReportRow]:
    several = (page for page in _page_headings(store) if len(page.headings) > 1)
    return ((page.url, len(page.headings), " | ".join(page.headings[:MAX_HEADINGS_SHOWN])) for page in several)


def _long_headings(store: ReportSource, _: ReportOptions) -> Iterator[ReportRow]:
    for page in _page_headings(store):
        yield from ((page.url, len(text), text) for text in page.headings if len(text) > MAX_HEADING_LENGTH)


def _equal_headings(store: ReportSource, _: ReportOptions) -> Iterator[ReportRow]:
    """Yield groups of pages with the same first heading, largest first, unless all their texts are equal."""
    groups: dict[tuple[int, str], list[tuple[str, bytes]]] = {}
    for page in _page_headings(store):
        if page.headings:
            groups.setdefault((page.host, page.headings[0]), []).append((page.url, page.digest))
    equal = [(heading, pages) for (_, heading), pages in groups.items() if len({digest for _, digest in pages}) > 1]
    for heading, pages in sorted(equal, key=lambda group: -len(group[1])):
        yield from ((heading, len(pages), url) for url, _ in pages)


REPORTS = (
    Report(
        code="TTL001",
        name="titles-missing",
        severity=Severity.WARNING,
        finds="Pages without a title",
        why="Search results, tabs and bookmarks show the title; without one they show something else.",
        fix="Give the page a <title> that names its topic.",
        columns=Question.MISSING_TITLES.columns,
        rows=question_rows(Question.MISSING_TITLES),
    ),
    Report(
        code="TTL002",
        name="titles-duplicate",
        severity=Severity.WARNING,
        finds="Pages of one host with the same title",
        why="Readers cannot distinguish them in a list of results.",
        fix="Give each page a title that fits only this page, or merge the pages.",
        columns=Question.EQUAL_TITLES.columns,
        rows=question_rows(Question.EQUAL_TITLES),
    ),
    Report(
        code="TTL003",
        name="titles-long",
        severity=Severity.NOTICE,
        finds=f"Titles of more than {MAX_TITLE_LENGTH} characters",
        why="Search results cut them off.",
        fix="Put the important words first and remove the rest.",
        columns=Question.LONG_TITLES.columns,
        rows=question_rows(Question.LONG_TITLES, most=MAX_TITLE_LENGTH),
    ),
    Report(
        code="DSC001",
        name="descriptions-missing",
        severity=Severity.NOTICE,
        finds="Pages without a description",
        why="Search results then show a part of the text, perhaps not the one you prefer.",
        fix='Add <meta name="description" content="..."> to pages that people search for.',
        columns=Question.MISSING_DESCRIPTIONS.columns,
        rows=question_rows(Question.MISSING_DESCRIPTIONS),
    ),
    Report(
        code="DSC002",
        name="descriptions-duplicate",
        severity=Severity.NOTICE,
        finds="Pages of one host with the same description",
        why="It does not describe any of them well, and search engines ignore it.",
        fix="Write a description for each page, or remove it.",
        columns=Question.EQUAL_DESCRIPTIONS.columns,
        rows=question_rows(Question.EQUAL_DESCRIPTIONS),
    ),
    Report(
        code="DSC003",
        name="descriptions-long",
        severity=Severity.NOTICE,
        finds=f"Descriptions of more than {MAX_DESCRIPTION_LENGTH} characters",
        why="Search results cut them off.",
        fix="Put the important words first and remove the rest.",
        columns=Question.LONG_DESCRIPTIONS.columns,
        rows=question_rows(Question.LONG_DESCRIPTIONS, most=MAX_DESCRIPTION_LENGTH),
    ),
    Report(
        code="HDG001",
        name="headings-missing",
        severity=Severity.NOTICE,
        finds="Pages without a first-level heading",
        why="The heading shows readers where they are, and screen readers announce it.",
        fix="Give the page an <h1>.",
        columns=("url",),
        rows=_missing_headings,
    ),
    Report(
        code="HDG002",
        name="headings-duplicate",
        severity=Severity.NOTICE,
        finds="Pages of one host with the same first heading",
        why="Readers who come from another site cannot see which page they are on.",
        fix="Give each page a heading that fits only this page.",
        columns=("heading", "copies", "url"),
        rows=_equal_headings,
    ),
    Report(
        code="HDG003",
        name="headings-long",
        severity=Severity.NOTICE,
        finds=f"First-level headings of more than {MAX_HEADING_LENGTH} characters",
        why="Readers should understand a heading at a glance.",
        fix="Shorten it.",
        columns=("url", "characters", "heading"),
        rows=_long_headings,
    ),
    Report(
        code="HDG004",
        name="headings-several",
        severity=Severity.NOTICE,
        finds="Pages with several first-level headings",
        why="The topic of the page as a whole remains unclear.",
        fix="Keep one <h1> and make the others <h2>.",
        columns=("url", "count", "headings"),
        rows=_several_headings,
    ),
)
