"""Reports about the web as a whole: what came of every URL, how deep, how large, how fast, and what changed."""

from __future__ import annotations

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

REPORTS = (
    Report(
        code="WEB001",
        name="status",
        severity=Severity.INFO,
        finds="How many resources have which state, outcome and HTTP status",
        why="It tells at a glance how healthy a site is, and how much of it was not visited.",
        fix="`gossamer errors` and the other reports list what is behind the numbers.",
        columns=Question.STATUSES.columns,
        rows=question_rows(Question.STATUSES),
    ),
    Report(
        code="WEB002",
        name="indexability",
        severity=Severity.INFO,
        finds="URLs that search engines will not list, and why",
        why="A page that is not listed is not found, and often nobody meant it to be left out.",
        fix="Check that each is meant to be left out; `reason` says by what.",
        columns=Question.NOT_LISTED.columns,
        rows=question_rows(Question.NOT_LISTED),
    ),
    Report(
        code="WEB003",
        name="depth",
        severity=Severity.INFO,
        finds="How many pages are how many links away from the start",
        why="Readers and search engines seldom go more than a few links deep.",
        fix="Link to deep pages that matter from pages nearer to the start.",
        columns=Question.DEPTHS.columns,
        rows=question_rows(Question.DEPTHS),
    ),
    Report(
        code="WEB004",
        name="orphans",
        severity=Severity.WARNING,
        finds="Pages that no other page links to",
        why="They are known from a sitemap, a feed or an earlier crawl, but no reader finds the way to them.",
        fix="Link to them, or take them away.",
        columns=Question.ORPHANS.columns,
        rows=question_rows(Question.ORPHANS),
        needs=("links",),
    ),
    Report(
        code="WEB005",
        name="sizes",
        severity=Severity.INFO,
        finds="How large pages are, by media type: percentiles in bytes",
        why="Large pages are slow on slow lines, and cost money on mobile ones.",
        fix="Look at what makes the largest ones large.",
        columns=Question.SIZES.columns,
        rows=question_rows(Question.SIZES),
    ),
    Report(
        code="WEB006",
        name="times",
        severity=Severity.INFO,
        finds="How long answers took, by host: percentiles in milliseconds",
        why="What a crawler waits for, every reader waits for.",
        fix="Look at the server where the higher percentiles are far from the median.",
        columns=Question.TIMES.columns,
        rows=question_rows(Question.TIMES),
    ),
    Report(
        code="WEB007",
        name="changes",
        severity=Severity.INFO,
        finds="What changed since a moment: new, changed, gone, appeared, moved or refused",
        why="It tells what happened on a site between two crawls.",
        fix="Nothing by itself: this is a list to work with.",
        columns=Question.CHANGES.columns,
        rows=question_rows(Question.CHANGES),
        takes=("since",),
    ),
)
