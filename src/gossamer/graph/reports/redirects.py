"""Reports about redirects: single ones, chains, loops, and redirects to errors."""

from __future__ import annotations

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

REPORTS = (
    Report(
        code="RED001",
        name="redirects",
        severity=Severity.INFO,
        finds="Every redirect: its hops, its final target, and the number of pages that link to it",
        why="It shows where each old address leads today.",
        fix="The following reports show which redirects need work.",
        columns=Question.REDIRECTS.columns,
        rows=question_rows(Question.REDIRECTS),
    ),
    Report(
        code="RED002",
        name="redirect-chains",
        severity=Severity.WARNING,
        finds="Redirects that lead to other redirects",
        why="Each hop costs readers another request, and search engines give up after a few.",
        fix="Redirect directly to `final`.",
        columns=Question.REDIRECT_CHAINS.columns,
        rows=question_rows(Question.REDIRECT_CHAINS),
    ),
    Report(
        code="RED003",
        name="redirect-loops",
        severity=Severity.ERROR,
        finds="Redirects that lead in circles or never end",
        why="Browsers give up with an error, so readers never see a page.",
        fix="Correct the server's rule that redirects `url` back to an earlier address.",
        columns=Question.REDIRECT_LOOPS.columns,
        rows=question_rows(Question.REDIRECT_LOOPS),
    ),
    Report(
        code="RED004",
        name="redirect-errors",
        severity=Severity.ERROR,
        finds="Redirects that end in an error",
        why="Readers who follow the old address get an error.",
        fix="Redirect to an existing page, or answer 410 if there is none.",
        columns=Question.REDIRECTS_TO_ERRORS.columns,
        rows=question_rows(Question.REDIRECTS_TO_ERRORS),
    ),
    Report(
        code="RED005",
        name="redirect-links",
        severity=Severity.NOTICE,
        finds="Links that reach their target through a redirect",
        why="Every visit costs another request, and the server must keep the redirect forever.",
        fix="Link to `final` instead of `url`; `gossamer report inlinks --url URL` lists the links.",
        columns=Question.REDIRECTED_LINKS.columns,
        rows=question_rows(Question.REDIRECTED_LINKS),
        needs=("links",),
    ),
)
