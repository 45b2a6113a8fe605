"""Reports: what is wrong with a site, or worth knowing, told row by row from what a crawl stored.

In comes a store, out come rows. A report is one value (`base.Report`) with a stable code, a severity, and the sentences
that say why it matters and what to do; `registry.REPORTS` lists them all. Most are one question that the store answers
set-based (`gossamer.store.read.questions`). Those that look into the pages themselves do so in processes of their own
(`inspection`), because pages are hostile.

Reading order
    `base`        what a report is, and what it may lack
    `registry`    all of them, and how they are named
    `overview`, `links`, `redirects`, `titles`, `duplicates`, `directives`, `pages`   the reports by theme
    `near`        pages that are nearly the same
    `inspection`, `inspector`   pages looked into elsewhere: `markup`, `alternates`
    `languages`   what hreflang may say
"""

from gossamer.graph.reports.run import run_report

__all__ = ["run_report"]
