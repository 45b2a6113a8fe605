"""What reports exist, and why their findings matter: `gossamer report --list` and `--explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gossamer.cli.hints import complete_commands
from gossamer.cli.output import TerminalColumn, json_text, print_heading, print_line, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.graph.reports.base import Report

Form = Literal["json", "csv", "table"]
SCORE = "score"  # what `--explain` takes beside codes and names


def print_list(form: Form) -> None:
    """Print all reports with what they find."""
    from gossamer.graph.reports.registry import REPORTS, THEMES

    if form == "json":
        print_line(json_text({"reports": [report_fields(each) for each in REPORTS]}, indent=2))
        return
    columns = [
        TerminalColumn("code"),
        TerminalColumn("name"),
        TerminalColumn("severity"),
        TerminalColumn("finds", cut="end"),
        TerminalColumn("group", drop=1),
    ]
    groups = {each.code: theme for theme, reports in THEMES.items() for each in reports}
    write_table(columns, ((r.code, r.name, r.severity, r.finds, groups[r.code]) for r in REPORTS))


def print_explanations(names: Sequence[str], form: Form) -> None:
    """Print why the findings of reports matter and what to do; `score` explains the health score."""
    from gossamer.graph.reports.audit import SCORE_TEXT
    from gossamer.graph.reports.registry import select_reports

    if SCORE in names:
        print_line(json_text({SCORE: SCORE_TEXT}, indent=2) if form == "json" else SCORE_TEXT)
        return
    reports = select_reports(names)
    if form == "json":
        print_line(json_text({"reports": [report_fields(each) for each in reports]}, indent=2))
        return
    for position, each in enumerate(reports):
        if position:
            print_line()
        _print_explanation(each)


def _print_explanation(each: Report) -> None:
    print_heading(f"{each.code} {each.name} ({each.severity})")
    print_line(
        f"{each.finds}.\n\nWhy it matters: {each.why}\nWhat to do: {complete_commands(each.fix)}\n"
        f"Columns: {', '.join(each.columns)}"
    )


def report_fields(each: Report) -> dict[str, object]:
    """Return what JSON says about a report."""
    return {
        "code": each.code, "report": each.name, "severity": each.severity, "finds": each.finds, "why": each.why,
        "fix": each.fix, "columns": each.columns, "needs": each.needs,
    }  # fmt: skip
