"""Reports about the web as a whole: states, depths, sizes, response times and changes."""

from __future__ import annotations

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

REPORTS = (
    Report(
        code="WEB001",
        name="status",
        severity=Severity.INFO,
        finds="The number of resources by state, outcome and HTTP status",
        why="It shows how healthy a site is, and how much of it was not visited.",
        fix="`gossamer errors` and the other reports list the resources behind the numbers.",
        columns=Question.STATUSES.columns,
        rows=question_rows(Question.STATUSES),
    ),
    Report(
        code="WEB002",
        name="indexability",
        severity=Severity.INFO,
        finds="URLs that search engines will not list, and why",
        why="Readers cannot find an unlisted page by searching, and many pages are unlisted by mistake.",
        fix="Check that you want each of them unlisted; `reason` says why it is.",
        columns=Question.NOT_LISTED.columns,
        rows=question_rows(Question.NOT_LISTED),
    ),
    Report(
        code="WEB003",
        name="depth",
        severity=Severity.INFO,
        finds="The number of pages by their distance from the start, in links",
        why="Readers and search engines rarely follow more than a few links.",
        fix="Link to important deep pages from pages near the start.",
        columns=Question.DEPTHS.columns,
        rows=question_rows(Question.DEPTHS),
    ),
    Report(
        code="WEB004",
        name="orphans",
        severity=Severity.WARNING,
        finds="Pages that no other page links to",
        why="A sitemap, a feed or an earlier crawl names them, but readers cannot reach them.",
        fix="Link to them, or remove them.",
        columns=Question.ORPHANS.columns,
        rows=question_rows(Question.ORPHANS),
        needs=("links",),
    ),
    Report(
        code="WEB005",
        name="sizes",
        severity=Severity.INFO,
        finds="Sizes of pages by media type: percentiles in bytes",
        why="Large pages are slow on slow connections and cost money on mobile ones.",
        fix="Find out why the largest pages are large.",
        columns=Question.SIZES.columns,
        rows=question_rows(Question.SIZES),
    ),
    Report(
        code="WEB006",
        name="times",
        severity=Severity.INFO,
        finds="Response times by host: percentiles in milliseconds",
        why="Readers wait as long as the crawler did.",
        fix="Check servers whose higher percentiles are far from the median.",
        columns=Question.TIMES.columns,
        rows=question_rows(Question.TIMES),
    ),
    Report(
        code="WEB007",
        name="changes",
        severity=Severity.INFO,
        finds="Changes since a given time: new, changed, gone, appeared, moved or refused",
        why="They show what happened on a site between two crawls.",
        fix="Nothing: this is a list to work with.",
        columns=Question.CHANGES.columns,
        rows=question_rows(Question.CHANGES),
        takes=("since",),
    ),
)
