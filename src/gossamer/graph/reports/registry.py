"""All reports by theme, and their selection by name, code, theme or `all`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.graph.reports import (
    directives,
    duplicates,
    hreflang_reports,
    links,
    markup_reports,
    overview,
    redirects,
    titles,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.graph.reports.base import Report

# In display order.
THEMES: dict[str, tuple[Report, ...]] = {
    "overview": overview.REPORTS,
    "links": links.REPORTS,
    "redirection": redirects.REPORTS,
    "titles": titles.REPORTS,
    "copies": duplicates.REPORTS,
    "directives": directives.REPORTS,
    "markup": (*hreflang_reports.REPORTS, *markup_reports.REPORTS),
}
REPORTS = tuple(report for reports in THEMES.values() for report in reports)


def select_reports(names: Iterable[str]) -> list[Report]:
    """Return the reports with these names, each once. Themes and `all` leave out reports about one URL."""
    selected: dict[str, Report] = {}
    for name in names:
        selected |= {report.code: report for report in _match_reports(name)}
    return list(selected.values())


def _match_reports(name: str) -> Iterable[Report]:
    wanted = name.strip().lower()
    by_name = {report.name: report for report in REPORTS} | {report.code.lower(): report for report in REPORTS}
    if wanted in by_name:
        return (by_name[wanted],)
    if wanted == "all" or wanted in THEMES:
        return (report for report in THEMES.get(wanted, REPORTS) if "url" not in report.takes)
    similar = difflib.get_close_matches(wanted, [*by_name, *THEMES], n=1)
    hint = f' Did you mean "{similar[0]}"?' if similar else ""
    raise UsageError(f'There is no report "{name}".{hint} `gossamer report --list` lists them.')
