"""The questions of reports, each with the columns of its answer.

The database answers a question with one statement (`Store.ask`). The report that asks defines which rows count and
their order (`gossamer.graph.reports`). A back-end has the statements in its reports.sql, or both share one in the
reports.sql of this package. Contract tests compare the columns.
"""

from __future__ import annotations

import re
from enum import Enum
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.store.protocol import ReportSource
    from gossamer.store.values import Counts


class Question(Enum):
    """A question: its name, the columns of an answer, and its parameters."""

    KEPT = "kept", "pages without_links without_source"  # counts of fetched pages
    BROKEN_LINKS = "broken links", "source url status outcome anchor position kind weight reason"
    CLOSED_LINKS = "closed links", "source url status outcome anchor position kind weight"
    INLINKS = "inlinks", "source anchor weight kind follow rel position", "resource"
    OUTLINKS = "outlinks", "url anchor weight kind follow rel position state status", "resource"
    LINK_COUNTS = "link counts", "url backlinks links_out targets external nofollow"
    MOST_LINKED = "most linked", "url state backlinks links texts anchors", "most"
    HOST_BONDS = "host bonds", "source target links pages targets"
    EMPTY_ANCHORS = "empty anchors", "source url position weight"
    GENERIC_ANCHORS = "generic anchors", "source url anchor position weight", "texts longest around"
    AMBIGUOUS_ANCHORS = "ambiguous anchors", "source anchor targets url other", "texts around"
    VARIED_ANCHORS = "varied anchors", "url texts links pages", "least"
    NOFOLLOW_LINKS = "nofollow links", "source url anchor rel why position"
    REDIRECTS = "redirects", "url status hops chain final final_status final_outcome inlinks"
    REDIRECTED_LINKS = "redirected links", "url status final final_status inlinks"
    REDIRECT_CHAINS = "redirect chains", "url hops chain final final_status inlinks"
    REDIRECT_LOOPS = "redirect loops", "url hops chain inlinks"
    REDIRECTS_TO_ERRORS = "redirects to errors", "url hops chain final final_status final_outcome inlinks"
    ORPHANS = "orphans", "url known_from status visited_at"
    DEPTHS = "depths", "depth pages share indexable"
    STATUSES = "statuses", "state outcome status resources share"
    NOT_LISTED = "not listed", "url status reason detail"
    MISSING_TITLES = "missing titles", "url depth"
    LONG_TITLES = "long titles", "url characters title", "most"
    EQUAL_TITLES = "equal titles", "title copies url"
    MISSING_DESCRIPTIONS = "missing descriptions", "url title depth"
    LONG_DESCRIPTIONS = "long descriptions", "url characters description", "most"
    EQUAL_DESCRIPTIONS = "equal descriptions", "description copies url"
    EQUAL_PAGES = "equal pages", "url same_as copies bytes", "nothing"
    MIRRORS = "mirrors", "origin other equal_pages pages other_pages share", "nothing"
    SEVERAL_CANONICALS = "several canonicals", "url canonicals named"
    CANONICALS_TO_ERRORS = "canonicals to errors", "url canonical status why"
    CANONICAL_CHAINS = "canonical chains", "url canonical next"
    BLOCKED_BY_ROBOTS = "blocked by robots", "url inlinks source anchor"
    SITEMAP_NOT_LISTED = "sitemap entries not listed", "sitemap url status reason"
    SITEMAP_NOT_VISITED = "sitemap entries not visited", "sitemap url state reason"
    IN_NO_SITEMAP = "pages in no sitemap", "url depth backlinks"
    UNREADABLE_SITEMAPS = "unreadable sitemaps", "url status outcome reason"
    SIZES = "sizes", "media_type pages bytes p50 p90 p95 p99 max"
    TIMES = "times", "host answers p50 p90 p95 p99 max"
    CHANGES = (
        "changes",
        "url change parts status_before status bytes_before bytes title_before title visited_before visited_at",
        "since",
    )
    CUT_PAGES = "cut pages", "url cut bytes media_type"
    SCRIPT_PAGES = "script pages", "url sign rendered plain_words words plain_links links"
    RENDERED_REASONS = "rendered reasons", "reason pages"
    ALTERNATES = "alternates", "url state outcome listed"  # targets of `<link rel=alternate>`
    # Contents of pages; a body is packed like `Page.text` and `Page.source`.
    TEXTS = "texts", "id host url text_digest body"
    SOURCES = "sources", "id url charset body"
    HREFLANG_SOURCES = "hreflang sources", "id url charset body"

    def __init__(self, text: str, columns: str, values: str = "") -> None:
        self.text = text
        self.columns = tuple(columns.split())
        self.values = tuple(values.split())


_SECTION = re.compile(r"^-- (question|count): (.+)\n", re.MULTILINE)


class ReportStatements(NamedTuple):
    """The content of a back-end's reports.sql and of the one that all share."""

    shared: str  # views, or the WITH list of all questions
    by_question: Mapping[str, str]
    counts: Mapping[str, str]  # faster ways to count the rows of an answer


def load_statements(package: str) -> ReportStatements:
    """Return the statements of a back-end's reports.sql, with those of this package, which are the same for all."""
    own, common = _parse_statements(package), _parse_statements(__package__)
    return ReportStatements(own.shared, {**own.by_question, **common.by_question}, {**own.counts, **common.counts})


def _parse_statements(package: str) -> ReportStatements:
    shared, *rest = _SECTION.split(resources.files(package).joinpath("reports.sql").read_text("utf-8"))
    sections = list(zip(rest[::3], rest[1::3], (text.partition(";\n")[0] for text in rest[2::3]), strict=True))
    return ReportStatements(
        shared,
        {name: sql for kind, name, sql in sections if kind == "question"},
        {name: sql for kind, name, sql in sections if kind == "count"},
    )


def read_rendered_reasons(store: ReportSource, counts: Counts) -> dict[str, int]:
    """Return why a browser rendered pages, and how many for each reason; most first."""
    return dict(store.ask(Question.RENDERED_REASONS)) if counts.rendered else {}
