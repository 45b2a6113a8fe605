"""Reports about redirects: one hop is a detour, several are a chain, and some never arrive."""

from __future__ import annotations

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

REPORTS = (
    Report(
        code="RED001",
        name="redirects",
        severity=Severity.INFO,
        finds="Every redirect: its hops, where it ends, and how many pages link to it",
        why="Addresses move; this is where each of the old ones leads today.",
        fix="The reports below tell which of them to look at.",
        columns=Question.REDIRECTS.columns,
        rows=question_rows(Question.REDIRECTS),
    ),
    Report(
        code="RED002",
        name="redirect-chains",
        severity=Severity.WARNING,
        finds="Redirects that lead to other redirects",
        why="Each hop is a request more for readers; search engines give up after some of them.",
        fix="Redirect straight to `final`.",
        columns=Question.REDIRECT_CHAINS.columns,
        rows=question_rows(Question.REDIRECT_CHAINS),
    ),
    Report(
        code="RED003",
        name="redirect-loops",
        severity=Severity.ERROR,
        finds="Redirects that lead in circles, or on without end",
        why="Browsers give up with an error; nobody ever sees a page.",
        fix="Mend the rule on the server that sends `url` back to where it came from.",
        columns=Question.REDIRECT_LOOPS.columns,
        rows=question_rows(Question.REDIRECT_LOOPS),
    ),
    Report(
        code="RED004",
        name="redirect-errors",
        severity=Severity.ERROR,
        finds="Redirects that end in an error",
        why="Whoever follows the old address is sent on to one that does not work either.",
        fix="Redirect to a page that is there, or answer 410 when there is none.",
        columns=Question.REDIRECTS_TO_ERRORS.columns,
        rows=question_rows(Question.REDIRECTS_TO_ERRORS),
    ),
    Report(
        code="RED005",
        name="redirect-links",
        severity=Severity.NOTICE,
        finds="Links that reach their target by way of a redirect",
        why="Every visit costs one more request, and the redirect has to be kept for ever.",
        fix="Let the links name `final` instead of `url`; `gossamer report inlinks --url URL` lists them.",
        columns=Question.REDIRECTED_LINKS.columns,
        rows=question_rows(Question.REDIRECTED_LINKS),
        needs=("links",),
    ),
)
