"""Reports about what a page says it is about: title, description, first heading.

Only of pages that search engines could list, and equal ones only within a host: any two sites may have a "Contact".
Pages that are equal in all their text are in `duplicates`, and not once more here.
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
    from gossamer.store.protocol import Store

# What result pages show before they cut (characters). They measure in pixels; these are the usual approximations.
MAX_TITLE_LENGTH = 60
MAX_DESCRIPTION_LENGTH = 155
MAX_HEADING_LENGTH = 70
MAX_HEADINGS_SHOWN = 5  # of a page that are told


class PageHeadings(NamedTuple):
    """A page that could be listed, with its first-level headings."""

    host: int
    url: str
    digest: bytes  # of its whole text
    headings: list[str]


def _page_headings(store: Store) -> Iterator[PageHeadings]:
    for _, host, url, digest, body in store.ask(Question.TEXTS):
        yield PageHeadings(host, url, digest, [text for field, text in decode_text(body) if field is Field.H1])


def _missing_headings(store: Store, _: ReportOptions) -> Iterator[ReportRow]:
    return ((page.url,) for page in _page_headings(store) if not page.headings)


def _several_headings(store: Store, _: ReportOptions) -> Iterator[ReportRow]:
    several = (page for page in _page_headings(store) if len(page.headings) > 1)
    return ((page.url, len(page.headings), " | ".join(page.headings[:MAX_HEADINGS_SHOWN])) for page in several)


def _long_headings(store: Store, _: ReportOptions) -> Iterator[ReportRow]:
    for page in _page_headings(store):
        yield from ((page.url, len(text), text) for text in page.headings if len(text) > MAX_HEADING_LENGTH)


def _equal_headings(store: Store, _: ReportOptions) -> Iterator[ReportRow]:
    """Groups of pages, the largest first; not those that are equal in all their text, which is another report."""
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
        why="The title is what search results, tabs and bookmarks show; without one they show something else.",
        fix="Give the page a <title> that says what it is about.",
        columns=Question.MISSING_TITLES.columns,
        rows=question_rows(Question.MISSING_TITLES),
    ),
    Report(
        code="TTL002",
        name="titles-duplicate",
        severity=Severity.WARNING,
        finds="Pages of one host with the same title",
        why="In a list of results nobody can tell them apart.",
        fix="Let each title name what only this page has, or make one page of them.",
        columns=Question.EQUAL_TITLES.columns,
        rows=question_rows(Question.EQUAL_TITLES),
    ),
    Report(
        code="TTL003",
        name="titles-long",
        severity=Severity.NOTICE,
        finds=f"Titles of more than {MAX_TITLE_LENGTH} characters",
        why="Result pages cut them off.",
        fix="Put what matters first, and leave out the rest.",
        columns=Question.LONG_TITLES.columns,
        rows=question_rows(Question.LONG_TITLES, most=MAX_TITLE_LENGTH),
    ),
    Report(
        code="DSC001",
        name="descriptions-missing",
        severity=Severity.NOTICE,
        finds="Pages without a description",
        why="Result pages then show a piece of the text that may not be the one you would choose.",
        fix='Add <meta name="description" content="..."> to pages that people search for.',
        columns=Question.MISSING_DESCRIPTIONS.columns,
        rows=question_rows(Question.MISSING_DESCRIPTIONS),
    ),
    Report(
        code="DSC002",
        name="descriptions-duplicate",
        severity=Severity.NOTICE,
        finds="Pages of one host with the same description",
        why="It describes none of them, and search engines ignore it.",
        fix="Write one for each page, or leave it out.",
        columns=Question.EQUAL_DESCRIPTIONS.columns,
        rows=question_rows(Question.EQUAL_DESCRIPTIONS),
    ),
    Report(
        code="DSC003",
        name="descriptions-long",
        severity=Severity.NOTICE,
        finds=f"Descriptions of more than {MAX_DESCRIPTION_LENGTH} characters",
        why="Result pages cut them off.",
        fix="Put what matters first, and leave out the rest.",
        columns=Question.LONG_DESCRIPTIONS.columns,
        rows=question_rows(Question.LONG_DESCRIPTIONS, most=MAX_DESCRIPTION_LENGTH),
    ),
    Report(
        code="HDG001",
        name="headings-missing",
        severity=Severity.NOTICE,
        finds="Pages without a first-level heading",
        why="The heading tells readers, and people who hear the page, where they are.",
        fix="Give the page an <h1>.",
        columns=("url",),
        rows=_missing_headings,
    ),
    Report(
        code="HDG002",
        name="headings-duplicate",
        severity=Severity.NOTICE,
        finds="Pages of one host with the same first heading",
        why="Readers who come from elsewhere cannot tell which page they are on.",
        fix="Let each heading name what only this page has.",
        columns=("heading", "copies", "url"),
        rows=_equal_headings,
    ),
    Report(
        code="HDG003",
        name="headings-long",
        severity=Severity.NOTICE,
        finds=f"First-level headings of more than {MAX_HEADING_LENGTH} characters",
        why="A heading is there to be taken in at a glance.",
        fix="Say it in fewer words.",
        columns=("url", "characters", "heading"),
        rows=_long_headings,
    ),
    Report(
        code="HDG004",
        name="headings-several",
        severity=Severity.NOTICE,
        finds="Pages with several first-level headings",
        why="They leave open what the page as a whole is about.",
        fix="Keep one <h1>, make the others <h2>.",
        columns=("url", "count", "headings"),
        rows=_several_headings,
    ),
)
