"""Reports about a site: a store comes in, rows go out.

A report is one value (`base.Report`) with a stable code, a severity, and sentences that say why it matters and what to
do. Most reports are one question that the store answers in SQL (`gossamer.store.read.questions`). Reports that parse
page sources do so in child processes (`inspection`), because pages are hostile.

Central names
    `base`        `Report`, `Severity`, `ReportOptions`, `find_missing_data`
    `registry`    `REPORTS`, `THEMES`, `select_reports`
    `run`         `run_report`: rows as dictionaries, for programs
    `audit`, `audit_file`      counts of all reports, score, trend, and the file that keeps them
    `overview`, `links`, `redirects`, `titles`, `duplicates`, `directives`, `hreflang_reports`, `markup_reports`
                  the reports by theme
    `near_duplicates`          nearly equal pages by MinHash
    `inspection`, `inspector`  child processes that run `hreflang` and `markup` on page sources
    `languages`   valid hreflang values
"""

from gossamer.graph.reports.run import run_report

__all__ = ["run_report"]
